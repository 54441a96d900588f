/* Contents of files: in one piece, in chunks, with holes; stored and restored.
 */
/* users: one */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/dirtree.h"
#include "snapshot/store/chunk.h"
#include "snapshot/store/chunklist.h"
#include "snapshot/store/content.h"
#include "tests/unit/snap_fixture.h"
#include "snapshot/store/store_private.h"

static int new_file(const struct box *box)
{
	auto_free char *path = mem_printf("%s/fileXXXXXX", box->dir);
	int fd = mkostemp(path, O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	return fd;
}

/* Random bytes, none of them zero. */
static unsigned char *noise(uint64_t seed, size_t len)
{
	unsigned char *data = mem_alloc(len + 1);
	uint64_t v = (seed + 1) * 0x9e3779b97f4a7c15u;
	size_t i;

	for (i = 0; i < len; i++) {
		v ^= v << 13;
		v ^= v >> 7;
		v ^= v << 17;
		data[i] = (unsigned char)(v >> 32) | 1;
	}
	return data;
}

static uint64_t blocks_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

struct gather {
	struct buf b;
};

static int gather_each(void *arg, const void *data, size_t len, struct err *err)
{
	struct gather *g = arg;

	(void)err;
	buf_add(&g->b, data, len);
	return 0;
}

/* Stores the file, and restores it in every way. */
static struct oid round_trip(struct box *box, int fd, const void *data,
			     size_t len)
{
	struct gather g = {0};
	struct oid id, again;
	struct err err;
	uint64_t size;
	auto_close int out = new_file(box);
	auto_free unsigned char *read = mem_alloc(len + 1);

	ok(content_put(box->store, fd, NULL, &id, &size, &err));
	assert_int_equal(size, len);
	ok(content_put_bytes(box->store, data, len, &again, &err));
	assert_true(oid_equal(&id, &again));
	ok(content_write(box->store, &id, out, NULL, &err));
	assert_int_equal(fd_pread(out, read, len + 1, 0), len);
	assert_memory_equal(read, data, len);
	ok(content_each(box->store, &id, gather_each, &g, &err));
	assert_int_equal(g.b.len, len);
	if (len)
		assert_memory_equal(g.b.data, data, len);
	buf_free(&g.b);
	assert_int_equal(content_equal(box->store, &id, out, NULL, &err), 1);
	assert_int_equal(content_equal(box->store, &id, fd, NULL, &err), 1);
	return id;
}

static void files_of_all_lengths_come_back(void **state)
{
	static const size_t sizes[] = {0,	1,	 4096,	  65536,
				       1048575, 1048576, 1048577, 1052672,
				       3000000, 9000000};
	struct box *box = *state;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		auto_close int fd = new_file(box);
		auto_free unsigned char *data = noise(i, sizes[i]);
		struct oid id;

		assert_int_equal(fd_write(fd, data, sizes[i]), 0);
		id = round_trip(box, fd, data, sizes[i]);
		assert_int_equal(id.type, !sizes[i] ? OBJECT_NONE
					  : sizes[i] <= CONTENT_SINGLE_MAX
						  ? OBJECT_DATA
						  : OBJECT_CHUNKLIST);
	}
}

static void a_difference_anywhere_is_seen(void **state)
{
	static const size_t sizes[] = {5000, 1048576, 4000000};
	struct box *box = *state;
	struct err err;
	size_t i, k;

	for (i = 0; i < 3; i++) {
		auto_close int fd = new_file(box);
		auto_free unsigned char *data = noise(i, sizes[i]);
		size_t places[] = {0, sizes[i] / 2, sizes[i] - 1};
		struct oid id;
		uint64_t size;

		assert_int_equal(fd_write(fd, data, sizes[i]), 0);
		ok(content_put(box->store, fd, NULL, &id, &size, &err));
		for (k = 0; k < 3; k++) {
			unsigned char c = data[places[k]] ^ 2;

			assert_int_equal(fd_pwrite(fd, &c, 1, places[k]), 0);
			assert_int_equal(
				content_equal(box->store, &id, fd, NULL, &err),
				0);
			assert_int_equal(
				fd_pwrite(fd, data + places[k], 1, places[k]),
				0);
			assert_int_equal(
				content_equal(box->store, &id, fd, NULL, &err),
				1);
		}
		assert_int_equal(ftruncate(fd, (off_t)sizes[i] + 1), 0);
		assert_int_equal(content_equal(box->store, &id, fd, NULL, &err),
				 0);
	}
}

static void a_sparse_gibibyte_stays_sparse(void **state)
{
	struct box *box = *state;
	auto_close int fd = new_file(box);
	auto_close int out = new_file(box);
	struct store_stats stats;
	struct oid id;
	struct err err;
	uint64_t size;
	struct stat st;

	assert_int_equal(ftruncate(fd, 1 << 30), 0);
	assert_int_equal(fd_pwrite(fd, "one", 3, 300 << 20), 0);
	assert_int_equal(fd_pwrite(fd, "two", 3, 700 << 20), 0);
	ok(content_put(box->store, fd, NULL, &id, &size, &err));
	assert_int_equal(size, 1 << 30);
	stats = box->store->stats;
	assert_true(stats.new_bytes < 100000);
	ok(content_write(box->store, &id, out, NULL, &err));
	assert_int_equal(fstat(out, &st), 0);
	assert_int_equal(st.st_size, 1 << 30);
	assert_true(blocks_of(out) <= 64 << 10);
	assert_int_equal(content_equal(box->store, &id, out, NULL, &err), 1);
	/* A byte in the hole is a difference. */
	assert_int_equal(fd_pwrite(out, "x", 1, 500 << 20), 0);
	assert_int_equal(content_equal(box->store, &id, out, NULL, &err), 0);
}

static void equal_bytes_have_one_name_however_they_lie_on_disk(void **state)
{
	struct box *box = *state;
	auto_close int sparse = new_file(box);
	auto_close int dense = new_file(box);
	size_t len = 5 << 20;
	auto_free unsigned char *data = mem_zalloc(len);
	auto_free unsigned char *some = noise(7, 100000);
	struct oid a, b;

	memcpy(data + 1000000, some, 100000);
	memcpy(data + 3 * 1048576, some, 5000);
	/* Too few zeros for a hole. */
	memcpy(data + 3 * 1048576 + 40960, some, 5000);
	assert_int_equal(ftruncate(sparse, (off_t)len), 0);
	assert_int_equal(fd_pwrite(sparse, some, 100000, 1000000), 0);
	assert_int_equal(fd_pwrite(sparse, some, 5000, 3 * 1048576), 0);
	assert_int_equal(fd_pwrite(sparse, some, 5000, 3 * 1048576 + 40960), 0);
	assert_int_equal(fd_write(dense, data, len), 0);
	assert_true(blocks_of(sparse) < blocks_of(dense));
	a = round_trip(box, sparse, data, len);
	b = round_trip(box, dense, data, len);
	assert_true(oid_equal(&a, &b));
}

static void a_changed_byte_in_100_mb_stores_less_than_2_mb(void **state)
{
	struct box *box = *state;
	size_t len = 100000000;
	auto_free unsigned char *data = noise(3, len + 1);
	struct store_stats before, after;
	struct oid id;
	struct err err;

	ok(content_put_bytes(box->store, data, len, &id, &err));
	before = box->store->stats;
	assert_true(before.stored_bytes > len / 2);
	data[len / 2] ^= 2;
	ok(content_put_bytes(box->store, data, len, &id, &err));
	after = box->store->stats;
	assert_true(after.stored_bytes > before.stored_bytes);
	assert_true(after.stored_bytes - before.stored_bytes < 2000000);
	/* A byte at the start moves all the others. */
	memmove(data + 1, data, len);
	before = after;
	ok(content_put_bytes(box->store, data, len + 1, &id, &err));
	after = box->store->stats;
	assert_true(after.stored_bytes - before.stored_bytes < 2000000);
}

static unsigned int writes_left;

/* The call that writes packs. */
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
	if (writes_left &&
	    __atomic_fetch_sub(&writes_left, 1, __ATOMIC_RELAXED) == 1) {
		errno = EIO;
		return -1;
	}
	return syscall(SYS_pwritev, fd, parts, count, offset, 0L);
}

/* Hook: two threads store its chunks at the same time. */
static void a_long_file_that_cannot_be_written_is_told(void **state)
{
	struct box *box = *state;
	size_t len = 40 << 20;
	auto_free unsigned char *data = noise(4, len);
	unsigned int at;
	struct oid id;
	struct err err;

	for (at = 1; at < 100; at += 24) {
		int got;

		store_free(&box->store);
		ok(dirtree_remove(AT_FDCWD, box->store_root_fd, &err));
		ok(store_open(&box->store, box->store_root_fd, STORE_WRITE,
			      &err));
		writes_left = at;
		got = content_put_bytes(box->store, data, len, &id, &err);
		if (got == 0)
			got = store_flush(box->store, &err);
		writes_left = 0;
		assert_int_equal(got, -EIO);
	}
}

static void chunks_keep_their_bounds(void **state)
{
	struct box *box = *state;
	unsigned char secret[192];
	struct gear gear;
	size_t len = 32 << 20, at, n, count = 0;
	auto_free unsigned char *data = noise(11, len);

	(void)box;
	memset(secret, 7, sizeof(secret));
	gear_make(&gear, secret);
	for (at = 0; at < len; at += n, count++) {
		size_t left = len - at;

		n = chunk_cut(&gear, data + at,
			      left < CHUNK_MAX ? left : CHUNK_MAX);
		assert_true(n > 0 && n <= CHUNK_MAX && n <= left);
		assert_true(n > CHUNK_MIN || n == left);
	}
	assert_in_range(len / count, CHUNK_AVG / 2, CHUNK_AVG * 2);
}

static void damaged_lists_are_refused(void **state)
{
	struct chunklist list = {0}, read;
	struct chunk_run run = {.len = 100000,
				.id = {.type = OBJECT_DATA, .len = 100000}};
	struct chunk_run hole = {.len = 1 << 20, .hole = true};
	AUTO(buf) struct buf b = {0};
	struct err err;
	size_t i;

	(void)state;
	chunklist_add(&list, &run);
	chunklist_add(&list, &hole);
	chunklist_encode(&list, &b);
	chunklist_free(&list);
	ok(chunklist_decode(b.data, b.len, &read, &err));
	assert_int_equal(read.count, 2);
	assert_int_equal(read.size, 100000 + (1 << 20));
	assert_true(read.runs[1].hole);
	chunklist_free(&read);
	for (i = 0; i < b.len; i++) {
		assert_int_equal(chunklist_decode(b.data, i, &read, &err),
				 -EBADMSG);
	}
	b.data[1] ^= 1; /* the size */
	assert_int_equal(chunklist_decode(b.data, b.len, &read, &err),
			 -EBADMSG);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(files_of_all_lengths_come_back),
		T(a_difference_anywhere_is_seen),
		T(a_sparse_gibibyte_stays_sparse),
		T(equal_bytes_have_one_name_however_they_lie_on_disk),
		T(a_changed_byte_in_100_mb_stores_less_than_2_mb),
		T(a_long_file_that_cannot_be_written_is_told),
		T(chunks_keep_their_bounds),
		T(damaged_lists_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
