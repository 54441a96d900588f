/* The store: a stored object is found again, whatever happens in between. */
/* users: one */
#include "snapshot/store/store_dir.c"
#include "snapshot/store/ring.c"

#include <pthread.h>

#include "base/codec.h"
#include "base/record.h"
#include "base/text.h"
#include "snapshot/store/hash.h"
#include "tests/unit/collision.h"
#include "tests/unit/storetest.h"
#include "snapshot/store/store_private.h"

static const size_t sizes[] = {0,      1,	15,	 240,	 241,
			       4096,   16384,	65535,	 65536,	 70000,
			       262144, 1000000, 1048576, 3000000};
#define SIZES (sizeof(sizes) / sizeof(*sizes))
#define KINDS (SIZES * 2)

static void put_all(struct store *s, struct oid *ids)
{
	struct err err;
	size_t i;

	for (i = 0; i < KINDS; i++) {
		unsigned char *data = bytes_make(i, sizes[i / 2]);

		ok(store_put(s, (enum object_type)(1 + i % 4), data,
			     sizes[i / 2], &ids[i], &err));
		free(data);
	}
}

static void get_all(struct store *s, const struct oid *ids)
{
	size_t i;

	for (i = 0; i < KINDS; i++) {
		unsigned char *data = bytes_make(i, sizes[i / 2]);

		assert_int_equal(ids[i].type, 1 + i % 4);
		check_get(s, &ids[i], data, sizes[i / 2]);
		free(data);
	}
}

static struct store *open_store(const struct box *box, enum store_mode mode)
{
	struct store *s;
	struct err err;

	ok(store_open(&s, box->store, mode, &err));
	return s;
}

static size_t count_in(const struct box *box, const char *name)
{
	auto_free char *path = mem_printf("%s/%s", box->store, name);
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirlist list = {0};
	struct err err;
	size_t count;

	ok(dirlist_read(fd, &list, &err));
	count = list.count;
	dirlist_free(&list);
	return count;
}

static mode_t mode_of(const struct box *box, const char *name)
{
	auto_free char *path = mem_printf("%s/%s", box->store, name);
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static void what_was_put_comes_back_before_and_after_a_flush(void **state)
{
	struct box *box = *state;
	struct oid ids[KINDS];
	struct store *s = open_store(box, STORE_WRITE);
	struct err err;

	put_all(s, ids);
	get_all(s, ids);
	ok(store_flush(s, &err));
	get_all(s, ids);
	store_free(&s);
	s = open_store(box, STORE_READ);
	get_all(s, ids);
	store_free(&s);
}

static void known_bytes_cost_no_space(void **state)
{
	struct box *box = *state;
	struct oid ids[KINDS], again[KINDS];
	struct store *s = open_store(box, STORE_WRITE);
	struct store_stats stats;
	struct err err;
	size_t i, packs;

	put_all(s, ids);
	put_all(s, again);
	for (i = 0; i < KINDS; i++)
		assert_true(oid_equal(&ids[i], &again[i]));
	ok(store_flush(s, &err));
	stats = s->stats;
	assert_int_equal(stats.put_objects, 2 * KINDS);
	/* One empty object is stored for each type. */
	assert_int_equal(stats.new_objects, KINDS);
	packs = count_in(box, "packs");
	put_all(s, again);
	ok(store_flush(s, &err));
	store_free(&s);
	s = open_store(box, STORE_WRITE);
	put_all(s, again);
	ok(store_flush(s, &err));
	stats = s->stats;
	assert_int_equal(stats.new_objects, 0);
	assert_int_equal(stats.stored_bytes, 0);
	for (i = 0; i < KINDS; i++)
		assert_true(oid_equal(&ids[i], &again[i]));
	assert_int_equal(count_in(box, "packs"), packs);
	store_free(&s);
}

static void what_is_not_there_is_not_found(void **state)
{
	struct box *box = *state;
	struct store *s = open_store(box, STORE_WRITE);
	AUTO(buf) struct buf b = {0};
	struct oid id;
	struct err err;

	ok(store_put(s, OBJECT_DATA, "abc", 3, &id, &err));
	ok(store_flush(s, &err));
	id.ord = 1;
	assert_int_equal(store_get(s, &id, &b, &err), -ENOENT);
	id.ord = 0;
	id.type = OBJECT_TREE;
	assert_int_equal(store_get(s, &id, &b, &err), -ENOENT);
	id.type = OBJECT_DATA;
	id.hash[3] ^= 1;
	assert_int_equal(store_get(s, &id, &b, &err), -ENOENT);
	assert_false(store_has(s, &id));
	assert_int_equal(b.len, 0);
	store_free(&s);
}

/* Flips a byte in the index of the largest pack, at `share` hundredths of its
 * length. */
static void damage_index(const char *store, unsigned int share)
{
	char path[128], largest[600] = "";
	AUTO(dirlist) struct dirlist list = {0};
	unsigned char footer[8], byte;
	uint64_t offset, size = 0;
	struct stat st;
	struct err err;
	size_t i;
	auto_close int dir = -1;
	auto_close int fd = -1;

	(void)snprintf(path, sizeof(path), "%s/packs", store);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(dirlist_read(dir, &list, &err));
	for (i = 0; i < list.count; i++) {
		assert_return_code(fstatat(dir, list.items[i].name, &st, 0),
				   errno);
		if ((uint64_t)st.st_size <= size)
			continue;
		size = (uint64_t)st.st_size;
		(void)snprintf(largest, sizeof(largest), "%s/%s", path,
			       list.items[i].name);
	}
	assert_return_code(chmod(largest, 0600), errno);
	fd = open(largest, O_RDWR | O_CLOEXEC);
	assert_int_equal(fd_pread(fd, footer, 8, size - 56), 8);
	for (offset = 0, i = 8; i-- > 0;)
		offset = offset << 8 | footer[i];
	offset += (size - 64 - offset) * share / 100;
	assert_int_equal(fd_pread(fd, &byte, 1, offset), 1);
	byte ^= 0x55;
	assert_return_code(fd_pwrite(fd, &byte, 1, offset), errno);
}

static void
what_lies_behind_a_damaged_index_is_found_by_who_only_reads(void **state)
{
	struct box *box = *state;
	struct oid ids[100];
	struct store *s;
	struct err err;
	unsigned int share, i;

	ok(store_open(&s, box->store, STORE_WRITE, &err));
	for (i = 0; i < 100; i++) {
		unsigned char *data = bytes_make(i, 3000);

		ok(store_put(s, OBJECT_DATA, data, 3000, &ids[i], &err));
		free(data);
	}
	ok(store_flush(s, &err));
	store_free(&s);
	/* Fan-out, hashes and places, one after the other. */
	for (share = 3; share < 100; share += 12) {
		damage_index(box->store, share);
		ok(store_open(&s, box->store, STORE_READ, &err));
		for (i = 0; i < 100; i++) {
			unsigned char *data = bytes_make(i, 3000);

			check_get(s, &ids[i], data, 3000);
			free(data);
		}
		store_free(&s);
		damage_index(box->store, share); /* undoes it */
	}
}

/* The number of blocks that hold 200 objects of 1000 bytes. */
static size_t blocks_of(struct box *box, enum object_type type)
{
	struct store *s = open_store(box, STORE_WRITE);
	uint64_t last = UINT64_MAX;
	size_t blocks = 0, i;
	struct oid ids[200];
	struct err err;

	for (i = 0; i < 200; i++) {
		auto_free unsigned char *data = bytes_make(i, 1000);

		ok(store_put(s, type, data, 1000, &ids[i], &err));
	}
	ok(store_flush(s, &err));
	store_free(&s);
	s = open_store(box, STORE_READ);
	for (i = 0; i < 200; i++) {
		assert_true(store_position(s, &ids[i]) < UINT64_MAX);
		blocks += store_position(s, &ids[i]) != last;
		last = store_position(s, &ids[i]);
	}
	store_free(&s);
	return blocks;
}

static void little_is_unpacked_on_the_way_to_a_path(void **state)
{
	assert_int_equal(blocks_of(*state, OBJECT_DATA), 1);
	assert_in_range(blocks_of(*state, OBJECT_TREE), 6, 8);
}

static void a_store_that_is_missing_is_not_made_for_reading(void **state)
{
	struct box *box = *state;
	struct store *s = NULL;
	struct err err;

	assert_int_equal(store_open(&s, box->store, STORE_READ, &err), -ENOENT);
	assert_null(s);
	assert_int_equal(access(box->store, F_OK), -1);
}

static void folders_are_closed_at_rest(void **state)
{
	struct box *box = *state;
	auto_free char *packs = mem_printf("%s/packs", box->store);
	struct store *s = open_store(box, STORE_WRITE);
	struct oid id;
	struct err err;
	int lock;

	assert_int_equal(mode_of(box, "."), 0500);
	assert_int_equal(mode_of(box, "secret"), 0400);
	ok(store_put(s, OBJECT_DATA, "abc", 3, &id, &err));
	ok(store_flush(s, &err));
	assert_int_equal(mode_of(box, "packs"), 0500);
	assert_int_equal(mode_of(box, "snaps"), 0500);
	lock = store_commit_begin(s, &err);
	ok(lock);
	assert_int_equal(mode_of(box, "."), 0700);
	assert_int_equal(mode_of(box, "snaps"), 0700);
	store_commit_end(s, lock);
	assert_int_equal(mode_of(box, "."), 0500);
	assert_int_equal(mode_of(box, "snaps"), 0500);
	store_free(&s);
	/* The state that a killed process leaves. */
	assert_int_equal(chmod(packs, 0700), 0);
	s = open_store(box, STORE_WRITE);
	assert_int_equal(mode_of(box, "packs"), 0500);
	store_free(&s);
}

/* --- collisions --- */

static void files_that_collide_are_both_kept(void **state)
{
	struct box *box = *state;
	auto_free unsigned char *original = fixture("original");
	auto_free unsigned char *forged = fixture("forged");
	unsigned char a[HASH_LEN], b[HASH_LEN];
	struct oid ids[2], again;
	struct hash_key key;
	struct store_stats stats;
	struct store *s;
	struct err err;

	hash_key_make(&key, HASH_XXH3_128, public_secret);
	hash_keyed(&key, original, 4096, a);
	hash_keyed(&key, forged, 4096, b);
	assert_memory_equal(a, b, HASH_LEN);
	assert_memory_not_equal(original, forged, 4096);
	ok(store_dir_create(box->store, HASH_XXH3_128, public_secret, &err));
	assert_int_equal(store_dir_create(box->store, HASH_XXH3_128,
					  public_secret, &err),
			 0);

	s = open_store(box, STORE_WRITE);
	ok(store_put(s, OBJECT_DATA, original, 4096, &ids[0], &err));
	ok(store_flush(s, &err));
	ok(store_put(s, OBJECT_DATA, forged, 4096, &ids[1], &err));
	assert_int_equal(ids[0].ord, 0);
	assert_int_equal(ids[1].ord, 1);
	assert_memory_equal(ids[0].hash, ids[1].hash, HASH_LEN);
	assert_false(oid_equal(&ids[0], &ids[1]));
	stats = s->stats;
	assert_int_equal(stats.collisions, 1);
	check_get(s, &ids[0], original, 4096);
	check_get(s, &ids[1], forged, 4096);
	ok(store_flush(s, &err));
	check_get(s, &ids[0], original, 4096);
	check_get(s, &ids[1], forged, 4096);
	store_free(&s);

	s = open_store(box, STORE_WRITE);
	check_get(s, &ids[0], original, 4096);
	check_get(s, &ids[1], forged, 4096);
	ok(store_put(s, OBJECT_DATA, forged, 4096, &again, &err));
	assert_true(oid_equal(&again, &ids[1]));
	ok(store_put(s, OBJECT_DATA, original, 4096, &again, &err));
	assert_true(oid_equal(&again, &ids[0]));
	stats = s->stats;
	assert_int_equal(stats.new_objects, 0);
	store_free(&s);
}

/* A pair forged for one secret differs in a store with two. */
static void a_forged_pair_differs_under_two_secrets(void **state)
{
	auto_free unsigned char *original = fixture("original");
	auto_free unsigned char *forged = fixture("forged");
	unsigned char a[HASH_LEN], b[HASH_LEN];
	struct hash_key key;

	(void)state;
	hash_key_make(&key, HASH_XXH3_64X2, public_secret);
	hash_keyed(&key, original, 4096, a);
	hash_keyed(&key, forged, 4096, b);
	/* The first halves are equal, the second halves differ. */
	assert_memory_equal(a, b, HASH_LEN / 2);
	assert_memory_not_equal(a + HASH_LEN / 2, b + HASH_LEN / 2,
				HASH_LEN / 2);
}

/* With other hashes all existing stores would become unreadable. */
static void hashes_are_what_they_always_were(void **state)
{
	static const char *const want[] = {"215ec99b0f2fbd4b9ddce2b0dfaf3f1a",
					   "27ad1983f6ad39cec12249bcab0fc3c9"};
	unsigned char hash[HASH_LEN];
	struct hash_key key;
	int kind;

	(void)state;
	for (kind = HASH_XXH3_128; kind <= HASH_XXH3_64X2; kind++) {
		hash_key_make(&key, (enum hash_kind)kind, public_secret);
		hash_keyed(&key, "guard", 5, hash);
		assert_string_equal(text_hex(hash, HASH_LEN), want[kind]);
	}
}

static void files_that_collide_in_two_writers_are_not_mixed_up(void **state)
{
	struct box *box = *state;
	auto_free unsigned char *original = fixture("original");
	auto_free unsigned char *forged = fixture("forged");
	struct oid first, second;
	struct store *a, *b;
	struct err err;

	ok(store_dir_create(box->store, HASH_XXH3_128, public_secret, &err));
	a = open_store(box, STORE_WRITE);
	b = open_store(box, STORE_WRITE);
	ok(store_put(a, OBJECT_DATA, original, 4096, &first, &err));
	ok(store_put(b, OBJECT_DATA, forged, 4096, &second, &err));
	assert_true(oid_equal(&first, &second));
	ok(store_flush(a, &err));
	assert_int_equal(store_flush(b, &err), -EAGAIN);
	store_free(&b);
	assert_int_equal(count_in(box, "packs"), 1);
	b = open_store(box, STORE_WRITE);
	ok(store_put(b, OBJECT_DATA, forged, 4096, &second, &err));
	assert_int_equal(second.ord, 1);
	ok(store_flush(b, &err));
	ok(store_refresh(a, &err));
	check_get(a, &first, original, 4096);
	check_get(a, &second, forged, 4096);
	store_free(&a);
	store_free(&b);
}

/* --- threads and processes --- */

struct worker {
	struct store *store;
	unsigned int number;
	struct oid ids[600];
	bool good;
};

#define WORKER_OBJECTS 600

/* Every third object is stored by both. */
static uint64_t worker_seed(unsigned int number, unsigned int i)
{
	return i % 3 ? 10000 * (number + 1) + i : i;
}

static size_t worker_len(unsigned int i)
{
	return i % 50 ? 100 + 37 * i : 66000 + 500 * i;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct err err;
	unsigned int i;

	w->good = true;
	for (i = 0; i < WORKER_OBJECTS && w->good; i++) {
		size_t len = worker_len(i);
		auto_free unsigned char *data =
			bytes_make(worker_seed(w->number, i), len);
		AUTO(buf) struct buf b = {0};

		w->good = store_put(w->store, OBJECT_DATA, data, len,
				    &w->ids[i], &err) == 0 &&
			  store_get(w->store, &w->ids[i], &b, &err) == 0 &&
			  b.len == len && memcmp(b.data, data, len) == 0;
		if (i % 200 == 199)
			w->good &= store_flush(w->store, &err) == 0;
	}
	return NULL;
}

static void check_worker(struct store *s, const struct worker *w)
{
	unsigned int i;

	assert_true(w->good);
	for (i = 0; i < WORKER_OBJECTS; i++) {
		auto_free unsigned char *data =
			bytes_make(worker_seed(w->number, i), worker_len(i));

		check_get(s, &w->ids[i], data, worker_len(i));
	}
}

static void threads_share_a_store(void **state)
{
	struct box *box = *state;
	struct worker *w = mem_zalloc(3 * sizeof(*w));
	struct store *s = open_store(box, STORE_WRITE);
	struct store_stats stats;
	pthread_t threads[3];
	struct err err;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		w[i].store = s;
		w[i].number = i;
		assert_int_equal(pthread_create(&threads[i], NULL, work, &w[i]),
				 0);
	}
	for (i = 0; i < 3; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	ok(store_flush(s, &err));
	stats = s->stats;
	assert_int_equal(stats.collisions, 0);
	assert_int_equal(stats.new_objects, 3 * 400 + 200);
	for (i = 0; i < 3; i++)
		check_worker(s, &w[i]);
	store_free(&s);
	s = open_store(box, STORE_READ);
	for (i = 0; i < 3; i++)
		check_worker(s, &w[i]);
	store_free(&s);
	free(w);
}

/* Runs in a child: creates the store if necessary, works, returns its ids. */
static void work_in_child(const struct box *box, unsigned int number, int to)
{
	struct worker *w = mem_zalloc(sizeof(*w));
	struct err err;

	w->number = number;
	if (store_open(&w->store, box->store, STORE_WRITE, &err) < 0)
		_exit(2);
	(void)work(w);
	if (store_flush(w->store, &err) < 0)
		_exit(3);
	store_free(&w->store);
	_exit(fd_write(to, w, sizeof(*w)) < 0 ? 4 : 0);
}

static void processes_make_and_fill_one_store_at_once(void **state)
{
	struct box *box = *state;
	struct worker *w = mem_zalloc(sizeof(*w));
	struct store *s;
	int pipes[4][2], status, i;
	pid_t pids[4];

	for (i = 0; i < 4; i++) {
		assert_int_equal(pipe2(pipes[i], O_CLOEXEC), 0);
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (!pids[i])
			work_in_child(box, (unsigned int)i, pipes[i][1]);
		assert_int_equal(close(pipes[i][1]), 0);
	}
	for (i = 0; i < 4; i++) {
		assert_int_equal(fd_read(pipes[i][0], w, sizeof(*w)),
				 sizeof(*w));
		assert_int_equal(close(pipes[i][0]), 0);
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
		s = open_store(box, STORE_READ);
		check_worker(s, w);
		store_free(&s);
	}
	free(w);
}

static void a_writer_at_work_loses_nothing_to_another_that_opens(void **state)
{
	struct box *box = *state;
	auto_free unsigned char *data = bytes_make(2, 100000);
	struct store *a = open_store(box, STORE_WRITE), *b;
	AUTO(buf) struct buf bytes = {0};
	struct oid id;
	struct err err;

	ok(store_put(a, OBJECT_DATA, data, 100000, &id, &err));
	assert_int_equal(count_in(box, "tmp"), 1);
	b = open_store(box, STORE_WRITE);
	assert_int_equal(count_in(box, "tmp"), 1);
	ok(store_flush(a, &err));
	assert_false(store_has(b, &id));
	ok(store_get(b, &id, &bytes, &err));
	check_get(b, &id, data, 100000);
	store_free(&a);
	store_free(&b);
}

static void packs_are_rotated_and_their_objects_stay_found(void **state)
{
	struct box *box = *state;
	struct store *s = open_store(box, STORE_WRITE);
	struct oid ids[150];
	struct err err;
	unsigned int i;

	for (i = 0; i < 150; i++) {
		auto_free unsigned char *data = bytes_make(2 * i, 1 << 20);

		ok(store_put(s, OBJECT_DATA, data, 1 << 20, &ids[i], &err));
	}
	/* One pack is in place, one is synced, one is being written. */
	assert_int_equal(count_in(box, "packs"), 1);
	assert_int_equal(count_in(box, "tmp"), 2);
	for (i = 0; i < 300; i += 10) {
		auto_free unsigned char *data =
			bytes_make(2 * (i % 150), 1 << 20);

		if (i == 150) {
			ok(store_flush(s, &err));
			assert_int_equal(count_in(box, "packs"), 3);
		}
		check_get(s, &ids[i % 150], data, 1 << 20);
	}
	ok(store_flush(s, &err));
	assert_int_equal(count_in(box, "packs"), 3);
	for (i = 0; i < 150; i += 50) {
		auto_free unsigned char *data = bytes_make(2 * i, 1 << 20);

		check_get(s, &ids[i], data, 1 << 20);
	}
	store_free(&s);
}

static void a_pack_of_very_many_objects_is_full_too(void **state)
{
	struct box *box = *state;
	struct store *s = open_store(box, STORE_WRITE);
	struct oid id;
	struct err err;
	uint32_t i;

	for (i = 0; i < 90000; i++)
		ok(store_put(s, OBJECT_DATA, &i, sizeof(i), &id, &err));
	assert_int_equal(count_in(box, "tmp"), 2);
	ok(store_flush(s, &err));
	assert_int_equal(count_in(box, "packs"), 2);
	for (i = 0; i < 90000; i += 9000) {
		ok(store_put(s, OBJECT_DATA, &i, sizeof(i), &id, &err));
		check_get(s, &id, &i, sizeof(i));
	}
	store_free(&s);
}

/* --- kills and failing calls --- */

/* Opens, puts two objects of each kind of pack and flushes. */
static int small_session(const struct box *box, struct oid ids[4],
			 struct err *err)
{
	AUTO(store) struct store *s = NULL;
	int i;

	if (store_open(&s, box->store, STORE_WRITE, err) < 0)
		return -err->num;
	for (i = 0; i < 4; i++) {
		size_t len = i % 2 ? 70000 : 500;
		auto_free unsigned char *data = bytes_make(i, len);

		if (store_put(s, i < 2 ? OBJECT_DATA : OBJECT_TREE, data, len,
			      &ids[i], err) < 0)
			return -err->num;
	}
	return store_flush(s, err);
}

static void check_session(const struct box *box, const struct oid ids[4])
{
	struct store *s = open_store(box, STORE_READ);
	int i;

	for (i = 0; i < 4; i++) {
		size_t len = i % 2 ? 70000 : 500;
		auto_free unsigned char *data = bytes_make(i, len);

		check_get(s, &ids[i], data, len);
	}
	store_free(&s);
}

static void kill_at(struct box *box, unsigned int at, bool after, int *ret)
{
	struct oid ids[4];
	struct err err;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		calls_reset();
		calls.at = at;
		calls.after = after;
		_exit(small_session(box, ids, &err) < 0);
	}
	assert_int_equal(waitpid(pid, ret, 0), pid);
}

static void kill_at_every_call(struct box *box)
{
	struct oid ids[4];
	struct err err;
	unsigned int at;
	int status, after;

	for (after = 0; after < 2; after++) {
		for (at = 1;; at++) {
			kill_at(box, at, after, &status);
			if (WIFEXITED(status))
				break;
			assert_int_equal(WTERMSIG(status), SIGKILL);
			ok(small_session(box, ids, &err));
			check_session(box, ids);
			assert_int_equal(count_in(box, "tmp"), 0);
			/* FORMAT, secrets, locks, four directories; no
			 * temporary files */
			assert_int_equal(count_in(box, "."), 9);
			assert_int_equal(mode_of(box, "packs"), 0500);
			assert_int_equal(mode_of(box, "snaps"), 0500);
			ok(dirtree_remove(AT_FDCWD, box->store, &err));
		}
		assert_int_equal(WEXITSTATUS(status), 0);
		assert_true(at > 15);
		ok(dirtree_remove(AT_FDCWD, box->store, &err));
	}
}

static void a_process_killed_at_any_call_leaves_a_usable_store(void **state)
{
	kill_at_every_call(*state);
	ring_forbid(true);
	kill_at_every_call(*state);
}

static void packs_that_nothing_refers_to_are_used_again(void **state)
{
	struct box *box = *state;
	struct oid ids[4];
	struct store_stats stats;
	struct store *s;
	struct err err;
	auto_free unsigned char *data = bytes_make(1, 70000);

	ok(small_session(box, ids, &err));
	s = open_store(box, STORE_WRITE);
	ok(store_put(s, OBJECT_DATA, data, 70000, &ids[0], &err));
	assert_true(oid_equal(&ids[0], &ids[1]));
	stats = s->stats;
	assert_int_equal(stats.new_objects, 0);
	store_free(&s);
}

static void fail_every_call(struct box *box)
{
	static const int errors[] = {EIO, ENOSPC};
	struct oid ids[4];
	struct err err;
	unsigned int at;
	int e, got;

	for (e = 0; e < 2; e++) {
		for (at = 1;; at++) {
			bool hit;

			calls_reset();
			calls.at = at;
			calls.error = errors[e];
			err.num = 0;
			got = small_session(box, ids, &err);
			hit = calls.count >= at;
			calls_reset();
			if (got == 0)
				check_session(box, ids);
			else
				assert_int_equal(err.num, errors[e]);
			if (!hit)
				break;
			ok(small_session(box, ids, &err));
			check_session(box, ids);
			assert_int_equal(mode_of(box, "packs"), 0500);
			ok(dirtree_remove(AT_FDCWD, box->store, &err));
		}
		assert_true(at > 15);
		ok(dirtree_remove(AT_FDCWD, box->store, &err));
	}
}

static void a_failing_call_is_told_and_leaves_a_usable_store(void **state)
{
	fail_every_call(*state);
	ring_forbid(true);
	fail_every_call(*state);
}

static void fail_sync(struct box *box)
{
	struct store *s = open_store(box, STORE_WRITE);
	AUTO(buf) struct buf trace = {0};
	struct oid id;
	struct err err;

	/* Finds the call that is the sync. */
	ok(store_put(s, OBJECT_DATA, "abc", 3, &id, &err));
	calls_reset();
	calls.at = 4; /* header, block, index, sync */
	calls.error = EIO;
	calls.trace = &trace;
	assert_int_equal(store_flush(s, &err), -EIO);
	assert_string_equal(buf_text(&trace),
			    "write pack\nwrite pack\nwrite pack\n"
			    "fdatasync pack\n");
	assert_non_null(strstr(err.text, "sync"));
	calls_reset();
	assert_int_equal(store_flush(s, &err), -EIO);
	assert_int_equal(store_put(s, OBJECT_DATA, "def", 3, &id, &err), -EIO);
	store_free(&s);
	assert_int_equal(count_in(box, "packs"), 0);
	assert_int_equal(count_in(box, "tmp"), 0);
}

static void a_failed_sync_aborts_for_good(void **state)
{
	fail_sync(*state);
	ring_forbid(true);
	fail_sync(*state);
}

#define BLOCKS                                                                 \
	"write pack\nwrite pack\n" /* header, block */                         \
	"write pack\nwrite pack\n"
/* All syncs are begun before one is waited for. */
#define INDEXES_RING                                                           \
	"write pack\nfdatasync pack\n"                                         \
	"write pack\nfdatasync pack\n"
#define INDEXES_PLAIN                                                          \
	"write pack\nwrite pack\n"                                             \
	"fdatasync pack\nfdatasync pack\n"
#define PUBLISH                                                                \
	"chmod packs 700\nchmod snaps 700\n"                                   \
	"rename packs\nrename packs\nfsync packs\n"                            \
	"chmod packs 500\nchmod snaps 500\n"

static bool have_ring(void)
{
	struct reader *r = reader_new(1, false);
	bool uses;

	(void)reader_add(r, AT_FDCWD, "/dev/null", 0, false, 0);
	uses = r->started && !r->plain;
	reader_free(&r);
	return uses;
}

static void trace_flush(struct box *box, bool plain)
{
	struct store *s = open_store(box, STORE_WRITE);
	AUTO(buf) struct buf trace = {0};
	struct oid id;
	struct err err;

	ok(store_put(s, OBJECT_DATA, "abc", 3, &id, &err));
	ok(store_put(s, OBJECT_TREE, "def", 3, &id, &err));
	calls_reset();
	calls.trace = &trace;
	ok(store_flush(s, &err));
	assert_string_equal(buf_text(&trace),
			    plain ? BLOCKS INDEXES_PLAIN PUBLISH
				  : BLOCKS INDEXES_RING PUBLISH);
	buf_clear(&trace);
	ok(store_flush(s, &err));
	assert_string_equal(buf_text(&trace), "");
	calls_reset();
	store_free(&s);
}

/* Puts a pack and a half and flushes. */
static int long_session(struct box *box, struct err *err)
{
	AUTO(store) struct store *s = open_store(box, STORE_WRITE);
	struct oid id;
	unsigned int i;

	for (i = 0; i < 96; i++) {
		auto_free unsigned char *data = bytes_make(2 * i, 1 << 20);

		if (store_put(s, OBJECT_DATA, data, 1 << 20, &id, err) < 0)
			return -err->num;
	}
	return store_flush(s, err);
}

/* No caller waits for the sync before the next pack is full, or all is flushed.
 */
static void a_failed_sync_of_a_full_pack_is_told_in_the_end(void **state)
{
	struct box *box = *state;
	AUTO(buf) struct buf trace = {0};
	struct store *made;
	struct err err;
	const char *at, *sync;
	unsigned int lines = 1;

	made = open_store(box, STORE_WRITE);
	store_free(&made);
	calls_reset();
	calls.trace = &trace;
	ok(long_session(box, &err));
	sync = strstr(buf_text(&trace), "fdatasync pack\n");
	assert_non_null(sync);
	for (at = buf_text(&trace); at < sync; at++)
		lines += *at == '\n';
	ok(dirtree_remove(AT_FDCWD, box->store, &err));
	made = open_store(box, STORE_WRITE);
	store_free(&made);
	calls_reset();
	calls.at = lines;
	calls.error = EIO;
	assert_int_equal(long_session(box, &err), -EIO);
	assert_true(calls.count >= lines);
	calls_reset();
	assert_int_equal(count_in(box, "packs"), 0);
	assert_int_equal(count_in(box, "tmp"), 0);
}

static void a_flush_is_durable_in_this_order(void **state)
{
	struct box *box = *state;
	struct err err;

	if (have_ring())
		trace_flush(box, false);
	else
		print_message("# no io_uring on this machine\n");
	if (have_ring())
		ok(dirtree_remove(AT_FDCWD, box->store, &err));
	ring_forbid(true);
	trace_flush(box, true);
}

static void a_store_is_made_durably_before_it_is_used(void **state)
{
	struct box *box = *state;
	AUTO(buf) struct buf trace = {0};
	struct store *s;
	const char *base = strrchr(box->dir, '/') + 1;
	auto_free char *want = NULL;

	calls_reset();
	calls.trace = &trace;
	s = open_store(box, STORE_WRITE);
	calls_reset();
	want = mem_printf("fdatasync .secret.%d.tmp\nrename store\n"
			  "fsync store\n"
			  "fdatasync .secret.2.%d.tmp\nrename store\n"
			  "fsync store\n"
			  "fdatasync .FORMAT.%d.tmp\nrename store\n"
			  "fsync store\nchmod FORMAT 400\nfsync %s\n"
			  "chmod packs 500\nchmod snaps 500\n",
			  (int)getpid(), (int)getpid(), (int)getpid(), base);
	assert_string_equal(buf_text(&trace), want);
	store_free(&s);
}

/* --- FORMAT and secret --- */

/* Sets a key and, if asked, corrects the checksum. */
static void change_format(const struct box *box, const char *key,
			  const char *value, bool mend)
{
	AUTO(record) struct record r = {0};
	AUTO(buf) struct buf b = {0};
	auto_close int fd =
		open(box->store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err err;
	char text[24];
	size_t i;

	assert_int_equal(fchmod(fd, 0700), 0);
	ok(record_load(fd, "FORMAT", "store", 1, &r, &err));
	record_set(&r, key, value);
	for (i = 0; i < r.count; i++) {
		if (strcmp(r.items[i].key, "check") == 0)
			continue;
		enc_text(&b, r.items[i].key);
		enc_text(&b, r.items[i].value);
	}
	(void)snprintf(text, sizeof(text), "%016llx",
		       (unsigned long long)hash_check(b.data, b.len));
	if (mend)
		record_set(&r, "check", text);
	ok(record_save(fd, "FORMAT", "store", 1, &r, false, &err));
}

static void write_file(const struct box *box, const char *name,
		       const char *text)
{
	auto_free char *path = mem_printf("%s/%s", box->store, name);
	auto_close int fd = -1;

	assert_int_equal(chmod(box->store, 0700), 0);
	assert_int_equal(unlink(path), 0);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_int_equal(fd_write(fd, text, strlen(text)), 0);
}

static void unknown_formats_are_refused_by_name(void **state)
{
	struct box *box = *state;
	struct store *s = open_store(box, STORE_WRITE);
	struct err err;

	store_free(&s);
	change_format(box, "features-optional", "sparkles", true);
	s = open_store(box, STORE_WRITE);
	store_free(&s);
	change_format(box, "features-mandatory", "blocks shiny holes", true);
	assert_int_equal(store_open(&s, box->store, STORE_READ, &err), -EPROTO);
	assert_non_null(strstr(err.text, "'shiny'"));
	assert_int_equal(store_open(&s, box->store, STORE_WRITE, &err),
			 -EPROTO);
	change_format(box, "features-mandatory", "blocks holes", true);
	change_format(box, "hash", "xxh3-129", true);
	assert_int_equal(store_open(&s, box->store, STORE_WRITE, &err),
			 -EPROTO);
	change_format(box, "hash", "xxh3-128-secret", true);
	change_format(box, "features-optional", "x", false);
	assert_int_equal(store_open(&s, box->store, STORE_WRITE, &err),
			 -EBADMSG);
	write_file(box, "FORMAT", "guard-store 2\n");
	assert_int_equal(store_open(&s, box->store, STORE_WRITE, &err),
			 -EPROTO);
	write_file(box, "FORMAT", "gua");
	assert_int_equal(store_open(&s, box->store, STORE_WRITE, &err),
			 -EBADMSG);
	assert_non_null(strstr(err.text, "FORMAT"));
}

static void a_damaged_secret_is_replaced_by_its_copy(void **state)
{
	struct box *box = *state;
	struct store *s = open_store(box, STORE_WRITE);
	struct oid ids[4];
	struct err err;

	store_free(&s);
	ok(small_session(box, ids, &err));
	write_file(box, "secret", "short");
	check_session(box, ids);
	write_file(box, "secret.2", "short");
	assert_int_equal(store_open(&s, box->store, STORE_READ, &err),
			 -EBADMSG);
	assert_non_null(strstr(err.text, "secret"));
}

static void a_lost_format_is_never_made_anew_over_packs(void **state)
{
	struct box *box = *state;
	auto_free char *path = mem_printf("%s/FORMAT", box->store);
	struct store *s;
	struct oid ids[4];
	struct err err;

	ok(small_session(box, ids, &err));
	assert_int_equal(chmod(box->store, 0700), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(store_open(&s, box->store, STORE_WRITE, &err),
			 -EBADMSG);
	assert_int_equal(access(path, F_OK), -1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_was_put_comes_back_before_and_after_a_flush),
		T(known_bytes_cost_no_space),
		T(what_is_not_there_is_not_found),
		T(what_lies_behind_a_damaged_index_is_found_by_who_only_reads),
		T(little_is_unpacked_on_the_way_to_a_path),
		T(a_store_that_is_missing_is_not_made_for_reading),
		T(folders_are_closed_at_rest),
		T(files_that_collide_are_both_kept),
		T(a_forged_pair_differs_under_two_secrets),
		T(hashes_are_what_they_always_were),
		T(files_that_collide_in_two_writers_are_not_mixed_up),
		T(threads_share_a_store),
		T(processes_make_and_fill_one_store_at_once),
		T(a_writer_at_work_loses_nothing_to_another_that_opens),
		T(packs_are_rotated_and_their_objects_stay_found),
		T(a_pack_of_very_many_objects_is_full_too),
		T(a_process_killed_at_any_call_leaves_a_usable_store),
		T(packs_that_nothing_refers_to_are_used_again),
		T(a_failing_call_is_told_and_leaves_a_usable_store),
		T(a_failed_sync_aborts_for_good),
		T(a_failed_sync_of_a_full_pack_is_told_in_the_end),
		T(a_flush_is_durable_in_this_order),
		T(a_store_is_made_durably_before_it_is_used),
		T(unknown_formats_are_refused_by_name),
		T(a_damaged_secret_is_replaced_by_its_copy),
		T(a_lost_format_is_never_made_anew_over_packs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
