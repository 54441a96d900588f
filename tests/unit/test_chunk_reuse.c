/* Reuse of the chunks of a long file's previous version, by their
 * authentication tags. */
/* users: one */
/* link: -Wl,--wrap=chunk_mac_new */
#include "snapshot/store/store_dir.c"
#include "snapshot/store/longfile.c"

#include "snapshot/walk/take.h"
#include "snapshot/store/chunk.h"
#include "snapshot/store/chunklist.h"
#include "snapshot/store/content.h"
#include "snapshot/store/stream.h"
#include "tests/unit/collision.h"
#include "tests/unit/skip.h"
#include "tests/unit/storetest.h"
#include "snapshot/store/store_private.h"

#define LEN ((size_t)12 << 20)

static bool without_crypto;

struct chunk_mac *
__real_chunk_mac_new(const unsigned char key[CHUNK_MAC_KEY_LEN]);
struct chunk_mac *
__wrap_chunk_mac_new(const unsigned char key[CHUNK_MAC_KEY_LEN]);
struct chunk_mac *
__wrap_chunk_mac_new(const unsigned char key[CHUNK_MAC_KEY_LEN])
{
	return without_crypto ? NULL : __real_chunk_mac_new(key);
}

struct lab {
	struct box *box;
	struct store *store;
	struct chunk_mac_cache *chunk_mac_cache;
	char *path; /* the file with the tags */
	int fd; /* the file */
	struct oid before;
};

static struct lab lab_new(struct box *box, const void *secret)
{
	struct lab lab = {.box = box};
	auto_free char *name = mem_printf("%s/file", box->dir);
	struct err err;

	without_crypto = false;
	marked_len = (uint64_t)8 << 20;
	if (secret)
		ok(store_dir_create(box->store, HASH_XXH3_128, secret, &err));
	ok(store_open(&lab.store, box->store, STORE_WRITE, &err));
	lab.path = mem_printf("%s/marks", box->dir);
	lab.chunk_mac_cache = chunk_mac_cache_new(lab.path);
	lab.fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(lab.fd >= 0);
	return lab;
}

static void lab_done(struct lab *lab)
{
	store_free(&lab->store);
	chunk_mac_cache_free(&lab->chunk_mac_cache);
	free(lab->path);
	(void)close(lab->fd);
}

static struct oid put_file(struct lab *lab, bool known)
{
	struct longfile_hints k = {lab->chunk_mac_cache, &lab->before};
	struct err err;
	struct stat st;
	struct oid id;
	uint64_t size;

	ok(content_put(lab->store, lab->fd, known ? &k : NULL, &id, &size,
		       &err));
	assert_int_equal(fstat(lab->fd, &st), 0);
	assert_int_equal(size, st.st_size);
	return id;
}

/* The number of bytes in chunks that were passed to the store. */
static uint64_t put_again(struct lab *lab)
{
	struct store_stats before, after;
	struct err err;

	before = lab->store->stats;
	lab->before = put_file(lab, true);
	after = lab->store->stats;
	assert_int_equal(
		content_equal(lab->store, &lab->before, lab->fd, NULL, &err),
		1);
	return after.put_bytes - before.put_bytes;
}

static void fill(const struct lab *lab, uint64_t seed, size_t len)
{
	auto_free unsigned char *data = bytes_make(seed * 2, len);

	assert_int_equal(fd_pwrite(lab->fd, data, len, 0), 0);
}

static void need_marks(void)
{
	struct chunk_mac *m = chunk_mac_new(public_secret);

	assert_non_null(m); /* tests/install-deps installs libcrypto */
	chunk_mac_free(&m);
}

static void a_mark_is_the_tag_that_the_standard_says(void **state)
{
	/* Test case 1 of GCM's specification has no data; this is GMAC of 16
	 * zeros under a key of zeros, as openssl computes it. */
	static const unsigned char key[CHUNK_MAC_KEY_LEN], zeros[16];
	static const unsigned char want[CHUNK_MAC_LEN] = {
		0x58, 0xe2, 0xfc, 0xce, 0xfa, 0x7e, 0x30, 0x61,
		0x36, 0x7f, 0x1d, 0x57, 0xa4, 0xe7, 0x45, 0x5a};
	unsigned char mark[CHUNK_MAC_LEN], again[CHUNK_MAC_LEN];
	struct chunk_mac *m;

	(void)state;
	need_marks();
	m = chunk_mac_new(key);
	chunk_mac_begin(m);
	assert_true(chunk_mac_end(m, mark));
	assert_memory_equal(mark, want, CHUNK_MAC_LEN);
	/* In pieces as well as at once. */
	chunk_mac_begin(m);
	chunk_mac_add(m, "abcdefgh", 3);
	chunk_mac_add(m, "defgh", 5);
	assert_true(chunk_mac_end(m, mark));
	chunk_mac_begin(m);
	chunk_mac_add(m, "abcdefgh", 8);
	assert_true(chunk_mac_end(m, again));
	assert_memory_equal(mark, again, CHUNK_MAC_LEN);
	chunk_mac_begin(m);
	chunk_mac_add(m, zeros, 16);
	assert_true(chunk_mac_end(m, again));
	assert_memory_not_equal(mark, again, CHUNK_MAC_LEN);
	chunk_mac_free(&m);
}

static void what_did_not_change_is_neither_cut_nor_compared(void **state)
{
	struct lab lab = lab_new(*state, NULL);
	uint64_t asked;

	need_marks();
	fill(&lab, 1, LEN);
	assert_true(put_again(&lab) > LEN);
	asked = put_again(&lab);
	assert_true(asked < 10000); /* the list alone */
	assert_int_equal(fd_pwrite(lab.fd, "x", 1, 5000000), 0);
	asked = put_again(&lab);
	assert_true(asked > 0 && asked < 2 << 20);
	/* Moved data is cut again, and its chunks are recognized by their tags.
	 */
	fill(&lab, 2, 4 << 20);
	(void)put_again(&lab);
	{
		auto_free unsigned char *data = mem_alloc(LEN);

		assert_int_equal(fd_pread(lab.fd, data, LEN, 0), LEN);
		assert_int_equal(fd_pwrite(lab.fd, "moved", 5, 0), 0);
		assert_int_equal(fd_pwrite(lab.fd, data, LEN, 5), 0);
	}
	asked = put_again(&lab);
	assert_true(asked < 3 << 20);
	lab_done(&lab);
}

/* The edits of the next test, at a place and of a length. */
static void edit(const struct lab *lab, unsigned int kind, uint64_t at,
		 size_t len)
{
	auto_free unsigned char *data = mem_alloc(LEN * 2);
	ssize_t have = fd_pread(lab->fd, data, LEN * 2, 0);
	size_t rest;

	assert_true(have > 0);
	at %= (uint64_t)have;
	rest = (size_t)have - at;
	switch (kind) {
	case 0: /* other bytes */
		memset(data + at, 'e', len < rest ? len : rest);
		assert_int_equal(fd_pwrite(lab->fd, data, (size_t)have, 0), 0);
		break;
	case 1: /* zeros, which may become a hole */
	case 2:
		memset(data + at, 0, len < rest ? len : rest);
		assert_int_equal(fd_pwrite(lab->fd, data, (size_t)have, 0), 0);
		break;
	case 3: /* taken out */
		len = len < rest / 2 ? len : rest / 2;
		assert_int_equal(
			fd_pwrite(lab->fd, data + at + len, rest - len, at), 0);
		assert_int_equal(ftruncate(lab->fd, have - (off_t)len), 0);
		break;
	case 4: /* put in */
		assert_int_equal(fd_pwrite(lab->fd, data + at, rest, at + len),
				 0);
		break;
	case 5: /* a hole on the disk */
		assert_true(fallocate(lab->fd, 3, (off_t)(at & ~4095ull),
				      (off_t)(len | 1)) == 0 ||
			    errno == EOPNOTSUPP);
		break;
	case 6: /* longer, by a hole */
		assert_int_equal(ftruncate(lab->fd, have + (off_t)len), 0);
		break;
	default: /* shorter */
		assert_int_equal(
			ftruncate(lab->fd,
				  have - (off_t)(len < rest / 2 ? len
								: rest / 2)),
			0);
	}
}

static void the_list_is_the_same_with_a_past_and_without(void **state)
{
	static const size_t lens[] = {1,     4096,   40000,  65536,
				      65537, 140000, 300000, 1500000};
	struct lab lab = lab_new(*state, NULL);
	uint64_t v = 88172645463325252u;
	struct oid without;
	int i;

	fill(&lab, 3, LEN);
	(void)put_again(&lab);
	for (i = 0; i < 40; i++) {
		struct stat st;

		v ^= v << 13;
		v ^= v >> 7;
		v ^= v << 17;
		edit(&lab, v % 8, v >> 16, lens[v >> 8 & 7]);
		if (i % 3 == 0) /* some at once */
			edit(&lab, v >> 3 & 7, v >> 20, lens[v >> 11 & 7]);
		assert_int_equal(fstat(lab.fd, &st), 0);
		if (st.st_size < 9 << 20)
			fill(&lab, 4 + (uint64_t)i, LEN);
		without = put_file(&lab, false);
		(void)put_again(&lab);
		if (!oid_equal(&without, &lab.before))
			fail_msg("edit %d gives another list", i);
	}
	lab_done(&lab);
}

static void zeros_that_meet_zeros_make_the_same_hole(void **state)
{
	struct lab lab = lab_new(*state, NULL);
	struct oid without;
	size_t k;

	/* Zeros of just less than a hole on each side of the edit. */
	for (k = 1; k < 24; k++) {
		auto_free unsigned char *zeros = mem_zalloc(200000);
		uint64_t at = 4000000 & ~4095ull;

		fill(&lab, 50, LEN);
		assert_int_equal(fd_pwrite(lab.fd, zeros, 15 * 4096, at), 0);
		assert_int_equal(fd_pwrite(lab.fd, zeros, 15 * 4096,
					   at + (15 + k) * 4096),
				 0);
		(void)put_again(&lab);
		assert_int_equal(
			fd_pwrite(lab.fd, zeros, k * 4096, at + 15 * 4096), 0);
		without = put_file(&lab, false);
		(void)put_again(&lab);
		assert_true(oid_equal(&without, &lab.before));
	}
	lab_done(&lab);
}

static void a_forged_twin_of_a_chunk_is_not_taken_for_it(void **state)
{
	auto_free unsigned char *a = fixture("original"),
				*b = fixture("forged");
	auto_free unsigned char *data = bytes_make(2, LEN);
	unsigned char one[HASH_LEN], two[HASH_LEN];
	struct lab lab = lab_new(*state, public_secret);
	AUTO(chunklist) struct chunklist list = {0};
	struct hash_key key;
	struct gear gear;
	struct oid first;
	struct err err;
	size_t len;

	need_marks();
	memcpy(data, a, 4096);
	assert_int_equal(fd_pwrite(lab.fd, data, LEN, 0), 0);
	(void)put_again(&lab);
	first = lab.before;
	gear_make(&gear, public_secret);
	len = chunk_cut(&gear, data, LEN);
	hash_key_make(&key, HASH_XXH3_128, public_secret);
	hash_keyed(&key, data, len, one);
	memcpy(data, b, 4096);
	hash_keyed(&key, data, len, two);
	assert_memory_equal(one, two, HASH_LEN); /* equal in the store */
	assert_int_equal(fd_pwrite(lab.fd, b, 4096, 0), 0);
	(void)put_again(&lab); /* compares the bytes */
	assert_false(oid_equal(&first, &lab.before));
	ok(chunklist_load(lab.store, &lab.before, &list, &err));
	check_get(lab.store, &list.runs[0].id, data, len);
	chunklist_free(&list);
	memcpy(data, a, 4096);
	ok(chunklist_load(lab.store, &first, &list, &err));
	check_get(lab.store, &list.runs[0].id, data, len);
	lab_done(&lab);
}

static void marks_last_until_the_next_snapshot(void **state)
{
	struct lab lab = lab_new(*state, NULL);
	struct oid first;
	struct err err;
	struct stat st;

	need_marks();
	fill(&lab, 5, LEN);
	(void)put_again(&lab);
	first = lab.before;
	ok(chunk_mac_cache_save(lab.chunk_mac_cache, &err));
	chunk_mac_cache_free(&lab.chunk_mac_cache);
	lab.chunk_mac_cache = chunk_mac_cache_new(lab.path);
	assert_true(put_again(&lab) < 10000);
	/* Without a change no tags are written. */
	assert_int_equal(unlink(lab.path), 0);
	ok(chunk_mac_cache_save(lab.chunk_mac_cache, &err));
	assert_int_equal(stat(lab.path, &st), -1);
	/* The tags of older versions are removed. */
	assert_int_equal(fd_pwrite(lab.fd, "x", 1, 5000000), 0);
	(void)put_again(&lab);
	ok(chunk_mac_cache_save(lab.chunk_mac_cache, &err));
	chunk_mac_cache_free(&lab.chunk_mac_cache);
	lab.chunk_mac_cache = chunk_mac_cache_new(lab.path);
	assert_true(put_again(&lab) < 10000);
	lab.before = first;
	assert_true(put_again(&lab) > LEN);
	lab_done(&lab);
}

static void damaged_marks_are_none(void **state)
{
	struct lab lab = lab_new(*state, NULL);
	AUTO(buf) struct buf good = {0};
	struct err err;
	size_t i;

	need_marks();
	fill(&lab, 6, LEN);
	(void)put_again(&lab);
	ok(chunk_mac_cache_save(lab.chunk_mac_cache, &err));
	ok(fd_slurp_at(AT_FDCWD, lab.path, 1 << 20, &good, &err));
	for (i = 0; i <= 20; i++) {
		size_t at = good.len * i / 20;
		int fd = open(lab.path, O_WRONLY | O_TRUNC | O_CLOEXEC);

		/* A flipped byte, or a truncated file. */
		if (i % 2 && at < good.len) {
			good.data[at] ^= 1;
			assert_int_equal(fd_write(fd, good.data, good.len), 0);
			good.data[at] ^= 1;
		} else {
			assert_int_equal(
				fd_write(fd, good.data, at < good.len ? at : 0),
				0);
		}
		(void)close(fd);
		chunk_mac_cache_free(&lab.chunk_mac_cache);
		lab.chunk_mac_cache = chunk_mac_cache_new(lab.path);
		assert_null(chunk_mac_cache_find(lab.chunk_mac_cache,
						 &lab.before, 1));
		if (i % 7 == 0)
			assert_true(put_again(&lab) > LEN);
	}
	lab_done(&lab);
}

static void without_a_library_bytes_are_compared(void **state)
{
	struct lab lab = lab_new(*state, NULL);
	struct oid first;

	need_marks();
	fill(&lab, 7, LEN);
	without_crypto = true;
	assert_true(put_again(&lab) > LEN);
	first = lab.before;
	assert_true(put_again(&lab) > LEN);
	assert_true(oid_equal(&first, &lab.before));
	without_crypto = false;
	(void)put_again(&lab);
	assert_true(oid_equal(&first, &lab.before));
	assert_true(put_again(&lab) < 10000);
	lab_done(&lab);
}

/* Removes the file from the page cache; false if the file system keeps it. */
static bool drop_file(const struct lab *lab)
{
	struct stat st;

	assert_int_equal(fstat(lab->fd, &st), 0);
	assert_int_equal(fsync(lab->fd), 0);
	assert_int_equal(posix_fadvise(lab->fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	return !stream_is_cached(lab->fd, (uint64_t)st.st_size);
}

static void what_is_not_in_memory_does_not_come_into_it(void **state)
{
	struct lab lab = lab_new(*state, NULL);
	int round;

	fill(&lab, 8, LEN);
	assert_int_equal(fd_pwrite(lab.fd, "odd", 3, LEN), 0);
	if (!drop_file(&lab) || !stream_direct(lab.fd, true)) {
		lab_done(&lab);
		skip_because("no O_DIRECT on this file system");
	}
	assert_true(stream_direct(lab.fd, false));
	for (round = 0; round < 2; round++) {
		lab.before = put_file(&lab, true);
		assert_false(stream_is_cached(lab.fd, LEN));
		assert_int_equal(fcntl(lab.fd, F_GETFL) & O_DIRECT, 0);
	}
	/* With plain calls, at the end of the file too. */
	ring_forbid(true);
	assert_true(put_again(&lab) < 10000);
	assert_true(stream_is_cached(lab.fd, LEN)); /* compared above */
	lab_done(&lab);
}

/* Takes a snapshot of the directory; returns the number of stored bytes. */
static uint64_t take(const struct lab *lab, const char *root, const char *cache,
		     struct oid *ret_file)
{
	struct take_options o = {
		.root_path = root,
		.root_fd = -1,
		.cache_path = cache,
		.reason = "manual",
	};
	AUTO(snapshot) struct snapshot s = {0};
	AUTO(entry) struct entry e = {0};
	struct store_stats before, after;
	struct err err;

	before = lab->store->stats;
	ok(take_snapshot(lab->store, &o, &s, &err));
	after = lab->store->stats;
	assert_int_equal(s.note_count, 0);
	assert_int_equal(tree_lookup(lab->store, &s.root, "long", &e, &err), 1);
	*ret_file = e.content;
	return after.put_bytes - before.put_bytes;
}

static void a_snapshot_knows_the_file_of_the_one_before(void **state)
{
	struct box *box = *state;
	struct lab lab = lab_new(box, NULL);
	auto_free char *root = mem_printf("%s/tree", box->dir);
	auto_free char *cache = mem_printf("%s/cache", box->dir);
	auto_free char *file = mem_printf("%s/long", root);
	auto_free char *chunk_mac_cache = mem_printf("%s-marks", cache);
	auto_free unsigned char *data = bytes_make(2, LEN);
	auto_close int fd = -1;
	struct oid id, old;
	struct err err;
	int i;

	need_marks();
	assert_int_equal(mkdir(root, 0755), 0);
	fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(fd_write(fd, data, LEN), 0);
	assert_true(take(&lab, root, cache, &old) > LEN);
	for (i = 0; i < 3; i++) {
		assert_int_equal(fd_pwrite(fd, &i, 1, 3000000), 0);
		assert_true(take(&lab, root, cache, &id) < 3 << 20);
		assert_int_equal(content_equal(lab.store, &id, fd, NULL, &err),
				 1);
		assert_false(oid_equal(&id, &old));
	}
	/* Without its cache no tag is used, nor with a damaged cache. */
	assert_int_equal(truncate(chunk_mac_cache, 100), 0);
	assert_int_equal(fd_pwrite(fd, "x", 1, 3000000), 0);
	assert_true(take(&lab, root, cache, &id) > LEN);
	assert_int_equal(unlink(cache), 0);
	assert_true(take(&lab, root, cache, &id) > LEN);
	assert_int_equal(content_equal(lab.store, &id, fd, NULL, &err), 1);
	lab_done(&lab);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_mark_is_the_tag_that_the_standard_says),
		T(what_did_not_change_is_neither_cut_nor_compared),
		T(the_list_is_the_same_with_a_past_and_without),
		T(zeros_that_meet_zeros_make_the_same_hole),
		T(a_forged_twin_of_a_chunk_is_not_taken_for_it),
		T(marks_last_until_the_next_snapshot),
		T(damaged_marks_are_none),
		T(without_a_library_bytes_are_compared),
		T(what_is_not_in_memory_does_not_come_into_it),
		T(a_snapshot_knows_the_file_of_the_one_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
