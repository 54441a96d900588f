/* Packs: all data from the disk is checked. */
/* users: one */
#include "snapshot/store/pack.c"

#include "snapshot/store/compress.h"
#include "tests/unit/storetest.h"

#define OBJECTS 6

static size_t object_len(int i)
{
	return i % 3 == 2 ? 66000 : 40 + 100 * i;
}

/* A store with one pack of data and one of trees, each small enough to damage
 * every byte of it: two small objects in a block, and a single one. */
static void make_store(const struct box *box, struct oid ids[OBJECTS])
{
	struct store *s;
	struct err err;
	int i;

	ok(store_open(&s, box->store, STORE_WRITE, &err));
	for (i = 0; i < OBJECTS; i++) {
		auto_free unsigned char *data = bytes_make(1, object_len(i));

		memset(data + 20, 'a' + i, object_len(i) - 20);
		ok(store_put(s, i < 3 ? OBJECT_DATA : OBJECT_TREE, data,
			     object_len(i), &ids[i], &err));
	}
	ok(store_flush(s, &err));
	store_free(&s);
}

/* Every object is correct or is reported as damaged; returns how many are
 * correct. */
static int count_right(const struct box *box, const struct oid ids[OBJECTS])
{
	struct store *s;
	struct err err;
	int i, right = 0;

	ok(store_open(&s, box->store, STORE_READ, &err));
	for (i = 0; i < OBJECTS; i++) {
		auto_free unsigned char *data = bytes_make(1, object_len(i));
		AUTO(buf) struct buf b = {0};
		int got = store_get(s, &ids[i], &b, &err);

		memset(data + 20, 'a' + i, object_len(i) - 20);
		if (got == 0) {
			assert_int_equal(b.len, object_len(i));
			assert_memory_equal(b.data, data, b.len);
			right++;
		} else {
			assert_int_equal(got, -EBADMSG);
			assert_int_equal(b.len, 0);
		}
	}
	store_free(&s);
	return right;
}

/* Opens the packs for writing whatever their mode; returns how many. */
static int open_packs(const struct box *box, int fds[2])
{
	auto_free char *path = mem_printf("%s/packs", box->store);
	auto_close int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirlist list = {0};
	struct err err;
	size_t i;

	ok(dirlist_read(dir, &list, &err));
	assert_int_equal(list.count, 2);
	for (i = 0; i < 2; i++) {
		struct stat st;
		const char *name = list.items[i].name;

		assert_int_equal(fstatat(dir, name, &st, 0), 0);
		assert_int_equal(st.st_mode & 07777, 0400);
		assert_int_equal(fchmodat(dir, name, 0600, 0), 0);
		fds[i] = openat(dir, name, O_RDWR | O_CLOEXEC);
		assert_true(fds[i] >= 0);
	}
	dirlist_free(&list);
	return 2;
}

static size_t length_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (size_t)st.st_size;
}

static void any_flipped_byte_is_seen_or_does_no_harm(void **state)
{
	struct box *box = *state;
	struct oid ids[OBJECTS];
	int fds[2], i, right, seen = 0, harmless = 0;
	size_t at;

	make_store(box, ids);
	assert_int_equal(count_right(box, ids), OBJECTS);
	assert_int_equal(open_packs(box, fds), 2);
	for (i = 0; i < 2; i++) {
		for (at = 0; at < length_of(fds[i]); at++) {
			unsigned char old, new;

			assert_int_equal(fd_pread(fds[i], &old, 1, at), 1);
			new = old ^ (unsigned char)(1u << at % 8);
			assert_int_equal(fd_pwrite(fds[i], &new, 1, at), 0);
			right = count_right(box, ids);
			/* The other pack is not affected. */
			assert_in_range(right, OBJECTS / 2, OBJECTS);
			if (right == OBJECTS)
				harmless++;
			else
				seen++;
			assert_int_equal(fd_pwrite(fds[i], &old, 1, at), 0);
		}
		(void)close(fds[i]);
	}
	/* Records are lost; the header, index and footer are not needed or can
	 * be rebuilt. */
	assert_true(seen > 200);
	assert_true(harmless > 2000);
	assert_int_equal(count_right(box, ids), OBJECTS);
}

static void any_cut_is_seen_and_spares_what_is_before_it(void **state)
{
	struct box *box = *state;
	struct oid ids[OBJECTS];
	int fds[2], right, last = 0;
	size_t at, len;
	auto_free unsigned char *copy = NULL;

	make_store(box, ids);
	assert_int_equal(open_packs(box, fds), 2);
	len = length_of(fds[0]);
	copy = mem_alloc(len);
	assert_int_equal(fd_pread(fds[0], copy, len, 0), len);
	for (at = 0; at < len; at++) {
		assert_int_equal(ftruncate(fds[0], (off_t)at), 0);
		assert_int_equal(fd_pwrite(fds[0], copy, at, 0), 0);
		right = count_right(box, ids);
		assert_true(right >= last);
		last = right;
	}
	/* Without a footer: all records are found. */
	assert_int_equal(last, OBJECTS);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void damaged_bytes_can_be_put_again(void **state)
{
	struct box *box = *state;
	struct oid ids[OBJECTS], again;
	auto_free unsigned char *data = bytes_make(1, object_len(0));
	unsigned char junk[300];
	struct store *s;
	struct err err;
	int fds[2];

	make_store(box, ids);
	assert_int_equal(open_packs(box, fds), 2);
	memset(junk, 0x55, sizeof(junk));
	assert_int_equal(fd_pwrite(fds[0], junk, sizeof(junk), 64 + 56), 0);
	assert_true(count_right(box, ids) < OBJECTS);
	memset(data + 20, 'a', object_len(0) - 20);
	ok(store_open(&s, box->store, STORE_WRITE, &err));
	ok(store_put(s, OBJECT_DATA, data, object_len(0), &again, &err));
	ok(store_flush(s, &err));
	store_free(&s);
	ok(store_open(&s, box->store, STORE_READ, &err));
	check_get(s, &again, data, object_len(0));
	store_free(&s);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void a_scan_finds_what_the_index_says(void **state)
{
	struct box *box = *state;
	auto_free char *path = mem_printf("%s/packs", box->store);
	auto_close int dir = -1;
	struct dirlist list = {0};
	struct oid ids[OBJECTS];
	unsigned char header[64];
	struct err err;
	int fds[2], i;

	make_store(box, ids);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(dirlist_read(dir, &list, &err));
	assert_int_equal(open_packs(box, fds), 2);
	for (i = 0; i < 2; i++) {
		struct pack *p;
		struct pack_entry e;
		struct pack_entries found = {0};
		uint32_t k;

		assert_int_equal(fd_pread(fds[i], header, 64, 0), 64);
		ok(pack_open(dir, list.items[i].name, header + 16, false, &p,
			     &err));
		assert_false(pack_damaged(p));
		assert_int_equal(pack_count(p), 3);
		assert_int_equal(pack_scan(p, &found), 0);
		assert_int_equal(found.count, 3);
		for (k = 0; k < 3; k++) {
			assert_true(found.items[k].id.len > 0);
			assert_true(pack_get(p, k, &e));
			assert_int_equal(pack_find(p, e.id.hash), k);
		}
		free(found.items);
		pack_free(&p);
		header[16] ^= 1; /* another store's */
		assert_int_equal(pack_open(dir, list.items[i].name, header + 16,
					   false, &p, &err),
				 -EBADMSG);
		(void)close(fds[i]);
	}
	dirlist_free(&list);
}

static void only_what_shrinks_is_compressed(void **state)
{
	auto_free unsigned char *noise = bytes_make(2, 100000);
	auto_free unsigned char *text = bytes_make(1, 100000);
	auto_free unsigned char *back = mem_alloc(100000);
	const void *packed;
	size_t len;

	(void)state;
	assert_null(compress_bytes(noise, 100000, true, &len));
	assert_null(compress_bytes(noise, 100000, false, &len));
	packed = compress_bytes(text, 100000, true, &len);
	assert_non_null(packed);
	assert_true(len < 60000);
	assert_true(decompress_bytes(back, 100000, packed, len));
	assert_memory_equal(back, text, 100000);
	assert_false(decompress_bytes(back, 99999, packed, len));
	assert_false(decompress_bytes(back, 100000, packed, len - 1));
	assert_false(decompress_bytes(back, 100000, noise, 1000));
	/* The beginning decides whether the object is compressed. */
	memcpy(text, noise, 40000);
	assert_null(compress_bytes(text, 100000, true, &len));
	assert_non_null(compress_bytes(text, 100000, false, &len));
}

static void line(unsigned char *at, uint32_t len, uint8_t type)
{
	block_table_add(at,
			&(struct pack_entry){.id = {.len = len, .type = type}});
}

static int block_of_two(const unsigned char *block, size_t len, uint32_t count)
{
	static const struct pack_entry record = {.offset = 64};
	struct pack_entries list = {0};
	struct err err;
	int got = block_entries(block, len, count, &record, &list, &err);

	if (got == 0) {
		assert_int_equal(list.count, 2);
		assert_int_equal(list.items[1].inner, 4);
		assert_int_equal(list.items[1].id.len, 6);
	}
	free(list.items);
	return got;
}

static void tables_of_blocks_that_do_not_fit_are_refused(void **state)
{
	unsigned char block[10 + 2 * BLOCK_TABLE_ENTRY] = "0123456789";
	unsigned char *table = block + 10;

	(void)state;
	line(table, 4, 1);
	line(table + BLOCK_TABLE_ENTRY, 6, 2);
	assert_int_equal(block_of_two(block, sizeof(block), 2), 0);
	assert_int_equal(block_of_two(block, sizeof(block), 3), -EBADMSG);
	line(table + BLOCK_TABLE_ENTRY, 7, 2);
	assert_int_equal(block_of_two(block, sizeof(block), 2), -EBADMSG);
	line(table + BLOCK_TABLE_ENTRY, 5, 2);
	assert_int_equal(block_of_two(block, sizeof(block), 2), -EBADMSG);
	line(table, UINT32_MAX, 1);
	assert_int_equal(block_of_two(block, sizeof(block), 2), -EBADMSG);
	line(table, 4, 9);
	assert_int_equal(block_of_two(block, sizeof(block), 2), -EBADMSG);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(any_flipped_byte_is_seen_or_does_no_harm),
		T(any_cut_is_seen_and_spares_what_is_before_it),
		T(damaged_bytes_can_be_put_again),
		T(a_scan_finds_what_the_index_says),
		cmocka_unit_test(only_what_shrinks_is_compressed),
		cmocka_unit_test(tables_of_blocks_that_do_not_fit_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
