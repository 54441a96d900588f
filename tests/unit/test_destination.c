/*
 * A directory that takes backups: files are added and never replaced, on file
 * systems with and without O_TMPFILE, links and renames; errors name it and the
 * way out; links and other kinds of files in it are refused.
 */
/* link: -Wl,--wrap=openat,--wrap=linkat,--wrap=renameat2,--wrap=fsync */
#include "snapshot/backup/destination.h"

#include <errno.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>

#include "base/auto.h"
#include "base/chattr.h"
#include "base/fd.h"
#include "base/path.h"
#include "tests/unit/skip.h"
#include "tests/unit/directory_fixture.h"

#define HASH                                                                   \
	"0123456789abcdef0123456789abcdef"                                     \
	"0123456789abcdef0123456789abcdef"

/* --- file systems that refuse calls --- */

static struct {
	bool no_tmpfile, no_names, no_rename_flags;
	unsigned int count, at; /* the call that fails with EIO; 0: none */
	struct buf *trace;
} faults;

static bool fails(const char *call)
{
	if (faults.trace)
		buf_printf(faults.trace, "%s ", call);
	errno = EIO;
	return ++faults.count == faults.at;
}

int __real_openat(int dirfd, const char *name, int flags, mode_t mode);
int __wrap_openat(int dirfd, const char *name, int flags, mode_t mode);
int __real_linkat(int from_fd, const char *from, int to_fd, const char *to,
		  int flags);
int __wrap_linkat(int from_fd, const char *from, int to_fd, const char *to,
		  int flags);
int __real_renameat2(int from_fd, const char *from, int to_fd, const char *to,
		     unsigned int flags);
int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to,
		     unsigned int flags);
int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_openat(int dirfd, const char *name, int flags, mode_t mode)
{
	bool nameless = (flags & O_TMPFILE) == O_TMPFILE;

	if (faults.no_tmpfile && nameless) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if ((nameless || flags & O_CREAT) && fails("create"))
		return -1;
	return __real_openat(dirfd, name, flags, mode);
}

int __wrap_linkat(int from_fd, const char *from, int to_fd, const char *to,
		  int flags)
{
	if (fails("link"))
		return -1;
	errno = EPERM;
	return faults.no_names ? -1
			       : __real_linkat(from_fd, from, to_fd, to, flags);
}

int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to,
		     unsigned int flags)
{
	if (fails("rename"))
		return -1;
	errno = faults.no_names ? EPERM : EINVAL;
	return faults.no_names || (faults.no_rename_flags && flags)
		       ? -1
		       : __real_renameat2(from_fd, from, to_fd, to, flags);
}

int __wrap_fsync(int fd)
{
	return fails("sync") ? -1 : __real_fsync(fd);
}

/* --- files --- */

static int setup(void **state)
{
	memset(&faults, 0, sizeof(faults));
	return folder_box_setup(state);
}

static struct destination open_it(const struct folder_box *box)
{
	struct destination d;
	struct err err;

	ok(destination_open(box->path, &d, &err));
	return d;
}

static int put(struct destination *d, const char *dir, const char *name,
	       const char *text, struct err *err)
{
	AUTO(destination_file)
	struct atomic_file f = ATOMIC_FILE_NONE;

	if (destination_begin(d, dir, &f, err) < 0)
		return -err->num;
	if (fd_write(f.fd, text, strlen(text)) < 0) {
		(void)fail_errno(err, "write");
		return destination_explain(d, err);
	}
	return destination_publish(d, &f, name, err);
}

static void check_text(const struct destination *d, const char *dir,
		       const char *name, const char *want)
{
	AUTO(buf) struct buf text = {0};
	struct err err;
	auto_free char *path = path_join(dir, name);
	auto_close int fd = destination_read(d, path, &err);

	if (fd < 0)
		fail_msg("%s", err.text);
	ok(fd_slurp(fd, 1000, &text, &err));
	assert_string_equal(buf_text(&text), want);
}

/* As callers do, which take no temporary names. */
static void check_list(const struct destination *d, const char *dir,
		       const char *want)
{
	AUTO(dirlist) struct dirlist list = {0};
	AUTO(buf) struct buf text = {0};
	struct err err;
	size_t i;

	ok(destination_list(d, dir, &list, &err));
	for (i = 0; i < list.count; i++)
		if (strncmp(list.items[i].name, ".tmp-", 5) != 0 ||
		    strlen(list.items[i].name) != 21)
			buf_printf(&text, "%s ", list.items[i].name);
	assert_string_equal(buf_text(&text), want);
}

static size_t count_entries(const struct folder_box *box, const char *name)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int fd = fd_open_dir(box->fd, name);
	struct err err;

	assert_return_code(fd, errno);
	ok(dirlist_read(fd, &list, &err));
	return list.count;
}

static void check_files(const struct folder_box *box, struct destination *d)
{
	struct err err;
	struct stat st;

	ok(put(d, "a/p", HASH, "one", &err));
	ok(put(d, "a/p", "guard-copy", "two", &err));
	check_text(d, "a/p", HASH, "one");
	check_text(d, "a/p", "guard-copy", "two");
	assert_return_code(fstatat(box->fd, "a/p/" HASH, &st, 0), errno);
	assert_int_equal(st.st_mode & 0222, 0);
	check_list(d, "a/p", HASH " guard-copy ");

	/* A name that is taken keeps its file. */
	ok(put(d, "a/p", HASH, "another", &err));
	check_text(d, "a/p", HASH, "one");
	assert_int_equal(put(d, "a/p", "guard-copy", "another", &err), -EEXIST);
	check_text(d, "a/p", "guard-copy", "two");
}

static void files_are_added_and_never_replaced(void **state)
{
	struct folder_box *box = *state;
	AUTO(destination) struct destination d = open_it(box);

	check_files(box, &d);
	assert_int_equal(count_entries(box, "a/p"), 2);
	assert_false(d.no_renames);
	check_list(&d, "missing/p", "");
	check_list(&d, "", "a ");
}

static void without_tmpfile_a_file_has_a_temporary_name(void **state)
{
	struct folder_box *box = *state;
	AUTO(destination) struct destination d = open_it(box);
	AUTO(destination_file)
	struct atomic_file f = ATOMIC_FILE_NONE;
	struct err err;

	faults.no_tmpfile = true;
	check_files(box, &d);
	assert_int_equal(count_entries(box, "a/p"), 2);
	ok(destination_begin(&d, "a/p", &f, &err));
	assert_int_equal(count_entries(box, "a/p"), 3);
	assert_memory_equal(f.temp, ".tmp-", 5);
	check_list(&d, "a/p", HASH " guard-copy ");
	destination_file_free(&f);
	assert_int_equal(count_entries(box, "a/p"), 2);
}

static void renames_without_flags_do_not_replace_either(void **state)
{
	struct folder_box *box = *state;
	AUTO(destination) struct destination d = open_it(box);

	faults.no_tmpfile = faults.no_rename_flags = true;
	check_files(box, &d);
	assert_int_equal(count_entries(box, "a/p"), 2);
}

static void where_names_are_refused_files_are_written_under_theirs(void **state)
{
	struct folder_box *box = *state;
	AUTO(destination) struct destination d = open_it(box);
	AUTO(destination_file)
	struct atomic_file f = ATOMIC_FILE_NONE;
	struct err err;

	faults.no_names = true;
	check_files(box, &d);
	assert_true(d.no_renames);
	assert_int_equal(count_entries(box, "a/p"), 2);
	destination_free(&d);

	d = open_it(box);
	faults.no_names = faults.no_tmpfile = true;
	assert_return_code(dirtree_remove(box->fd, "a", &err), EIO);
	check_files(box, &d);
	assert_int_equal(count_entries(box, "a/p"), 2);
	ok(destination_begin(&d, "a/p", &f, &err));
	assert_null(f.temp);
	assert_int_equal(count_entries(box, "a/p"), 2);
}

static void old_temporary_files_go_and_young_ones_stay(void **state)
{
	struct folder_box *box = *state;
	AUTO(destination) struct destination d = open_it(box);
	struct timespec old[2] = {{.tv_sec = time(NULL) - 2 * 24 * 60 * 60},
				  {.tv_sec = time(NULL) - 2 * 24 * 60 * 60}};
	/* The last ones are the user's. */
	static const char *const names[] = {".tmp-0123456789abcdef",
					    ".tmp-fedcba9876543210",
					    HASH,
					    ".tmp-1",
					    "letter.tmp-0123456789abcdef",
					    ".tmp-0123456789abcdef.txt"};
	struct err err;
	size_t i;

	assert_return_code(mkdirat(box->fd, "p", 0755), errno);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *path =
			mem_printf("%s/p/%s", box->path, names[i]);
		auto_close int fd = creat(path, 0600);

		assert_return_code(fd, errno);
		if (i != 1)
			assert_return_code(futimens(fd, old), errno);
	}
	faults.no_tmpfile = true;
	ok(put(&d, "p", "name", "text", &err));
	assert_int_equal(count_entries(box, "p"), 6);
	check_list(&d, "p",
		   ".tmp-0123456789abcdef.txt .tmp-1 " HASH
		   " letter.tmp-0123456789abcdef name ");
}

static void a_file_is_durable_with_its_directories(void **state)
{
	struct folder_box *box = *state;
	AUTO(destination) struct destination d = open_it(box);
	AUTO(buf) struct buf trace = {0};
	struct err err;

	faults.trace = &trace;
	ok(put(&d, "a/p", HASH, "one", &err));
	assert_string_equal(buf_text(&trace),
			    "sync sync create sync link sync ");
	buf_clear(&trace);
	faults.no_tmpfile = true;
	ok(put(&d, "a/p", "other", "one", &err));
	assert_string_equal(buf_text(&trace), "create sync rename sync ");
}

static void each_call_may_fail(void **state)
{
	struct folder_box *box = *state;
	struct err err;
	unsigned int at, way;

	for (way = 0; way < 4; way++) {
		for (at = 1;; at++) {
			AUTO(destination) struct destination d = open_it(box);
			struct stat st;
			int got;

			memset(&faults, 0, sizeof(faults));
			ok(dirtree_remove(box->fd, "a", &err));
			faults.no_tmpfile = way & 1;
			faults.no_names = way & 2;
			faults.at = at;
			got = put(&d, "a/p", HASH, "one", &err);
			if (faults.count < at) {
				ok(got);
				break;
			}
			if (got < 0) {
				assert_int_equal(got, -EIO);
				assert_non_null(strstr(err.text, box->path));
			}
			/* All of it, or none. */
			if (fstatat(box->fd, "a/p/" HASH, &st, 0) == 0)
				assert_int_equal(st.st_size, 3);
			faults.at = 0;
			ok(put(&d, "a/p", HASH, "one", &err));
			check_text(&d, "a/p", HASH, "one");
		}
		assert_true(at > 5);
	}
}

/* --- errors --- */

static void a_missing_directory_is_named_with_the_way_out(void **state)
{
	struct folder_box *box = *state;
	auto_free char *path = mem_printf("%s/usb", box->path);
	auto_free char *way = mem_printf("mkdir -p %s", path);
	struct destination d;
	struct err err;

	assert_int_equal(destination_open(path, &d, &err), -ENOENT);
	assert_non_null(strstr(err.text, way));
	assert_non_null(strstr(err.text, "mount its disk"));
	assert_return_code(close(creat(path, 0600)), errno);
	assert_int_equal(destination_open(path, &d, &err), -ENOTDIR);
	assert_non_null(strstr(err.text, "is not a directory"));
}

static void errors_say_the_way_out(void **state)
{
	static const struct {
		int num;
		const char *way;
	} rows[] = {
		{ENOSPC, "guard backup --prune /var/tmp/"},
		{EDQUOT, "guard backup --prune /var/tmp/"},
		{EROFS, "mount it for writing"},
		{EACCES, "ls -ld /var/tmp/"},
		{EPERM, "lsattr -d /var/tmp/"},
		{EIO, "mount it again"},
		{ENOTCONN, "mount it again"},
		{ESTALE, "mount it again"},
		{EXDEV, "unmount it"},
	};
	struct folder_box *box = *state;
	AUTO(destination) struct destination d = open_it(box);
	struct err err;
	size_t i;

	d.has_backups = true;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		(void)fail_num(&err, rows[i].num, "write 'x'");
		assert_int_equal(destination_explain(&d, &err), -rows[i].num);
		assert_non_null(strstr(err.text, "destination '/var/tmp/"));
		assert_non_null(strstr(err.text, "write 'x': "));
		if (!strstr(err.text, rows[i].way))
			fail_msg("%s", err.text);
	}
}

static void a_directory_that_may_not_be_written_is_named(void **state)
{
	struct folder_box *box = *state;
	AUTO(destination) struct destination d = DESTINATION_NONE;
	struct err err;

	if (geteuid() == 0)
		skip_because("root may write to all directories");
	d = open_it(box);
	assert_return_code(fchmod(box->fd, 0555), errno);
	assert_int_equal(put(&d, "a/p", HASH, "one", &err), -EACCES);
	assert_non_null(strstr(err.text, "ls -ld"));
	assert_int_equal(put(&d, "", "guard-copy", "one", &err), -EACCES);
	assert_return_code(fchmod(box->fd, 0700), errno);
}

/* Mounts a tmpfs of 1 MB as the destination. */
static void mount_small(struct folder_box *box)
{
	if (geteuid() != 0)
		skip_because("only root can mount a file system");
	assert_return_code(mount("none", box->path, "tmpfs", 0, "size=1m"),
			   errno);
	(void)close(box->fd);
	box->fd = open(box->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_return_code(box->fd, errno);
}

static void unmount_small(struct folder_box *box)
{
	(void)close(box->fd);
	assert_return_code(umount(box->path), errno);
	box->fd = open(box->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void a_full_destination_goes_on_when_there_is_space(void **state)
{
	struct folder_box *box = *state;
	static char large[2 << 20];
	struct destination d;
	struct err err;

	mount_small(box);
	d = open_it(box);
	memset(large, 'x', sizeof(large) - 1);
	assert_int_equal(put(&d, "a/p", HASH, large, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "; free space there"));
	assert_null(strstr(err.text, "--prune"));
	assert_int_equal(count_entries(box, "a/p"), 0);
	ok(put(&d, "a/p", HASH, "one", &err));

	/* The space ends when the bytes are written again. */
	faults.no_names = true;
	large[600 << 10] = '\0';
	assert_int_equal(put(&d, "a/p", "other", large, &err), -ENOSPC);
	assert_int_equal(count_entries(box, "a/p"), 1);
	ok(put(&d, "a/p", "other", "two", &err));
	check_text(&d, "a/p", "other", "two");
	destination_free(&d);
	unmount_small(box);
}

static void a_read_only_destination_is_named(void **state)
{
	struct folder_box *box = *state;
	enum destination_promise promise;
	struct destination d;
	struct err err;

	mount_small(box);
	d = open_it(box);
	ok(put(&d, "a/p", HASH, "one", &err));
	assert_return_code(
		close(openat(box->fd, "guard-try", O_WRONLY | O_CREAT, 0644)),
		errno);
	assert_return_code(
		mount(NULL, box->path, NULL, MS_REMOUNT | MS_RDONLY, NULL),
		errno);
	assert_int_equal(put(&d, "a/p", "other", "two", &err), -EROFS);
	assert_non_null(strstr(err.text, "mount it for writing"));
	assert_int_equal(put(&d, "b", "other", "two", &err), -EROFS);
	assert_int_equal(destination_delete(&d, "a/p/" HASH, &err), -EROFS);
	/* Files that cannot be deleted are no promise here. */
	assert_int_equal(destination_try(&d, &promise, &err), -EROFS);
	check_text(&d, "a/p", HASH, "one");
	destination_free(&d);
	unmount_small(box);
}

/* --- files of others --- */

static void links_and_other_kinds_are_refused(void **state)
{
	struct folder_box *box = *state;
	AUTO(destination) struct destination d = open_it(box);
	AUTO(dirlist) struct dirlist list = {0};
	struct err err;

	ok(put(&d, "p", HASH, "one", &err));
	assert_return_code(symlinkat(HASH, box->fd, "p/link"), errno);
	assert_return_code(symlinkat("p", box->fd, "q"), errno);
	assert_return_code(symlinkat("/etc", box->fd, "etc"), errno);
	assert_return_code(mkfifoat(box->fd, "p/fifo", 0600), errno);
	assert_return_code(mkdirat(box->fd, "p/dir", 0700), errno);
	assert_int_equal(destination_read(&d, "p/link", &err), -EBADMSG);
	assert_non_null(strstr(err.text, "is no regular file"));
	assert_int_equal(destination_read(&d, "p/fifo", &err), -EBADMSG);
	assert_int_equal(destination_read(&d, "p/dir", &err), -EBADMSG);
	assert_true(destination_read(&d, "q/" HASH, &err) < 0);
	assert_true(destination_list(&d, "q", &list, &err) < 0);
	assert_true(put(&d, "q", "name", "two", &err) < 0);
	assert_true(put(&d, "etc", "guard-name", "two", &err) < 0);
	assert_true(destination_delete(&d, "q/" HASH, &err) < 0);
	assert_true(destination_read(&d, "p/../p/" HASH, &err) < 0);
	check_text(&d, "p", HASH, "one");
}

static void a_name_of_an_old_listing_is_missing(void **state)
{
	struct folder_box *box = *state;
	AUTO(destination) struct destination d = open_it(box);
	AUTO(dirlist) struct dirlist list = {0};
	struct err err;

	ok(put(&d, "p", HASH, "one", &err));
	ok(destination_list(&d, "p", &list, &err));
	ok(destination_delete(&d, "p/" HASH, &err));
	assert_int_equal(destination_read(&d, "p/" HASH, &err), -ENOENT);
	ok(destination_delete(&d, "p/" HASH, &err));
	ok(destination_delete(&d, "missing/" HASH, &err));
	assert_return_code(unlinkat(box->fd, "p", AT_REMOVEDIR), errno);
	assert_int_equal(destination_read(&d, "p/" HASH, &err), -ENOENT);
}

/* --- promises --- */

static int set_flags(const struct folder_box *box, const char *name,
		     uint32_t flags)
{
	auto_close int fd =
		openat(box->fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	assert_return_code(fd, errno);
	return chattr_write(fd, CHATTR_FIXED, flags);
}

static void need_flags(const struct folder_box *box)
{
	if (set_flags(box, ".", FS_APPEND_FL) < 0 || set_flags(box, ".", 0) < 0)
		skip_because("chattr +a and +i need root and a file system "
			     "that has them");
}

static enum destination_promise try_it(struct destination *d)
{
	enum destination_promise promise;
	struct err err;

	ok(destination_try(d, &promise, &err));
	return promise;
}

static void a_plain_directory_promises_nothing(void **state)
{
	struct folder_box *box = *state;
	AUTO(destination) struct destination d = open_it(box);

	assert_int_equal(try_it(&d), DESTINATION_PLAIN);
	assert_int_equal(count_entries(box, "."), 0);
	/* A file that an earlier try left. */
	assert_return_code(
		close(openat(box->fd, "guard-try", O_WRONLY | O_CREAT, 0400)),
		errno);
	assert_int_equal(try_it(&d), DESTINATION_PLAIN);
	assert_int_equal(count_entries(box, "."), 0);
	assert_return_code(mkdirat(box->fd, "guard-try", 0700), errno);
	assert_int_equal(try_it(&d), DESTINATION_PLAIN);
}

static void chattr_is_a_promise(void **state)
{
	struct folder_box *box = *state;
	AUTO(destination) struct destination d = DESTINATION_NONE;
	struct err err;

	need_flags(box);
	d = open_it(box);
	/* New files below chattr +a can be overwritten. */
	assert_return_code(set_flags(box, ".", FS_APPEND_FL), errno);
	assert_int_equal(try_it(&d), DESTINATION_OVERWRITABLE);
	assert_int_equal(count_entries(box, "."), 1);
	assert_return_code(set_flags(box, "guard-try", FS_APPEND_FL), errno);
	assert_int_equal(try_it(&d), DESTINATION_APPEND_ONLY);
	assert_return_code(set_flags(box, "guard-try", FS_IMMUTABLE_FL), errno);
	assert_int_equal(try_it(&d), DESTINATION_LOCKED);
	assert_return_code(set_flags(box, "guard-try", 0), errno);
	assert_return_code(set_flags(box, ".", FS_IMMUTABLE_FL), errno);
	assert_int_equal(put(&d, "", HASH, "one", &err), -EPERM);
	assert_non_null(strstr(err.text, "lsattr -d"));
	assert_return_code(set_flags(box, ".", 0), errno);
}

static void files_are_added_below_chattr_a(void **state)
{
	struct folder_box *box = *state;
	AUTO(destination) struct destination d = DESTINATION_NONE;
	struct err err;

	need_flags(box);
	d = open_it(box);
	ok(put(&d, "a/p", "first", "one", &err));
	assert_return_code(set_flags(box, "a/p", FS_APPEND_FL), errno);
	check_list(&d, "a/p", "first ");
	ok(put(&d, "a/p", HASH, "one", &err));
	assert_int_equal(count_entries(box, "a/p"), 2);
	assert_false(d.no_renames);
	/* Without O_TMPFILE one temporary file stays. */
	faults.no_tmpfile = true;
	ok(put(&d, "a/p", "second", "two", &err));
	ok(put(&d, "a/p", "third", "three", &err));
	assert_true(d.no_renames);
	assert_int_equal(count_entries(box, "a/p"), 5);
	check_list(&d, "a/p", HASH " first second third ");
	check_text(&d, "a/p", "second", "two");
	check_text(&d, "a/p", "third", "three");
	assert_int_equal(destination_delete(&d, "a/p/" HASH, &err), -EPERM);
	assert_return_code(set_flags(box, "a/p", 0), errno);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, setup, folder_box_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_are_added_and_never_replaced),
		TEST(without_tmpfile_a_file_has_a_temporary_name),
		TEST(renames_without_flags_do_not_replace_either),
		TEST(where_names_are_refused_files_are_written_under_theirs),
		TEST(old_temporary_files_go_and_young_ones_stay),
		TEST(a_file_is_durable_with_its_directories),
		TEST(each_call_may_fail),
		TEST(a_missing_directory_is_named_with_the_way_out),
		TEST(errors_say_the_way_out),
		TEST(a_directory_that_may_not_be_written_is_named),
		TEST(a_full_destination_goes_on_when_there_is_space),
		TEST(a_read_only_destination_is_named),
		TEST(links_and_other_kinds_are_refused),
		TEST(a_name_of_an_old_listing_is_missing),
		TEST(a_plain_directory_promises_nothing),
		TEST(chattr_is_a_promise),
		TEST(files_are_added_below_chattr_a),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
