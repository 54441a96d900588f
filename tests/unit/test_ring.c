/* The batch reader, by io_uring and by plain calls: the same results. */
/* users: one */
#include "snapshot/store/ring.c"

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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "tests/unit/directory_fixture.h"
#include "tests/unit/skip.h"
#include "tests/unit/ring_hooks.h"

#define FILES 500

static size_t size_of(unsigned int i)
{
	if (i == 7)
		return READER_LEN_MAX;
	return i % 10 ? 37 * i : i % 20 ? 4096 : 0;
}

static void fill(unsigned char *data, size_t len, unsigned int number)
{
	size_t i;

	for (i = 0; i < len; i++)
		data[i] = (unsigned char)(i * 31 + number * 7 + (i >> 8));
}

static void write_file(const struct folder_box *box, const char *name,
		       const void *data, size_t len)
{
	auto_close int fd = openat(
		box->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write(fd, data, len), 0);
}

static void make_files(const struct folder_box *box)
{
	auto_free unsigned char *data = mem_alloc(READER_LEN_MAX);
	unsigned int i;

	for (i = 0; i < FILES; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "%u", i);
		fill(data, size_of(i), i);
		write_file(box, name, data, size_of(i));
	}
}

static void check_file(const struct reader_file *file, bool *seen)
{
	auto_free unsigned char *want = mem_alloc(READER_LEN_MAX);
	unsigned int i = (unsigned int)file->cookie;

	assert_true(i < FILES && !seen[i]);
	seen[i] = true;
	assert_int_equal(file->error, 0);
	assert_false(file->grew);
	assert_int_equal(file->len, size_of(i));
	fill(want, file->len, i);
	if (file->len)
		assert_memory_equal(file->data, want, file->len);
}

static void read_all(const struct folder_box *box, unsigned int depth,
		     bool plain, bool expect_ring)
{
	struct reader *r = reader_new(depth, plain);
	struct reader_file file;
	bool seen[FILES] = {false};
	unsigned int i, count = 0;

	for (i = 0; i < FILES; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "%u", i);
		while (!reader_add(r, box->fd, name, size_of(i), false, i)) {
			assert_true(reader_next(r, &file));
			check_file(&file, seen);
			count++;
		}
	}
	assert_int_equal(r->started && !r->plain, expect_ring);
	while (reader_next(r, &file)) {
		check_file(&file, seen);
		count++;
	}
	assert_int_equal(count, FILES);
	assert_false(reader_next(r, &file));
	reader_free(&r);
}

static bool have_ring(void)
{
	struct reader *r = reader_new(1, false);
	bool uses;

	(void)reader_add(r, AT_FDCWD, "/dev/null", 0, false, 0);
	uses = r->started && !r->plain;
	reader_free(&r);
	return uses;
}

static void many_files_are_read_by_io_uring(void **state)
{
	struct folder_box *box = *state;

	if (!have_ring())
		skip_because("no io_uring on this machine");
	make_files(box);
	read_all(box, 1, false, true);
	read_all(box, 32, false, true);
	read_all(box, 256, false, true);
}

static void many_files_are_read_by_plain_calls(void **state)
{
	struct folder_box *box = *state;

	make_files(box);
	read_all(box, 1, true, false);
	read_all(box, 64, true, false);
}

/* As containers do: io_uring_setup fails. */
static void forbid_io_uring(int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K,
			 SECCOMP_RET_ERRNO | (unsigned int)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program),
			 0);
}

static void where_io_uring_is_forbidden_plain_calls_are_made(void **state)
{
	static const int errors[] = {EPERM, ENOSYS};
	struct folder_box *box = *state;
	int status, i;

	make_files(box);
	for (i = 0; i < 2; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid) {
			int fds[2] = {openat(box->fd, "1", O_RDWR | O_CLOEXEC),
				      openat(box->fd, "2", O_RDWR | O_CLOEXEC)};
			struct err err;

			forbid_io_uring(errors[i]);
			read_all(box, 32, false, false);
			_exit(ring_sync_files(fds, 2, &err) < 0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

static struct reader_file read_one(struct reader *r, int dirfd,
				   const char *name, size_t size)
{
	struct reader_file file;

	assert_true(reader_add(r, dirfd, name, size, false, 5));
	assert_true(reader_next(r, &file));
	assert_int_equal(file.cookie, 5);
	return file;
}

static void odd_things_are_told(void **state)
{
	struct folder_box *box = *state;
	struct reader_file file;
	struct reader *r;
	int plain;

	write_file(box, "ten", "0123456789", 10);
	assert_int_equal(symlinkat("ten", box->fd, "link"), 0);
	assert_int_equal(mkdirat(box->fd, "folder", 0700), 0);
	assert_int_equal(mknodat(box->fd, "fifo", S_IFIFO | 0600, 0), 0);
	for (plain = 0; plain < 2; plain++) {
		r = reader_new(4, plain);
		file = read_one(r, box->fd, "missing", 10);
		assert_int_equal(file.error, ENOENT);
		file = read_one(r, box->fd, "link", 10);
		assert_int_equal(file.error, ELOOP);
		file = read_one(r, box->fd, "folder", 10);
		assert_int_equal(file.error, EISDIR);
		file = read_one(r, box->fd, "fifo", 10);
		assert_int_equal(file.error, 0);
		assert_int_equal(file.len, 0);
		file = read_one(r, box->fd, "ten", 9);
		assert_true(file.grew);
		assert_int_equal(file.len, 9);
		assert_memory_equal(file.data, "012345678", 9);
		file = read_one(r, box->fd, "ten", 11);
		assert_int_equal(file.error, 0);
		assert_false(file.grew);
		assert_int_equal(file.len, 10);
		file = read_one(r, box->fd, "ten", 10);
		assert_false(file.grew);
		assert_int_equal(file.len, 10);
		reader_free(&r);
	}
}

static void a_reader_with_files_under_way_can_be_freed(void **state)
{
	struct folder_box *box = *state;
	struct reader *r = reader_new(8, false);
	int i;

	write_file(box, "ten", "0123456789", 10);
	for (i = 0; i < 8; i++)
		assert_true(reader_add(r, box->fd, "ten", 10, false, 0));
	assert_false(reader_add(r, box->fd, "ten", 10, false, 0));
	reader_free(&r);
	assert_null(r);
}

static void no_descriptor_is_left_open(void **state)
{
	struct folder_box *box = *state;
	int before = dup(box->fd), after;

	make_files(box);
	(void)close(before);
	read_all(box, 32, false, have_ring());
	after = dup(box->fd);
	assert_int_equal(before, after);
	(void)close(after);
}

static void files_are_synced_and_failures_told(void **state)
{
	struct folder_box *box = *state;
	struct err err;
	int fds[150], i, plain, ends[2];

	make_files(box);
	for (i = 0; i < 150; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "%d", i);
		fds[i] = openat(box->fd, name, O_RDWR | O_CLOEXEC);
		assert_true(fds[i] >= 0);
	}
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	for (plain = 0; plain < 2; plain++) {
		int kept = fds[140];

		ring_forbid(plain);
		assert_int_equal(ring_sync_files(fds, 150, &err), 0);
		fds[140] = ends[0]; /* cannot be synced */
		assert_int_equal(ring_sync_files(fds, 150, &err), -EINVAL);
		fds[140] = kept;
	}
	ring_forbid(false);
	for (i = 0; i < 150; i++)
		(void)close(fds[i]);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

#define T(name)                                                                \
	cmocka_unit_test_setup_teardown(name, folder_box_setup,                \
					folder_box_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(many_files_are_read_by_io_uring),
		T(many_files_are_read_by_plain_calls),
		T(where_io_uring_is_forbidden_plain_calls_are_made),
		T(odd_things_are_told),
		T(a_reader_with_files_under_way_can_be_freed),
		T(no_descriptor_is_left_open),
		T(files_are_synced_and_failures_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
