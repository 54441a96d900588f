/*
 * The index over many packs: its content, the work without it, and the
 * protection against wrong data in it.
 */
/* users: one */
#include "snapshot/store/store_dir.c"
#include "snapshot/store/store_index.c"

#include <pthread.h>

#include "tests/unit/storetest.h"

#include "snapshot/maintain/verify.h"
#include "snapshot/store/midx.h"
#include "tests/unit/collision.h"
#include "snapshot/store/store_private.h"

enum { PACKS = 9, EACH = 7 };

static const unsigned char uuid[PACK_UUID_LEN] = "midx midx midx m";

static void pack_name_of(char name[40], unsigned int i)
{
	(void)snprintf(name, 40, "%028x.gpk", i);
}

/* ---- the file itself ---- */

struct plain {
	struct midx_entry items[2000];
	size_t count;
	char *names[64];
	size_t packs;
};

/* Few leading bytes, so that some are equal. */
static void plain_make(struct plain *p, uint64_t seed, size_t packs)
{
	char name[40];
	size_t i;

	p->packs = packs;
	for (i = 0; i < packs; i++) {
		pack_name_of(name, (unsigned int)(i * 3 + seed));
		p->names[i] = mem_strdup(name);
	}
	p->count = packs ? 1500 : 0;
	for (i = 0; i < p->count; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		p->items[i].start = seed / 3 % 400 * 0x9e3779b97f4a7c15u;
		p->items[i].pack = (uint32_t)(seed >> 40) % (uint32_t)packs;
	}
}

static void plain_free(struct plain *p)
{
	while (p->packs)
		free(p->names[--p->packs]);
}

static void put_start(unsigned char hash[HASH_LEN], uint64_t start)
{
	int i;

	memset(hash, 0, HASH_LEN);
	for (i = 0; i < 8; i++)
		hash[i] = (unsigned char)(start >> 8 * (7 - i));
}

static struct midx *write_and_open(struct box *box, const struct buf *bytes)
{
	auto_close int dir = open(box->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int fd = openat(
		dir, "x", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct midx *m = NULL;
	struct err err;

	assert_return_code(fd_write(fd, bytes->data, bytes->len), errno);
	ok(midx_open(dir, "x", uuid, &m, &err));
	assert_true(midx_is_intact(m));
	return m;
}

static bool plain_has(const struct plain *p, const struct midx *m,
		      uint64_t start, size_t pack)
{
	size_t i;

	for (i = 0; i < p->count; i++)
		if (p->items[i].start == start &&
		    strcmp(p->names[p->items[i].pack], midx_name(m, pack)) == 0)
			return true;
	return false;
}

/* m must have the entries of a and b. */
static void check_plain(const struct midx *m, const struct plain *a,
			const struct plain *b, uint32_t dropped)
{
	unsigned char hash[HASH_LEN];
	size_t first, end, i, k, both;
	const struct plain *of[] = {a, b};

	for (k = 0; k < 2; k++)
		for (i = 0; i < of[k]->count; i++) {
			const struct midx_entry *e = &of[k]->items[i];
			bool found = false;

			if (!k && e->pack == dropped)
				continue;
			put_start(hash, e->start);
			assert_true(midx_find(m, hash, &first, &end));
			for (both = first; both < end; both++) {
				size_t pack = midx_pack(m, both);

				assert_true(both == first ||
					    midx_pack(m, both - 1) < pack);
				assert_true(plain_has(a, m, e->start, pack) ||
					    plain_has(b, m, e->start, pack));
				found |= strcmp(midx_name(m, pack),
						of[k]->names[e->pack]) == 0;
			}
			assert_true(found);
		}
	put_start(hash, 1);
	assert_false(midx_find(m, hash, &first, &end));
	put_start(hash, UINT64_MAX);
	assert_false(midx_find(m, hash, &first, &end));
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void says_what_was_put_into_it(void **state)
{
	struct box *box = *state;
	struct plain a, b, none = {.count = 0};
	AUTO(buf) struct buf bytes = {0};
	AUTO(midx) struct midx *old = NULL;
	AUTO(midx) struct midx *m = NULL;
	struct midx_entry entries[2000];
	uint32_t number[64];
	char *names[64];
	size_t i, count = 0;

	plain_make(&a, 1, 20);
	plain_make(&b, 2, 15);
	memcpy(entries, a.items, sizeof(entries));
	midx_make(uuid, a.names, a.packs, entries, a.count, NULL, NULL, &bytes);
	old = write_and_open(box, &bytes);
	assert_int_equal(midx_count(old), 20);
	check_plain(old, &a, &none, UINT32_MAX);

	/* Both, without pack 7 of the first index. */
	for (i = 0; i < a.packs; i++)
		if (i != 7)
			names[count++] = a.names[i];
	for (i = 0; i < b.packs; i++)
		names[count++] = b.names[i];
	qsort(names, count, sizeof(*names), by_text);
	for (i = 0; i < a.packs; i++) {
		number[i] = 0;
		while (number[i] < count && names[number[i]] != a.names[i])
			number[i]++;
		if (number[i] == count)
			number[i] = UINT32_MAX;
	}
	for (i = 0; i < b.count; i++) {
		entries[i] = b.items[i];
		entries[i].pack = 0;
		while (names[entries[i].pack] != b.names[b.items[i].pack])
			entries[i].pack++;
	}
	midx_make(uuid, names, count, entries, b.count, old, number, &bytes);
	midx_free(&old);
	m = write_and_open(box, &bytes);
	assert_int_equal(midx_count(m), count);
	check_plain(m, &a, &b, 7);
	for (i = 0; i < count; i++)
		assert_int_equal(midx_number(m, names[i]), i);
	assert_int_equal(midx_number(m, a.names[7]), count);
	plain_free(&a);
	plain_free(&b);
}

static void is_found_in_however_uneven_the_hashes_are(void **state)
{
	struct box *box = *state;
	struct plain p, none = {.count = 0};
	AUTO(buf) struct buf bytes = {0};
	AUTO(midx) struct midx *m = NULL;
	struct midx_entry entries[2000];
	size_t i;

	plain_make(&p, 5, 3);
	for (i = 0; i < p.count; i++)
		p.items[i].start = i % 2 ? UINT64_MAX - 3 * i : 2 + i;
	memcpy(entries, p.items, sizeof(entries));
	midx_make(uuid, p.names, p.packs, entries, p.count, NULL, NULL, &bytes);
	m = write_and_open(box, &bytes);
	check_plain(m, &p, &none, UINT32_MAX);
	plain_free(&p);
	midx_free(&m);
	plain_make(&p, 1, 0);
	midx_make(uuid, p.names, 0, NULL, 0, NULL, NULL, &bytes);
	m = write_and_open(box, &bytes);
	check_plain(m, &p, &none, UINT32_MAX);
}

/* ---- in a store ---- */

static struct store *open_store(struct box *box, enum store_mode mode)
{
	struct store *s;
	struct err err;

	ok(store_open(&s, box->store, mode, &err));
	return s;
}

struct kept {
	struct oid ids[PACKS * EACH];
	size_t count;
};

static void keep(struct store *s, struct kept *k, size_t number)
{
	auto_free unsigned char *data = bytes_make(number, 1000 + number);
	struct err err;

	ok(store_put(s, OBJECT_DATA, data, 1000 + number, &k->ids[number],
		     &err));
	if (number >= k->count)
		k->count = number + 1;
}

static void check_all(struct store *s, const struct kept *k)
{
	size_t i;

	for (i = 0; i < k->count; i++) {
		auto_free unsigned char *data = bytes_make(i, 1000 + i);

		check_get(s, &k->ids[i], data, 1000 + i);
	}
}

static char *midx_path(struct box *box)
{
	return mem_printf("%s/midx", box->store);
}

static bool midx_there(struct box *box)
{
	auto_free char *path = midx_path(box);

	return access(path, F_OK) == 0;
}

/* Packs of EACH objects, one by each writer. */
static void fill(struct box *box, struct kept *k, size_t packs)
{
	struct err err;
	size_t i, p;

	for (p = 0; p < packs; p++) {
		AUTO(store) struct store *s = open_store(box, STORE_WRITE);

		for (i = 0; i < EACH; i++)
			keep(s, k, p * EACH + i);
		ok(store_flush(s, &err));
	}
}

/* Packs that this process has mapped. */
static unsigned int mapped(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned int count = 0;
	char line[4096];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		count += strstr(line, ".gpk") != NULL;
	assert_int_equal(fclose(maps), 0);
	return count;
}

static void opens_the_packs_that_are_needed(void **state)
{
	struct box *box = *state;
	struct kept k = {.count = 0};
	struct store *s;

	loose_max = PACKS;
	fill(box, &k, PACKS - 1);
	assert_false(midx_there(box));
	fill(box, &k, PACKS);
	assert_true(midx_there(box));
	s = open_store(box, STORE_READ);
	assert_int_equal(mapped(), 0);
	assert_true(store_has(s, &k.ids[3]));
	assert_int_equal(mapped(), 1);
	assert_int_not_equal(store_position(s, &k.ids[EACH]), UINT64_MAX);
	assert_int_equal(mapped(), 2);
	check_all(s, &k);
	store_free(&s);
	assert_int_equal(mapped(), 0);
}

static void serves_beside_packs_that_came_since(void **state)
{
	struct box *box = *state;
	AUTO(store) struct store *s = NULL;
	struct kept k = {.count = 0};
	struct store_stats stats;
	struct err err;
	size_t i;

	loose_max = 4;
	fill(box, &k, 4);
	assert_true(midx_there(box));
	fill(box, &k, 6);
	s = open_store(box, STORE_WRITE);
	for (i = 0; i < k.count; i++)
		keep(s, &k, i);
	ok(store_flush(s, &err));
	stats = s->stats;
	assert_int_equal(stats.new_objects, 0);
	check_all(s, &k);
	store_free(&s);
	s = open_store(box, STORE_READ);
	check_all(s, &k);
}

static void keeps_what_collides_apart(void **state)
{
	struct box *box = *state;
	auto_free unsigned char *one = fixture("original");
	auto_free unsigned char *two = fixture("forged");
	struct store *s;
	struct oid ids[2], again;
	struct err err;

	loose_max = 1;
	ok(store_dir_create(box->store, HASH_XXH3_128, public_secret, &err));
	s = open_store(box, STORE_WRITE);
	ok(store_put(s, OBJECT_DATA, one, 4096, &ids[0], &err));
	ok(store_flush(s, &err));
	store_free(&s);
	assert_true(midx_there(box));
	s = open_store(box, STORE_WRITE);
	ok(store_put(s, OBJECT_DATA, two, 4096, &ids[1], &err));
	ok(store_flush(s, &err));
	store_free(&s);
	assert_int_equal(ids[1].ord, 1);
	s = open_store(box, STORE_WRITE);
	ok(store_put(s, OBJECT_DATA, one, 4096, &again, &err));
	assert_true(oid_equal(&again, &ids[0]));
	ok(store_put(s, OBJECT_DATA, two, 4096, &again, &err));
	assert_true(oid_equal(&again, &ids[1]));
	check_get(s, &ids[0], one, 4096);
	check_get(s, &ids[1], two, 4096);
	store_free(&s);
}

/* ---- a damaged or outdated index ---- */

static int count_fault(void *arg, const struct verify_fault *f, struct err *err)
{
	(void)err;
	assert_string_equal(f->name, MIDX_FILE);
	++*(int *)arg;
	return 0;
}

static int verify(struct box *box)
{
	AUTO(store) struct store *s = open_store(box, STORE_READ);
	int faults = 0;
	struct verify_options o = {.fault = count_fault, .arg = &faults};
	struct verify_result result;
	struct err err;

	ok(verify_store(s, &o, &result, &err));
	return faults;
}

static void replace(struct box *box, const void *data, size_t len)
{
	auto_free char *path = midx_path(box);
	auto_close int fd = -1;

	assert_return_code(chmod(box->store, 0700), errno);
	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	assert_return_code(fd_write(fd, data, len), errno);
	assert_return_code(chmod(box->store, 0500), errno);
}

static void check_read_and_written(struct box *box, struct kept *k)
{
	AUTO(store) struct store *s = open_store(box, STORE_READ);
	struct store_stats stats;
	struct err err;
	size_t i;

	check_all(s, k);
	store_free(&s);
	s = open_store(box, STORE_WRITE);
	for (i = 0; i < k->count; i++)
		keep(s, k, i);
	stats = s->stats;
	assert_int_equal(stats.new_objects, 0);
	check_all(s, k);
	ok(store_flush(s, &err));
}

static void no_byte_of_it_can_mislead(void **state)
{
	struct box *box = *state;
	struct kept k = {.count = 0};
	auto_free char *path = midx_path(box);
	AUTO(buf) struct buf whole = {0};
	struct err err;
	size_t i;

	loose_max = 3;
	fill(box, &k, 3);
	assert_int_equal(verify(box), 0);
	ok(fd_slurp_at(AT_FDCWD, path, 1 << 20, &whole, &err));
	loose_max = 1000; /* the index is not made again */
	for (i = 0; i < whole.len; i++) {
		whole.data[i] ^= 0x15;
		replace(box, whole.data, whole.len);
		/* A higher version with a correct checksum is not one flipped
		 * byte. */
		assert_int_equal(verify(box), 1);
		check_read_and_written(box, &k);
		whole.data[i] ^= 0x15;
	}
	for (i = 0; i < whole.len; i += 13) {
		replace(box, whole.data, i);
		assert_int_equal(verify(box), 1);
		check_read_and_written(box, &k);
	}
}

static void is_made_anew_where_it_is_lost_or_damaged(void **state)
{
	struct box *box = *state;
	struct kept k = {.count = 0};
	auto_free char *path = midx_path(box);

	loose_max = 3;
	fill(box, &k, 3);
	replace(box, "GUARDMX1 and no more", 20);
	assert_int_equal(verify(box), 1);
	check_read_and_written(box, &k);
	assert_int_equal(verify(box), 0);
	assert_return_code(chmod(box->store, 0700), errno);
	assert_return_code(unlink(path), errno);
	check_read_and_written(box, &k);
	assert_true(midx_there(box));
	assert_int_equal(verify(box), 0);
}

/* An index with correct checksums and wrong entries. */
static void that_knows_too_little_costs_time_only(void **state)
{
	struct box *box = *state;
	struct kept k = {.count = 0};
	auto_close int dir = -1;
	AUTO(midx) struct midx *m = NULL;
	AUTO(store) struct store *s = NULL;
	AUTO(buf) struct buf bytes = {0};
	struct format format;
	char *names[3];
	struct err err;
	size_t i;

	loose_max = 3;
	fill(box, &k, 3);
	s = open_store(box, STORE_READ);
	format = store_get_dir(s)->format;
	store_free(&s);
	dir = open(box->store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(midx_open(dir, MIDX_FILE, format.uuid, &m, &err));
	for (i = 0; i < 3; i++)
		names[i] = mem_strdup(midx_name(m, i));
	midx_make(format.uuid, names, 3, NULL, 0, NULL, NULL, &bytes);
	replace(box, bytes.data, bytes.len);
	assert_int_equal(verify(box), 1);
	s = open_store(box, STORE_READ);
	check_all(s, &k);
	for (i = 0; i < 3; i++)
		free(names[i]);
}

/* The first pack, with a changed byte in its hashes. */
static void hurt_a_pack(struct box *box)
{
	auto_free char *path = mem_printf("%s/packs", box->store);
	auto_close int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int fd = -1;
	unsigned char foot[FOOTER_LEN], byte;
	struct stat st;
	struct err err;
	off_t at;

	ok(dirlist_read(dir, &list, &err));
	assert_return_code(fchmodat(dir, list.items[0].name, 0600, 0), errno);
	fd = openat(dir, list.items[0].name, O_RDWR | O_CLOEXEC);
	assert_return_code(fstat(fd, &st), errno);
	assert_int_equal(pread(fd, foot, FOOTER_LEN, st.st_size - FOOTER_LEN),
			 FOOTER_LEN);
	at = (off_t)get_le(foot + 8, 8) + FANOUT_LEN;
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
}

static void a_damaged_pack_behind_it_is_indexed_anew(void **state)
{
	struct box *box = *state;
	struct kept k = {.count = 0};

	loose_max = 3;
	fill(box, &k, 3);
	hurt_a_pack(box);
	check_read_and_written(box, &k);
}

static void a_pack_that_is_gone_is_no_fault_of_its(void **state)
{
	struct box *box = *state;
	struct kept k = {.count = 0};
	auto_free char *path = mem_printf("%s/packs", box->store);
	auto_close int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO(dirlist) struct dirlist list = {0};
	AUTO(store) struct store *s = NULL;
	struct store_stats stats;
	struct err err;
	size_t i;

	loose_max = 3;
	fill(box, &k, 3);
	(void)close(dir);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(dirlist_read(dir, &list, &err));
	assert_return_code(chmod(path, 0700), errno);
	assert_return_code(unlinkat(dir, list.items[0].name, 0), errno);
	assert_int_equal(verify(box), 0);
	s = open_store(box, STORE_WRITE);
	for (i = 0; i < k.count; i++)
		keep(s, &k, i);
	stats = s->stats;
	assert_int_equal(stats.new_objects, EACH);
	ok(store_flush(s, &err));
	check_all(s, &k);
	store_index_tidy(store_get_dir(s));
	store_free(&s);
	assert_true(midx_there(box));
	assert_int_equal(verify(box), 0);
	check_read_and_written(box, &k);
}

static void is_taken_away_where_there_are_few(void **state)
{
	struct box *box = *state;
	struct kept k = {.count = 0};
	AUTO(store) struct store *s = NULL;

	loose_max = 3;
	fill(box, &k, 3);
	assert_true(midx_there(box));
	loose_max = 4;
	s = open_store(box, STORE_WRITE);
	store_index_tidy(store_get_dir(s));
	assert_true(midx_there(box)); /* nothing to write */
	replace(box, "x", 1);
	store_index_tidy(store_get_dir(s));
	assert_false(midx_there(box));
}

static void *open_often(void *arg)
{
	struct box *box = arg;
	struct err err;
	int i;

	for (i = 0; i < 2000; i++) {
		AUTO(store) struct store *s = NULL;

		(void)store_open(&s, box->store, STORE_WRITE, &err);
	}
	return NULL;
}

/* A process that opens the store for writing deletes the files in tmp/ of dead
 * processes. */
static void is_written_while_others_open_the_store(void **state)
{
	struct box *box = *state;
	struct kept k = {.count = 0};
	AUTO(store) struct store *s = NULL;
	auto_free char *path = midx_path(box);
	pthread_t other;
	int i;

	loose_max = 3;
	fill(box, &k, 3);
	s = open_store(box, STORE_WRITE);
	assert_int_equal(pthread_create(&other, NULL, open_often, box), 0);
	for (i = 0; i < 500; i++) {
		struct err err;
		int lock = store_dir_commit_begin(store_get_dir(s), &err);

		assert_return_code(unlink(path), errno);
		store_dir_commit_end(store_get_dir(s), lock);
		store_index_tidy(store_get_dir(s));
		assert_true(midx_there(box));
	}
	assert_int_equal(pthread_join(other, NULL), 0);
}

/* ---- an index that cannot be written ---- */

static void fail_or_kill(struct box *box, int error)
{
	struct kept k = {.count = 0};
	unsigned int at;
	struct err err;

	for (at = 1;; at++) {
		bool hit;
		pid_t pid;
		int status;

		loose_max = 1000;
		k.count = 0;
		fill(box, &k, 3);
		pid = fork();
		if (!pid) {
			struct store *s;

			if (store_open(&s, box->store, STORE_WRITE, &err) < 0)
				_exit(1);
			loose_max = 2;
			calls_reset();
			calls.at = at;
			calls.error = error;
			store_index_grown(store_get_dir(s), 3);
			_exit(calls.count >= at ? 2 : 0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		hit = WIFSIGNALED(status) || WEXITSTATUS(status) == 2;
		if (WIFEXITED(status))
			assert_int_not_equal(WEXITSTATUS(status), 1);
		loose_max = 1000;
		check_read_and_written(box, &k);
		assert_int_equal(verify(box), 0);
		assert_true(hit || midx_there(box));
		ok(dirtree_remove(AT_FDCWD, box->store, &err));
		if (!hit)
			break;
	}
	assert_true(at > 5);
}

static void nobody_minds_when_it_cannot_be_written(void **state)
{
	fail_or_kill(*state, ENOSPC);
	fail_or_kill(*state, EIO);
}

static void killed_at_any_call_nothing_is_lost(void **state)
{
	fail_or_kill(*state, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(says_what_was_put_into_it),
		T(is_found_in_however_uneven_the_hashes_are),
		T(opens_the_packs_that_are_needed),
		T(serves_beside_packs_that_came_since),
		T(keeps_what_collides_apart),
		T(no_byte_of_it_can_mislead),
		T(is_made_anew_where_it_is_lost_or_damaged),
		T(that_knows_too_little_costs_time_only),
		T(a_damaged_pack_behind_it_is_indexed_anew),
		T(a_pack_that_is_gone_is_no_fault_of_its),
		T(is_taken_away_where_there_are_few),
		T(nobody_minds_when_it_cannot_be_written),
		T(is_written_while_others_open_the_store),
		T(killed_at_any_call_nothing_is_lost),
	};

	calls_unsynced = true;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
