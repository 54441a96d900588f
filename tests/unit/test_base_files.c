/* base/: descriptors, paths beneath a root, records, locks, xattrs, removal:
 * everything that needs a directory. */
#include "base/beneath.c"
#include "snapshot/tree/tree.c"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/meta.h"
#include "base/path.h"
#include "base/record.h"
#include "base/dirtree.h"
#include "tests/unit/directory_fixture.h"
#include "tests/unit/skip.h"

static int tear_down(void **state)
{
	plain = false;
	return folder_box_teardown(state);
}

static void write_file(int dir, const char *path, const char *text)
{
	auto_close int fd = openat(
		dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(fd_write(fd, text, strlen(text)), 0);
}

static void beneath_cases(const struct folder_box *box)
{
	auto_close int good = -1;
	struct err err;

	good = beneath_open(box->fd, "in/file", O_RDONLY, 0, &err);
	assert_true(good >= 0);
	assert_true(fcntl(good, F_GETFD) & FD_CLOEXEC);
	assert_true(beneath_open(box->fd, "link", O_RDONLY, 0, &err) < 0);
	assert_true(beneath_open(box->fd, "away/hostname", O_RDONLY, 0, &err) <
		    0);
	assert_int_equal(beneath_open(box->fd, "in/no", O_RDONLY, 0, &err),
			 -ENOENT);
	assert_int_equal(beneath_open(box->fd, "in/file/x", O_RDONLY, 0, &err),
			 -ENOTDIR);
	assert_int_equal(beneath_open(box->fd, "../x", O_RDONLY, 0, &err),
			 -EINVAL);
	assert_int_equal(beneath_open(box->fd, "/etc", O_RDONLY, 0, &err),
			 -EINVAL);
}

static void no_link_leads_out_from_beneath(void **state)
{
	struct folder_box *box = *state;

	assert_int_equal(mkdirat(box->fd, "in", 0700), 0);
	write_file(box->fd, "in/file", "x");
	assert_int_equal(symlinkat("/etc", box->fd, "away"), 0);
	assert_int_equal(symlinkat("in/file", box->fd, "link"), 0);
	beneath_cases(box);
	plain = true;
	beneath_cases(box);
}

static void another_mount_is_not_beneath(void **state)
{
	auto_close int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err err;

	(void)state;
	assert_int_equal(
		beneath_open(root, "proc/self/status", O_RDONLY, 0, &err),
		-EXDEV);
	plain = true;
	assert_true(beneath_open(root, "proc/1/status", O_RDONLY, 0, &err) < 0);
}

static void paths_longer_than_the_kernel_takes_are_opened(void **state)
{
	struct folder_box *box = *state;
	AUTO(buf) struct buf path = {0};
	char name[201];
	auto_close int dir = dup(box->fd);
	auto_close int found = -1;
	const char *last;
	struct err err;
	int i;

	memset(name, 'd', 200);
	name[200] = '\0';
	for (i = 0; i < 40; i++) {
		int next;

		assert_int_equal(mkdirat(dir, name, 0700), 0);
		next = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		(void)close(dir);
		dir = next;
		buf_printf(&path, "%s%s", i ? "/" : "", name);
	}
	write_file(dir, "end", "x");
	buf_add_text(&path, "/end");
	found = beneath_parent(box->fd, buf_text(&path), &last, &err);
	assert_true(found >= 0);
	assert_string_equal(last, "end");
	assert_int_equal(faccessat(found, "end", F_OK, 0), 0);
}

static void a_file_is_replaced_as_a_whole(void **state)
{
	struct folder_box *box = *state;
	AUTO(buf) struct buf b = {0};
	AUTO(dirlist) struct dirlist list = {0};
	struct err err;

	write_file(box->fd, "f", "old and long");
	assert_int_equal(atomic_write(box->fd, "f", "new", 3, 0600, true, &err),
			 0);
	assert_int_equal(fd_slurp_at(box->fd, "f", 100, &b, &err), 0);
	assert_string_equal(buf_text(&b), "new");
	assert_int_equal(dirlist_read(box->fd, &list, &err), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(
		atomic_write(box->fd, "no/f", "x", 1, 0600, true, &err),
		-ENOENT);
}

static int syncs;

static int count_syncs(const int *fds, size_t count, struct err *err)
{
	size_t i;

	syncs++;
	for (i = 0; i < count; i++)
		if (fsync(fds[i]) < 0)
			return fail_errno(err, "sync");
	return 0;
}

static void put_in_set(struct atomic_set *set, int dirfd, const char *name,
		       const char *text)
{
	struct err err;

	assert_int_equal(atomic_set_write(set, dirfd, name, text, strlen(text),
					  0600, &err),
			 0);
}

static void files_of_a_set_come_at_once(void **state)
{
	struct folder_box *box = *state;
	AUTO(atomic_set) struct atomic_set set = {0};
	AUTO(dirlist) struct dirlist list = {0};
	AUTO(buf) struct buf b = {0};
	struct err err;
	auto_close int in = -1;

	assert_return_code(mkdirat(box->fd, "set", 0700), errno);
	in = openat(box->fd, "set", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	write_file(box->fd, "old", "old and long");
	put_in_set(&set, box->fd, "old", "new");
	put_in_set(&set, in, "a", "1");
	put_in_set(&set, in, "b", "2");
	assert_int_equal(faccessat(in, "a", F_OK, 0), -1);
	syncs = 0;
	assert_int_equal(atomic_set_publish(&set, count_syncs, &err), 0);
	assert_int_equal(syncs, 2);
	assert_int_equal(fd_slurp_at(box->fd, "old", 100, &b, &err), 0);
	assert_string_equal(buf_text(&b), "new");
	assert_int_equal(dirlist_read(in, &list, &err), 0);
	assert_int_equal(list.count, 2);
}

static void a_set_leaves_nothing_that_was_not_published(void **state)
{
	struct folder_box *box = *state;
	AUTO(dirlist) struct dirlist list = {0};
	struct atomic_set set = {0};
	struct err err;
	int fd;

	write_file(box->fd, "taken", "mine");
	fd = openat(box->fd, "temp", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	atomic_set_adopt(&set, fd, box->fd, "temp", box->fd, "taken", true);
	put_in_set(&set, box->fd, "behind", "x");
	assert_int_equal(atomic_set_publish(&set, NULL, &err), -EEXIST);
	atomic_set_free(&set);
	assert_int_equal(dirlist_read(box->fd, &list, &err), 0);
	assert_int_equal(list.count, 1);
}

static void more_than_the_bound_is_refused(void **state)
{
	struct folder_box *box = *state;
	AUTO(buf) struct buf b = {0};
	struct err err;

	write_file(box->fd, "f", "12345");
	assert_int_equal(fd_slurp_at(box->fd, "f", 4, &b, &err), -EFBIG);
	buf_clear(&b);
	assert_int_equal(fd_slurp_at(box->fd, "f", 5, &b, &err), 0);
	assert_int_equal(fd_slurp_at(box->fd, "none", 5, &b, &err), -ENOENT);
	assert_int_equal(symlinkat("f", box->fd, "l"), 0);
	assert_int_equal(fd_slurp_at(box->fd, "l", 5, &b, &err), -ELOOP);
}

static void a_record_keeps_every_value(void **state)
{
	struct folder_box *box = *state;
	AUTO(record) struct record r = {0}, back = {0};
	struct err err;

	record_set(&r, "path", "odd\nname\r\\n=x");
	record_add(&r, "more", "one");
	record_add(&r, "more", "");
	record_set_int(&r, "count", INT64_MIN);
	record_set(&r, "gone", "x");
	record_set(&r, "gone", NULL);
	assert_int_equal(record_save(box->fd, "r", "thing", 2, &r, true, &err),
			 0);
	assert_int_equal(record_load(box->fd, "r", "thing", 2, &back, &err), 0);
	assert_string_equal(record_get(&back, "path"), "odd\nname\r\\n=x");
	assert_string_equal(record_get_nth(&back, "more", 1), "");
	assert_null(record_get_nth(&back, "more", 2));
	assert_true(record_get_int(&back, "count") == INT64_MIN);
	assert_null(record_get(&back, "gone"));
}

static void a_record_that_is_odd_is_refused(void **state)
{
	static const char *const damaged[] = {"",
					      "guard-thing 1",
					      "guard-thing x\n",
					      "guard-other 1\n",
					      "guard-thing 1\nk=v",
					      "guard-thing 1\nnovalue\n",
					      "guard-thing 1\n=v\n",
					      "guard-thing 1\nk=\\q\n",
					      "guard-thing 0\n"};
	struct folder_box *box = *state;
	struct err err;
	size_t i;

	for (i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		AUTO(record) struct record r = {0};

		write_file(box->fd, "r", damaged[i]);
		assert_int_equal(
			record_load(box->fd, "r", "thing", 2, &r, &err),
			-EBADMSG);
		assert_int_equal(r.count, 0);
	}
	write_file(box->fd, "r", "guard-thing 3\n");
	{
		AUTO(record) struct record r = {0};

		assert_int_equal(
			record_load(box->fd, "r", "thing", 2, &r, &err),
			-EPROTO);
		assert_int_equal(
			record_load(box->fd, "none", "thing", 2, &r, &err),
			-ENOENT);
	}
}

static void a_lock_is_let_go_by_closing(void **state)
{
	struct folder_box *box = *state;
	struct err err;
	int one = lock_take(box->fd, "lock", true, false, &err);
	int two;

	assert_true(one >= 0);
	assert_int_equal(lock_take(box->fd, "lock", true, false, &err),
			 -EWOULDBLOCK);
	assert_int_equal(lock_take(box->fd, "lock", false, false, &err),
			 -EWOULDBLOCK);
	(void)close(one);
	one = lock_take(box->fd, "lock", false, false, &err);
	two = lock_take(box->fd, "lock", false, false, &err);
	assert_true(one >= 0 && two >= 0);
	(void)close(one);
	(void)close(two);
}

static void xattrs_are_made_equal(void **state)
{
	struct folder_box *box = *state;
	AUTO(xattrs) struct xattrs x = {0}, got = {0}, back = {0};
	AUTO(buf) struct buf b = {0};
	auto_close int fd = -1;
	struct err err;
	size_t len;

	write_file(box->fd, "f", "x");
	fd = openat(box->fd, "f", O_RDWR | O_CLOEXEC);
	xattrs_add(&x, "user.b", "2", 1);
	xattrs_add(&x, "user.a", "", 0);
	assert_string_equal(x.items[0].name, "user.a");
	if (xattrs_set(fd, &x, &err) == -ENOTSUP)
		skip_because("no user xattrs on this file system");
	assert_int_equal(xattrs_get(box->fd, "f", &got, &err), 0);
	assert_true(xattrs_equal(&x, &got));
	assert_int_equal(xattrs_remove_prefix(&x, "user.b"), 1);
	assert_int_equal(xattrs_set(fd, &x, &err), 0);
	xattrs_free(&got);
	assert_int_equal(xattrs_get(fd, "", &got, &err), 0);
	assert_int_equal(got.count, 1);
	attrset_encode(&got, &b);
	assert_int_equal(attrset_decode(b.data, b.len, &back, &err), 0);
	assert_true(xattrs_equal(&got, &back));
	for (len = 0; len < b.len; len++) {
		AUTO(xattrs) struct xattrs cut = {0};

		assert_int_equal(attrset_decode(b.data, len, &cut, &err),
				 -EBADMSG);
		assert_int_equal(cut.count, 0);
	}
}

/* The errors before Linux 6.13, and of a container's filter. */
static void forbid_listxattrat(int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 465, 0, 1),
		BPF_STMT(BPF_RET | BPF_K,
			 SECCOMP_RET_ERRNO | (unsigned int)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program),
			 0);
}

static void xattrs_are_the_same_without_listxattrat(void **state)
{
	static const int errors[] = {ENOSYS, EPERM};
	struct folder_box *box = *state;
	AUTO(xattrs) struct xattrs want = {0};
	auto_close int fd = -1;
	struct err err;
	int i, status;

	write_file(box->fd, "f", "x");
	fd = openat(box->fd, "f", O_RDWR | O_CLOEXEC);
	xattrs_add(&want, "user.a", "1", 1);
	if (xattrs_set(fd, &want, &err) == -ENOTSUP)
		skip_because("no user xattrs on this file system");
	for (i = 0; i < 2; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid) {
			AUTO(xattrs) struct xattrs x = {0};

			forbid_listxattrat(errors[i]);
			if (xattrs_get(box->fd, "f", &x, &err) < 0 ||
			    !xattrs_equal(&x, &want))
				_exit(1);
			_exit(xattrs_get(box->fd, "absent", &x, &err) !=
			      -ENOENT);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

#define RACERS 3
#define RACED 150

/* Each of the threads finds that another one has removed an entry. */
static void several_remove_the_same_at_once(void **state)
{
	struct folder_box *box = *state;
	pid_t racers[RACERS];
	char name[32];
	int go[2], i, status;
	char c;

	assert_int_equal(mkdirat(box->fd, "raced", 0700), 0);
	for (i = 0; i < RACED; i++) {
		(void)snprintf(name, sizeof(name), "raced/%d", i);
		assert_int_equal(mkdirat(box->fd, name, 0700), 0);
		(void)snprintf(name, sizeof(name), "raced/%d/f", i);
		write_file(box->fd, name, "x");
	}
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	for (i = 0; i < RACERS; i++) {
		struct err err;

		racers[i] = fork();
		assert_true(racers[i] >= 0);
		if (racers[i] > 0)
			continue;
		(void)close(go[1]);
		(void)!read(go[0], &c, 1);
		_exit(dirtree_remove(box->fd, "raced", &err) < 0);
	}
	(void)close(go[0]);
	(void)close(go[1]);
	for (i = 0; i < RACERS; i++) {
		assert_int_equal(waitpid(racers[i], &status, 0), racers[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(faccessat(box->fd, "raced", F_OK, 0), -1);
}

static void removal_follows_no_link_and_opens_what_is_closed(void **state)
{
	struct folder_box *box = *state;
	struct err err;

	assert_int_equal(mkdirat(box->fd, "kept", 0700), 0);
	write_file(box->fd, "kept/f", "x");
	assert_int_equal(mkdirat(box->fd, "gone", 0700), 0);
	assert_int_equal(mkdirat(box->fd, "gone/closed", 0700), 0);
	write_file(box->fd, "gone/closed/f", "x");
	assert_int_equal(symlinkat("../../kept", box->fd, "gone/closed/l"), 0);
	assert_int_equal(fchmodat(box->fd, "gone/closed", 0, 0), 0);
	assert_int_equal(dirtree_remove(box->fd, "gone", &err), 0);
	assert_int_equal(faccessat(box->fd, "gone", F_OK, 0), -1);
	assert_int_equal(faccessat(box->fd, "kept/f", F_OK, 0), 0);
	assert_int_equal(symlinkat("kept", box->fd, "l"), 0);
	assert_int_equal(dirtree_remove(box->fd, "l", &err), 0);
	assert_int_equal(faccessat(box->fd, "kept/f", F_OK, 0), 0);
	assert_int_equal(dirtree_remove(box->fd, "none", &err), 0);
}

/* Deeper than the process's limit of descriptors; from a current directory that
 * is not writable, which must not be used. */
static void removal_reaches_any_depth(void **state)
{
	struct folder_box *box = *state;
	auto_free char *path = mem_printf("%s/deep", box->path);
	int at = fcntl(box->fd, F_DUPFD_CLOEXEC, 0), i;
	struct err err;

	for (i = 0; i < 1500; i++) {
		const char *name = i ? "d" : "deep";
		int next;

		assert_int_equal(mkdirat(at, name, 0700), 0);
		next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		(void)close(at);
		at = next;
	}
	write_file(at, "f", "x");
	(void)close(at);
	assert_int_equal(chdir("/proc"), 0);
	assert_int_equal(dirtree_remove(AT_FDCWD, path, &err), 0);
	assert_int_equal(faccessat(box->fd, "deep", F_OK, 0), -1);
	assert_int_equal(chdir("/"), 0);
}

static void entries_are_sorted_and_found(void **state)
{
	struct folder_box *box = *state;
	AUTO(dirlist) struct dirlist list = {0};
	struct err err;
	char name[16];
	size_t i;

	for (i = 0; i < 300; i++) {
		(void)snprintf(name, sizeof(name), "f%zu", i * 7 % 300);
		write_file(box->fd, name, "");
	}
	assert_int_equal(dirlist_read(box->fd, &list, &err), 0);
	assert_int_equal(list.count, 300);
	for (i = 1; i < list.count; i++)
		assert_true(strcmp(list.items[i - 1].name, list.items[i].name) <
			    0);
	assert_non_null(dirlist_find(&list, "f299"));
	assert_null(dirlist_find(&list, "f300"));
}

static void a_path_is_resolved_though_its_end_is_missing(void **state)
{
	struct folder_box *box = *state;
	auto_free char *given = path_join(box->path, "l/no/../such");
	auto_free char *want = path_join(box->path, "real/such");
	auto_free char *loop = path_join(box->path, "loop/x");
	auto_free char *got = NULL;
	struct err err;

	assert_int_equal(mkdirat(box->fd, "real", 0700), 0);
	assert_int_equal(symlinkat("real", box->fd, "l"), 0);
	assert_int_equal(symlinkat("loop", box->fd, "loop"), 0);
	got = path_resolve(given, &err);
	assert_non_null(got);
	assert_string_equal(got, want);
	assert_null(path_resolve(loop, &err));
	assert_int_equal(err.num, ELOOP);
}

static void what_is_open_is_reached_by_its_descriptor(void **state)
{
	const struct folder_box *box = *state;
	auto_close int fd = -1;
	auto_free char *path = NULL;
	char tail[] = "/in a: folder";
	struct stat st;

	assert_int_equal(mkdirat(box->fd, tail + 1, 0700), 0);
	fd = openat(box->fd, tail + 1, O_PATH | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fd_chmod(fd, S_IFDIR | 0500), 0);
	assert_int_equal(fstatat(box->fd, tail + 1, &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0500);
	assert_int_equal(stat(fd_proc_path(fd).text, &st), 0);
	path = fd_path(fd);
	assert_non_null(path);
	assert_string_equal(path + strlen(path) - strlen(tail), tail);
	assert_null(fd_path(-1));
	assert_int_equal(errno, ENOENT);
	assert_int_equal(fd_chmod(-1, 0700), -1);
}

/* A file in place of a directory. */
static void a_folder_that_fails_is_named(void **state)
{
	const struct folder_box *box = *state;
	auto_free char *path = path_join(box->path, "file");
	auto_free char *opened = mem_printf("open '%s': ", path);
	auto_free char *synced = mem_printf("sync directory '%s': ", path);
	auto_close int fd = openat(box->fd, "file", O_RDWR | O_CREAT, 0600);
	struct err err;

	assert_true(fd >= 0);
	assert_int_equal(beneath_open(fd, "", O_RDONLY, 0, &err), -ENOTDIR);
	assert_memory_equal(err.text, opened, strlen(opened));
	assert_int_equal(atomic_sync_dir(fd, &err), -ENOTDIR);
	assert_memory_equal(err.text, synced, strlen(synced));
	assert_int_equal(atomic_sync_dir(-1, &err), -EBADF);
	assert_memory_equal(err.text, "sync directory ?: ", 15);
}

/* A process that opened a directory may still add files to it. */
static void a_directory_that_still_grows_is_removed(void **state)
{
	const struct folder_box *box = *state;
	struct err err;
	int round, status;

	for (round = 0; round < 4; round++) {
		auto_close int dir = -1;
		pid_t pid;

		assert_int_equal(mkdirat(box->fd, "grows", 0755), 0);
		dir = fd_open_dir(box->fd, "grows");
		write_file(dir, "0", "x");
		pid = fork();
		if (pid == 0) {
			int at = 0;
			char name[16];

			do
				(void)snprintf(name, sizeof(name), "%d", ++at);
			while (at < 1000 &&
			       close(openat(dir, name, O_CREAT | O_CLOEXEC,
					    0644)) == 0);
			_exit(0);
		}
		while (faccessat(dir, "2", F_OK, 0) < 0)
			;
		assert_int_equal(dirtree_remove(box->fd, "grows", &err), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
	}
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, folder_box_setup, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_link_leads_out_from_beneath),
		TEST(another_mount_is_not_beneath),
		TEST(paths_longer_than_the_kernel_takes_are_opened),
		TEST(a_file_is_replaced_as_a_whole),
		TEST(files_of_a_set_come_at_once),
		TEST(a_set_leaves_nothing_that_was_not_published),
		TEST(more_than_the_bound_is_refused),
		TEST(a_record_keeps_every_value),
		TEST(a_record_that_is_odd_is_refused),
		TEST(a_lock_is_let_go_by_closing),
		TEST(xattrs_are_made_equal),
		TEST(xattrs_are_the_same_without_listxattrat),
		TEST(removal_follows_no_link_and_opens_what_is_closed),
		TEST(removal_reaches_any_depth),
		TEST(several_remove_the_same_at_once),
		TEST(a_directory_that_still_grows_is_removed),
		TEST(entries_are_sorted_and_found),
		TEST(what_is_open_is_reached_by_its_descriptor),
		TEST(a_folder_that_fails_is_named),
		TEST(a_path_is_resolved_though_its_end_is_missing),
	};

	return cmocka_run_group_tests_name("base_files", tests, NULL, NULL);
}
