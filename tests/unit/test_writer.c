/* One file written from threads and read ahead, with io_uring and without: the
 * same bytes, and every failure reported. */
/* users: one */
#include "snapshot/store/stream.c"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "tests/unit/ring_hooks.h"
#include "snapshot/store/writer.h"
#include "tests/unit/skip.h"

/* cmocka has a fail() too. */
#undef fail
#include <cmocka.h>

#define RECORDS 300
#define RECORD_MAX 40000
#define THREADS 3

#define ok(call)                                                               \
	do {                                                                   \
		if ((call) < 0)                                                \
			fail_msg("%s: %s", #call, err.text);                   \
	} while (0)

/* A file without a name. */
static int file_new(void)
{
	int fd = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return fd;
}

static unsigned char byte_at(uint64_t at)
{
	return (unsigned char)((at * 0x9e3779b97f4a7c15u) >> 56);
}

static void fill(unsigned char *data, uint64_t at, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		data[i] = byte_at(at + i);
}

static void check_bytes(const unsigned char *data, uint64_t at, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (data[i] != byte_at(at + i))
			fail_msg("byte %llu is wrong",
				 (unsigned long long)(at + i));
	}
}

/* --- hooks --- */

#define A_WRITE ((enum ring_call)100)

static struct {
	enum ring_call call; /* or A_WRITE */
	unsigned int at, every; /* this call, or every n-th */
	int answer;
	unsigned int count, hit;
	pthread_mutex_t mutex;
} plan = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int before(enum ring_call call, int fd)
{
	bool hit;

	(void)fd;
	if (call != plan.call)
		return 0;
	(void)pthread_mutex_lock(&plan.mutex);
	plan.count++;
	hit = plan.count == plan.at ||
	      (plan.every && plan.count % plan.every == 0);
	plan.hit += hit;
	(void)pthread_mutex_unlock(&plan.mutex);
	return hit ? plan.answer : 0;
}

/* The call that the writer uses. */
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
	int answer = before(A_WRITE, fd);

	if (answer > 0) {
		errno = answer;
		return -1;
	}
	if (answer < 0) /* a short write, within the first part */
		return syscall(SYS_pwrite64, fd, parts[0].iov_base,
			       parts[0].iov_len / 2, offset);
	return syscall(SYS_pwritev, fd, parts, count, offset, 0L);
}

static void plan_set(enum ring_call call, unsigned int at, unsigned int every,
		     int answer)
{
	plan.call = call;
	plan.at = at;
	plan.every = every;
	plan.answer = answer;
	plan.count = plan.hit = 0;
	ring_hook(before, NULL);
}

static int setup(void **state)
{
	(void)state;
	ring_forbid(false);
	ring_hook(NULL, NULL);
	return 0;
}

static bool have_ring(void)
{
	auto_close int fd = file_new();
	struct stream *s = stream_new(fd, 1, false);
	bool uses = !s->plain;

	stream_free(&s);
	return uses;
}

/* Skips without io_uring: only its own code is tested here. */
static void need_ring(void)
{
	if (have_ring())
		return;
	skip_because("no io_uring on this machine");
}

/* --- writing --- */

static uint64_t record_at(unsigned int i)
{
	return (uint64_t)i * RECORD_MAX;
}

static size_t record_len(unsigned int i)
{
	return i % 7 ? (i * 977) % RECORD_MAX + 1 : RECORD_MAX;
}

struct job {
	struct writer *w;
	unsigned int number;
	int failed;
};

static void *write_some(void *arg)
{
	auto_free unsigned char *data = mem_alloc(RECORD_MAX);
	struct job *job = arg;
	struct err err;
	unsigned int i;

	for (i = job->number; i < RECORDS && !job->failed; i += THREADS) {
		size_t len = record_len(i), cut = len / 2;
		struct iovec parts[3] = {
			{data, cut}, {data + cut, len - cut}, {data, 0}};

		fill(data, record_at(i), len);
		if (writer_write(job->w, parts, 3, record_at(i), &err) < 0)
			job->failed = err.num;
		/* The writer must not use the buffer after its return. */
		memset(data, 0, len);
	}
	return NULL;
}

static int write_all(struct writer *w, struct err *err)
{
	struct job jobs[THREADS];
	pthread_t threads[THREADS];
	unsigned int i;

	for (i = 0; i < THREADS; i++) {
		jobs[i] = (struct job){.w = w, .number = i};
		assert_int_equal(
			pthread_create(&threads[i], NULL, write_some, &jobs[i]),
			0);
	}
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	writer_sync_begin(w);
	return writer_sync_end(w, err);
}

static void check_written(int fd)
{
	auto_free unsigned char *data = mem_alloc(RECORD_MAX);
	unsigned int i;

	for (i = 0; i < RECORDS; i++) {
		ssize_t len = (ssize_t)record_len(i);

		assert_int_equal(fd_pread(fd, data, (size_t)len, record_at(i)),
				 len);
		check_bytes(data, record_at(i), (size_t)len);
	}
}

/* A writer with io_uring, or without. */
static struct writer *writer_plain(int fd, bool plain)
{
	ring_forbid(plain);
	return writer_new(fd);
}

static void write_and_check(bool plain)
{
	auto_close int fd = file_new();
	struct writer *w = writer_plain(fd, plain);
	struct err err;

	ok(write_all(w, &err));
	writer_free(&w);
	assert_null(w);
	check_written(fd);
}

static void what_threads_write_is_in_the_file(void **state)
{
	(void)state;
	write_and_check(false);
	write_and_check(true);
	ring_forbid(true);
	assert_false(have_ring());
	write_and_check(false);
}

/* The writer starts the write-back several times. */
static void a_very_long_file_is_whole(void **state)
{
	size_t len = ((size_t)20 << 20) + 11, at, n;
	auto_free unsigned char *data = mem_alloc(len);
	auto_free unsigned char *got = mem_alloc(len);
	struct err err;
	int plain;

	(void)state;
	fill(data, 0, len);
	for (plain = 0; plain < 2; plain++) {
		auto_close int fd = file_new();
		struct writer *w = writer_plain(fd, plain);

		for (at = 0; at < len; at += n) {
			struct iovec parts[2] = {{data + at, 100}};

			n = len - at < 3000000 ? len - at : 3000000;
			parts[0].iov_len = n / 3;
			parts[1] = (struct iovec){data + at + n / 3, n - n / 3};
			ok(writer_write(w, parts, 2, at, &err));
		}
		writer_sync_begin(w);
		ok(writer_sync_end(w, &err));
		assert_int_equal(fd_pread(fd, got, len, 0), len);
		assert_memory_equal(got, data, len);
		writer_free(&w);
	}
}

static void writes_that_are_cut_off_or_interrupted_are_made_whole(void **state)
{
	static const int answers[] = {-1, EINTR};
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		plan_set(A_WRITE, 0, 3, answers[i]);
		write_and_check(false);
		assert_true(plan.hit >= RECORDS / 3);
	}
}

static void any_write_that_fails_is_told(void **state)
{
	static const int errors[] = {EIO, ENOSPC, EDQUOT};
	struct iovec none = {"", 0};
	unsigned int at;
	struct err err;

	(void)state;
	for (at = 1; at <= RECORDS; at += 23) {
		auto_close int fd = file_new();
		struct writer *w = writer_plain(fd, false);

		plan_set(A_WRITE, at, 0, errors[at % 3]);
		assert_int_equal(write_all(w, &err), -errors[at % 3]);
		/* The failure is reported again. */
		assert_int_equal(writer_write(w, &none, 1, 0, &err),
				 -errors[at % 3]);
		assert_int_equal(writer_sync_end(w, &err), -errors[at % 3]);
		assert_int_equal(plan.hit, 1);
		writer_free(&w);
	}
}

static void a_disk_that_is_full_is_told(void **state)
{
	auto_free unsigned char *data = mem_zalloc(RECORD_MAX);
	struct iovec part = {data, RECORD_MAX};
	struct err err;
	int plain;

	(void)state;
	for (plain = 0; plain < 2; plain++) {
		auto_close int fd = open("/dev/full", O_RDWR | O_CLOEXEC);
		struct writer *w = writer_plain(fd, plain);
		int got = writer_write(w, &part, 1, 0, &err);

		assert_int_equal(got, -ENOSPC);
		writer_free(&w);
	}
}

static void a_failed_sync_is_told_and_not_tried_again(void **state)
{
	auto_close int fd = file_new();
	struct writer *w = writer_plain(fd, false);
	struct err err;

	(void)state;
	need_ring();
	plan_set(RING_SYNC, 1, 0, EIO);
	writer_sync_begin(w);
	assert_int_equal(writer_sync_end(w, &err), -EIO);
	writer_sync_begin(w);
	assert_int_equal(writer_sync_end(w, &err), -EIO);
	assert_int_equal(plan.count, 1);
	writer_free(&w);
}

static void a_sync_that_never_began_is_made(void **state)
{
	auto_close int fd = file_new();
	int ends[2];
	struct writer *w = writer_plain(fd, false);
	struct err err;

	(void)state;
	need_ring();
	plan_set(RING_SYNC, 1, 0, ECANCELED);
	writer_sync_begin(w);
	ok(writer_sync_end(w, &err));
	writer_free(&w);
	/* A pipe shows that the sync is called, because it cannot be synced. */
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	w = writer_plain(ends[1], false);
	plan_set(RING_SYNC, 1, 0, ECANCELED);
	writer_sync_begin(w);
	assert_int_equal(writer_sync_end(w, &err), -EINVAL);
	writer_free(&w);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/* --- reading ahead --- */

static int file_of(uint64_t size)
{
	auto_free unsigned char *data = mem_alloc(STREAM_PIECE);
	int fd = file_new();
	uint64_t at;

	for (at = 0; at < size; at += STREAM_PIECE) {
		size_t len = size - at < STREAM_PIECE ? (size_t)(size - at)
						      : STREAM_PIECE;

		fill(data, at, len);
		assert_int_equal(fd_pwrite(fd, data, len, at), 0);
	}
	return fd;
}

static uint64_t read_range(struct stream *s, uint64_t start, uint64_t end)
{
	const unsigned char *data;
	uint64_t at = start;
	bool ended = false;
	ssize_t n;

	stream_range(s, start, end);
	while ((n = stream_next(s, &data)) > 0) {
		assert_false(ended);
		ended = (size_t)n < STREAM_PIECE;
		check_bytes(data, at, (size_t)n);
		at += (uint64_t)n;
	}
	assert_int_equal(n, 0);
	assert_int_equal(stream_next(s, &data), 0);
	return at - start;
}

static const uint64_t sizes[] = {0,
				 1,
				 STREAM_PIECE - 1,
				 STREAM_PIECE,
				 STREAM_PIECE + 1,
				 16 * STREAM_PIECE,
				 37 * STREAM_PIECE + 5};

static void read_sizes(bool plain)
{
	size_t i, k;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		auto_close int fd = file_of(sizes[i]);
		/* Too short, right, and far too long. */
		uint64_t hints[] = {0, sizes[i] / 2, sizes[i], UINT64_MAX};

		for (k = 0; k < 4; k++) {
			struct stream *s = stream_new(fd, hints[k], plain);
			uint64_t size = sizes[i];

			assert_int_equal(read_range(s, 0, UINT64_MAX), size);
			assert_int_equal(read_range(s, 0, size), size);
			assert_int_equal(read_range(s, size, UINT64_MAX), 0);
			assert_int_equal(read_range(s, size / 2, size),
					 size - size / 2);
			assert_int_equal(read_range(s, size / 3, size / 2),
					 size / 2 - size / 3);
			stream_free(&s);
			assert_null(s);
		}
	}
}

static void files_of_all_lengths_are_read(void **state)
{
	(void)state;
	read_sizes(false);
	read_sizes(true);
	ring_forbid(true);
	read_sizes(false);
}

static void reads_that_end_early_or_fail_are_made_again(void **state)
{
	static const int answers[] = {-1, EIO, ECANCELED, EAGAIN};
	uint64_t size = 37 * STREAM_PIECE + 5;
	auto_close int fd = file_of(size);
	size_t i;

	(void)state;
	need_ring();
	for (i = 0; i < 4; i++) {
		struct stream *s = stream_new(fd, size, false);

		assert_true(!s->plain);
		plan_set(RING_READ, 0, 3, answers[i]);
		assert_int_equal(read_range(s, 0, UINT64_MAX), size);
		assert_true(plan.hit > 10);
		ring_hook(NULL, NULL);
		stream_free(&s);
	}
}

static void what_cannot_be_read_is_told(void **state)
{
	auto_close int fd = open("/var/tmp", O_RDONLY | O_CLOEXEC);
	const unsigned char *data;
	int plain;

	(void)state;
	for (plain = 0; plain < 2; plain++) {
		struct stream *s = stream_new(fd, 100 * STREAM_PIECE, plain);

		stream_range(s, 0, UINT64_MAX);
		assert_int_equal(stream_next(s, &data), -1);
		assert_int_equal(errno, EISDIR);
		assert_int_equal(stream_next(s, &data), 0);
		stream_free(&s);
	}
}

static void a_file_that_shrinks_ends_where_it_ends(void **state)
{
	uint64_t size = 40 * STREAM_PIECE;
	const unsigned char *data;
	int plain;

	(void)state;
	for (plain = 0; plain < 2; plain++) {
		auto_close int fd = file_of(size);
		struct stream *s = stream_new(fd, size, plain);
		uint64_t at = 0;
		ssize_t n;

		stream_range(s, 0, UINT64_MAX);
		while ((n = stream_next(s, &data)) > 0) {
			if (!at)
				assert_int_equal(ftruncate(fd, 5000000), 0);
			at += (uint64_t)n;
		}
		assert_int_equal(n, 0);
		/* A read that was under way may have found the old length. */
		assert_true(at >= 5000000 && at <= size);
		stream_free(&s);
	}
}

static void a_stream_with_reads_under_way_can_be_freed(void **state)
{
	auto_close int fd = file_of(20 * STREAM_PIECE);
	struct stream *s = stream_new(fd, UINT64_MAX, false);
	const unsigned char *data;

	(void)state;
	stream_range(s, 0, UINT64_MAX);
	assert_int_equal(stream_next(s, &data), STREAM_PIECE);
	stream_free(&s);
}

#define T(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_threads_write_is_in_the_file),
		T(a_very_long_file_is_whole),
		T(writes_that_are_cut_off_or_interrupted_are_made_whole),
		T(any_write_that_fails_is_told),
		T(a_disk_that_is_full_is_told),
		T(a_failed_sync_is_told_and_not_tried_again),
		T(a_sync_that_never_began_is_made),
		T(files_of_all_lengths_are_read),
		T(reads_that_end_early_or_fail_are_made_again),
		T(what_cannot_be_read_is_told),
		T(a_file_that_shrinks_ends_where_it_ends),
		T(a_stream_with_reads_under_way_can_be_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
