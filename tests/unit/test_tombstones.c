/* Snapshots whose files are missing: removed by prune, or deleted by hand. */
/* users: one */
#include "snapshot/store/store_dir.c"

#include "tests/unit/snap_fixture.h"

#include "snapshot/maintain/prune.h"
#include "snapshot/maintain/repair.h"
#include "snapshot/maintain/trash.h"
#include "snapshot/store/hash.h"
#include "snapshot/maintain/missing.h"
#include "tests/unit/keep_fixture.h"

#define DAYS ((int64_t)24 * 3600)

static void open_store(struct box *box)
{
	struct err err;

	store_free(&box->store);
	ok(store_open(&box->store, box->store_root_fd, STORE_WRITE, &err));
}

static uint64_t take_old(struct box *box, uint64_t seed)
{
	put_file(box, "a", seed, 100);
	return take_at(box, box->store, timestamp_now().sec - 90 * DAYS);
}

static void remove_snapshot(struct box *box, uint64_t seq)
{
	char name[32];

	catalog_file_name(name, seq);
	remove_from(box, "snaps", name);
}

static void check_faults(struct box *box, const char *wanted)
{
	AUTO(buf) struct buf faults = {0};

	store_free(&box->store);
	assert_int_equal(verify_now(box, false, &faults), *wanted != '\0');
	assert_string_equal(buf_text(&faults), wanted);
	open_store(box);
}

/* Prunes by the strictest rule; returns the number of removed snapshots. */
static uint64_t prune_all(struct box *box)
{
	struct prune_options o = {.policy = {.last = 1},
				  .now = timestamp_now()};
	struct prune_result result;
	struct err err;

	open_store(box);
	ok(prune_run(box->store, &o, NULL, &result, &err));
	open_store(box);
	return result.snapshots;
}

static int count_lost(void *arg, uint64_t seq, const char *path,
		      const char *why, struct err *err)
{
	(void)err;
	assert_string_equal(path, "");
	buf_printf(arg, "%d: %s\n", (int)seq, why);
	return 0;
}

static void test_a_file_that_somebody_deleted_is_missed(void **state)
{
	struct box *box = *state;
	AUTO(buf) struct buf lost = {0};
	struct repair_options o = {
		.now = timestamp_now(), .lost = count_lost, .arg = &lost};
	struct repair_result result;
	struct err err;
	uint64_t last = 0;
	int i;

	for (i = 0; i < 4; i++)
		last = take_old(box, (uint64_t)i);
	check_faults(box, "");
	remove_snapshot(box, 2);
	check_faults(box, "snapshot 2 \n");
	remove_snapshot(box, 3);
	check_faults(box, "snapshot 2 \n"); /* 2 to 3 */
	/* A missing newest snapshot is noticed too, and its number is not used
	 * again. */
	remove_snapshot(box, last);
	assert_int_equal(last, 8);
	check_faults(box, "snapshot 2 \nsnapshot 8 \n");
	assert_int_equal(take(box), last + 1);
	store_free(&box->store);
	ok(repair_store(box->store_root_fd, &o, &result, &err));
	assert_int_equal(result.lost, 3);
	assert_non_null(strstr(buf_text(&lost), "2: its file is missing\n"));
	open_store(box);
	/* Reported once, the loss is recorded. */
	check_faults(box, "");
}

static void test_what_prune_takes_is_not_missed(void **state)
{
	struct box *box = *state;
	struct err err;
	uint64_t two = 2;
	int i;

	for (i = 0; i < 8; i++)
		(void)take_old(box, (uint64_t)i);
	assert_true(prune_all(box) > 2);
	check_faults(box, "");
	ok(trash_undelete(box->store, &two, 1, &err));
	check_faults(box, "");
	remove_snapshot(box, 2);
	check_faults(box, "snapshot 2 \n");
}

/* A store of an older guard, which did not count its snapshots. */
static void test_an_older_store_is_believed_at_first(void **state)
{
	struct box *box = *state;
	struct err err;
	static const unsigned char secret[SECRET_LEN] = "old";
	int fd, i;

	store_free(&box->store);
	(void)snprintf(box->store_root_fd, sizeof(box->store_root_fd), "%s/old",
		       box->dir);
	ok(store_dir_create(box->store_root_fd, HASH_XXH3_128, secret, &err));
	fd = open(box->store_root_fd, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	{
		AUTO(buf) struct buf text = {0};

		ok(fd_slurp_at(fd, "FORMAT", 4096, &text, &err));
		assert_null(strstr(buf_text(&text), "optional=gone"));
	}
	(void)close(fd);
	open_store(box);
	for (i = 0; i < 8; i++)
		(void)take_old(box, (uint64_t)i);
	remove_snapshot(box, 2);
	check_faults(box, "");
	assert_true(prune_all(box) > 0);
	check_faults(box, "");
	i = (int)take(box);
	(void)take(box);
	remove_snapshot(box, (uint64_t)i);
	{
		auto_free char *wanted = mem_printf("snapshot %d \n", i);

		check_faults(box, wanted);
	}
}

static void test_numbers_come_and_go(void **state)
{
	struct box *box = *state;
	bool model[40] = {false};
	uint64_t seed = 4711, seq;
	struct err err;
	int i, lock;

	for (i = 0; i < 300; i++) {
		AUTO(tombstones) struct tombstones g = {0};
		size_t k, n = 0;

		seq = 1 + chance(&seed) % 39;
		model[seq] = !model[seq];
		lock = store_commit_begin(box->store, &err);
		ok(lock);
		ok(tombstones_set(box->store, &seq, 1, model[seq], &err));
		store_commit_end(box->store, lock);
		ok(tombstones_load(box->store, &g, &err));
		for (k = 0; k < g.count; k++) {
			const struct tombstone_range *r = &g.items[k];

			assert_true(!k || g.items[k - 1].first +
							  g.items[k - 1].count <
						  r->first);
			for (seq = r->first; seq < r->first + r->count; seq++)
				n += model[seq];
			assert_true(r->count > 0);
		}
		for (k = 0, seq = 0; seq < 40; seq++)
			k += model[seq];
		assert_int_equal(n, k);
	}
}

static void test_a_damaged_note_is_named_and_mended(void **state)
{
	struct box *box = *state;
	auto_free char *path = path_join(box->store_root_fd, "gone");
	struct repair_options o = {.now = timestamp_now()};
	struct repair_result result;
	struct err err;
	int i;

	for (i = 0; i < 8; i++)
		(void)take_old(box, (uint64_t)i);
	(void)prune_all(box);
	flip(path, 9);
	check_faults(box, "secret 0 gone\n");
	store_free(&box->store);
	ok(repair_store(box->store_root_fd, &o, &result, &err));
	open_store(box);
	check_faults(box, "");
}

int main(void)
{
#define t(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		t(test_a_file_that_somebody_deleted_is_missed),
		t(test_what_prune_takes_is_not_missed),
		t(test_an_older_store_is_believed_at_first),
		t(test_numbers_come_and_go),
		t(test_a_damaged_note_is_named_and_mended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
