/* repair: intact objects are saved, the user's present files replace lost ones,
 * the rest is named; killed and failing at every call. */
/* users: one */
#include "snapshot/store/store_dir.c"
#include "snapshot/store/longfile.c"

#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/unit/snap_fixture.h"

#include "snapshot/maintain/prune.h"
#include "snapshot/maintain/repair.h"
#include "snapshot/store/chunk_mac.h"
#include "snapshot/store/packformat.h"
#include "tests/unit/calls.h"
#include "tests/unit/collision.h"
#include "tests/unit/keep_fixture.h"

struct seen {
	struct buf lost; /* "2 a\n" */
	struct repair_result result;
};

static int note_lost(void *arg, uint64_t seq, const char *path, const char *why,
		     struct err *err)
{
	struct seen *seen = arg;

	(void)why;
	(void)err;
	buf_printf(&seen->lost, "%llu %s\n", (unsigned long long)seq, path);
	return 0;
}

static int repair_now(struct box *box, struct seen *seen, struct err *err)
{
	struct repair_options o = {
		.now = timestamp_now(),
		.lost = note_lost,
		.arg = seen,
	};

	return repair_store(box->store_root_fd, &o, &seen->result, err);
}

static int do_repair(struct box *box, struct err *err)
{
	struct seen seen = {0};
	int got = repair_now(box, &seen, err);

	buf_free(&seen.lost);
	return got;
}

/* Files of all kinds; two snapshots that differ in "a". */
static void fill(struct box *box)
{
	assert_return_code(mkdirat(box->root_fd, "d", 0755), errno);
	put_file(box, "a", 1, 900);
	put_file(box, "b", 2, 70000);
	put_file(box, "d/c", 3, 30);
	put_file(box, "d/e", 4, 100000);
	(void)take(box);
	put_file(box, "a", 5, 900);
	(void)take(box);
	store_free(&box->store);
}

static void check_faults(struct box *box, const char *wanted)
{
	AUTO(buf) struct buf faults = {0};

	(void)verify_now(box, true, &faults);
	assert_string_equal(buf_text(&faults), wanted);
}

static void test_a_whole_store_is_left_as_it_is(void **state)
{
	struct box *box = *state;
	AUTO(dirlist) struct dirlist before = {0}, after = {0}, trash = {0};
	struct seen seen = {0};
	struct err err;

	fill(box);
	list_store(box, "packs", &before);
	ok(repair_now(box, &seen, &err));
	list_store(box, "packs", &after);
	list_store(box, "trash", &trash);
	assert_int_equal(before.count, after.count);
	assert_int_equal(trash.count, 0);
	assert_int_equal(seen.result.packs + seen.result.snapshots +
				 seen.result.roots + seen.result.lost,
			 0);
	check_whole(box);
}

/* For each pack in turn: header, index, footer, truncated. */
static void test_a_damaged_index_loses_nothing(void **state)
{
	struct box *box = *state;
	struct err err;
	int where, kind;

	fill(box);
	assert_int_equal(unlinkat(box->root_fd, "b", 0), 0);
	for (kind = 0; kind < PACK_KINDS; kind++) {
		for (where = 0; where < 4; where++) {
			auto_free char *pack = pack_of_kind(box, kind);
			auto_free char *path = store_path(box, "packs", pack);
			struct seen seen = {0};
			struct stat st;

			assert_return_code(stat(path, &st), errno);
			if (where == 0) {
				flip(path, 30);
			} else if (where == 3) {
				assert_return_code(chmod(path, 0600), errno);
				assert_return_code(
					truncate(path, st.st_size - 70), errno);
			} else {
				flip(path, (uint64_t)st.st_size -
						   (where == 1 ? 90 : 20));
			}
			assert_int_equal(verify_now(box, false, NULL), 1);
			ok(repair_now(box, &seen, &err));
			assert_int_equal(seen.result.packs, 1);
			assert_true(seen.result.objects > 0);
			assert_int_equal(seen.result.lost, 0);
			assert_int_equal(seen.result.roots, 0);
			check_whole(box);
		}
	}
}

static void test_what_the_user_still_has_is_there_again(void **state)
{
	struct box *box = *state;
	auto_free char *data = NULL, *meta = NULL;
	struct seen seen = {0};
	struct err err;

	fill(box);
	put_file(box, "a", 1, 900); /* as in the first snapshot */
	data = pack_of_kind(box, PACK_DATA);
	meta = pack_of_kind(box, PACK_META);
	remove_from(box, "packs", data);
	assert_int_equal(verify_now(box, false, NULL), 1);
	ok(repair_now(box, &seen, &err));
	assert_int_equal(seen.result.roots, 1);
	assert_string_equal(buf_text(&seen.lost), "");
	assert_int_equal(seen.result.lost, 0);
	check_whole(box);
	buf_free(&seen.lost);
}

static void test_a_long_file_is_filled_in_chunk_by_chunk(void **state)
{
	struct box *box = *state;
	auto_free char *data = NULL;
	auto_close int fd = -1;
	struct seen seen = {0};
	struct err err;

	put_file(box, "big", 7, 4u << 20);
	(void)take(box);
	store_free(&box->store);
	data = pack_of_kind(box, PACK_DATA);
	remove_from(box, "packs", data);
	ok(repair_now(box, &seen, &err));
	assert_int_equal(seen.result.lost, 0);
	check_whole(box);
	/* Changed at its end: the stored file shares a part with the lost one.
	 */
	data = (free(data), pack_of_kind(box, PACK_DATA));
	remove_from(box, "packs", data);
	fd = openat(box->root_fd, "big", O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "changed", 7, (4 << 20) - 7), 7);
	ok(repair_now(box, &seen, &err));
	assert_string_equal(buf_text(&seen.lost), "1 big\n2 big\n");
	buf_free(&seen.lost);
}

static void take_cached(struct box *box)
{
	AUTO(snapshot) struct snapshot s = {0};
	struct take_options options = {
		.root_path = box->root,
		.root_fd = -1,
		.cache_path = box->cache,
		.reason = "manual",
	};
	struct err err;

	ok(take_snapshot(box->store, &options, &s, &err));
}

static bool marks_are_made(void)
{
	struct chunk_mac *m = chunk_mac_new(public_secret);
	bool made = m != NULL;

	chunk_mac_free(&m);
	return made;
}

static void change_big(struct box *box, const char *text)
{
	auto_close int fd = openat(box->root_fd, "big", O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, text, 1, 3 << 20), 1);
}

/* A snapshot trusts the authentication tag of a chunk and does not read its
 * bytes. */
static void test_damage_that_marks_pass_over_is_found_and_mended(void **state)
{
	struct box *box = *state;
	auto_free char *pack = NULL;
	auto_free char *path = NULL;
	struct seen seen = {0};
	AUTO(buf) struct buf faults = {0};
	struct verify_options o = {
		.sample = 100, .fault = note_fault, .arg = &faults};
	struct verify_result result;
	struct err err;

	marked_len = 1 << 20;
	put_file(box, "big", 7, 4u << 20);
	take_cached(box);
	change_big(box, "x");
	take_cached(box);
	store_free(&box->store);
	pack = pack_of_kind(box, PACK_DATA);
	path = store_path(box, "packs", pack);
	flip(path, 5000);
	ok(store_open(&box->store, box->store_root_fd, STORE_WRITE, &err));
	change_big(box, "y");
	take_cached(box);
	ok(verify_store(box->store, &o, &result, &err));
	/* Without the library, the last snapshot has stored the bytes again. */
	assert_non_null(strstr(buf_text(&faults), "path 2 big\n"));
	if (marks_are_made())
		assert_non_null(strstr(buf_text(&faults), "path 3 big\n"));
	store_free(&box->store);
	ok(repair_now(box, &seen, &err));
	assert_int_equal(seen.result.lost, 0);
	assert_string_equal(buf_text(&seen.lost), "");
	check_whole(box);
	buf_free(&seen.lost);
	marked_len = (uint64_t)32 << 20;
}

static void test_what_stays_lost_is_named_and_never_made_up(void **state)
{
	struct box *box = *state;
	auto_free char *data = NULL;
	struct seen seen = {0}, again = {0};
	struct prune_options o = {
		.policy = {.last = 9},
		.now = {.sec = timestamp_now().sec + 40 * 24 * 3600},
	};
	struct prune_result result;
	struct store *s = NULL;
	struct err err;

	fill(box);
	put_file(box, "b", 9, 70000); /* same size, other bytes */
	assert_int_equal(unlinkat(box->root_fd, "d/e", 0), 0);
	data = pack_of_kind(box, PACK_DATA);
	remove_from(box, "packs", data);
	ok(store_open(&s, box->store_root_fd, STORE_WRITE, &err));
	assert_int_equal(prune_run(s, &o, NULL, &result, &err), -EBADMSG);
	store_free(&s);
	ok(repair_now(box, &seen, &err));
	/* The pack had the first state; "a" of the second is in another pack.
	 */
	assert_string_equal(buf_text(&seen.lost),
			    "1 a\n1 b\n1 d/e\n2 b\n2 d/e\n");
	check_faults(box, "path 1 a\npath 1 b\npath 1 d/e\n"
			  "path 2 b\npath 2 d/e\n");
	ok(repair_now(box, &again, &err));
	assert_string_equal(buf_text(&again.lost), buf_text(&seen.lost));
	/* The loss is recorded: prune continues, and loses nothing else. */
	ok(store_open(&s, box->store_root_fd, STORE_WRITE, &err));
	ok(prune_run(s, &o, NULL, &result, &err));
	store_free(&s);
	check_faults(box, "path 1 a\npath 1 b\npath 1 d/e\n"
			  "path 2 b\npath 2 d/e\n");
	buf_free(&seen.lost);
	buf_free(&again.lost);
}

/* Unreadable bytes are stored again under another name: the old snapshots must
 * get them back, even if the user no longer has them. For a lost tree the
 * user's directory is needed: later trees refer to other names. */
static void stored_again(struct box *box, enum pack_kind kind, uint64_t where,
			 bool gone)
{
	auto_free char *pack = NULL, *path = NULL;
	struct seen seen = {0};
	struct err err;

	assert_return_code(mkdirat(box->root_fd, "d", 0755), errno);
	put_file(box, "big", 7, 4u << 20);
	put_file(box, "d/c", 3, 30);
	put_file(box, "d/e", 4, 100000);
	(void)take(box);
	store_free(&box->store);
	pack = pack_of_kind(box, kind);
	path = store_path(box, "packs", pack);
	flip(path, where);
	ok(store_open(&box->store, box->store_root_fd, STORE_WRITE, &err));
	(void)take(box);
	store_free(&box->store);
	if (gone)
		assert_int_equal(unlinkat(box->root_fd, "big", 0), 0);
	assert_int_equal(verify_now(box, true, NULL), 1);
	ok(repair_now(box, &seen, &err));
	assert_true(seen.result.again > 0);
	assert_int_equal(seen.result.roots, !gone);
	assert_string_equal(buf_text(&seen.lost), "");
	check_whole(box);
	buf_free(&seen.lost);
}

static void test_a_file_that_was_stored_again_since_is_found(void **state)
{
	stored_again(*state, PACK_DATA, 900000, true);
}

static void test_a_tree_that_was_stored_again_since_is_found(void **state)
{
	stored_again(*state, PACK_META, 64 + 56 + 20, false);
}

/* Two files of one hash in two snapshots. */
static void fill_colliding(struct box *box)
{
	auto_free unsigned char *original = fixture("original");
	auto_free unsigned char *forged = fixture("forged");
	struct err err;

	store_free(&box->store);
	(void)snprintf(box->store_root_fd, sizeof(box->store_root_fd),
		       "%s/public", box->dir);
	ok(store_dir_create(box->store_root_fd, HASH_XXH3_128, public_secret,
			    &err));
	ok(store_open(&box->store, box->store_root_fd, STORE_WRITE, &err));
	put_bytes(box, "a", original, 4096);
	put_file(box, "big", 1, 9000); /* the longest pack is the first's */
	(void)take(box);
	put_bytes(box, "a", forged, 4096);
	(void)take(box);
	store_free(&box->store);
	assert_int_equal(unlinkat(box->root_fd, "a", 0), 0);
}

static void test_of_two_that_collide_one_is_never_the_other(void **state)
{
	struct box *box = *state;
	auto_free char *pack = NULL, *path = NULL;
	struct seen seen = {0};
	struct err err;

	fill_colliding(box);
	pack = pack_of_kind(box, PACK_DATA);
	path = store_path(box, "packs", pack);
	flip(path, 300);
	ok(repair_now(box, &seen, &err));
	assert_int_equal(seen.result.again, 0);
	assert_string_equal(buf_text(&seen.lost), "1 a\n");
	check_faults(box, "path 1 a\n");
	buf_free(&seen.lost);
}

static void test_a_folder_that_is_gone_is_no_failure(void **state)
{
	struct box *box = *state;
	auto_free char *data = NULL, *aside = path_join(box->dir, "aside");
	struct seen seen = {0};
	struct err err;

	fill(box);
	data = pack_of_kind(box, PACK_DATA);
	remove_from(box, "packs", data);
	assert_return_code(rename(box->root, aside), errno);
	ok(repair_now(box, &seen, &err));
	assert_int_equal(seen.result.roots, 0);
	assert_true(seen.result.lost > 4);
	assert_return_code(rename(aside, box->root), errno);
	buf_free(&seen.lost);
}

static void test_flipped_bytes_lose_what_they_hit_and_no_more(void **state)
{
	struct box *box = *state;
	auto_free char *pack = NULL, *path = NULL, *aside = NULL;
	struct seen seen = {0};
	struct err err;

	fill(box);
	/* The live files must not help the repair. */
	aside = path_join(box->dir, "aside");
	assert_return_code(rename(box->root, aside), errno);
	pack = pack_of_kind(box, PACK_DATA);
	path = store_path(box, "packs", pack);
	flip(path, 20000); /* the record of the first large file */
	ok(repair_now(box, &seen, &err));
	assert_int_equal(seen.result.packs, 1);
	assert_int_equal(seen.result.lost, 2);
	assert_true(strcmp(buf_text(&seen.lost), "1 b\n2 b\n") == 0 ||
		    strcmp(buf_text(&seen.lost), "1 d/e\n2 d/e\n") == 0);
	assert_return_code(rename(aside, box->root), errno);
	buf_clear(&seen.lost);
	seen.result = (struct repair_result){0};
	/* Now they may help. */
	ok(repair_now(box, &seen, &err));
	assert_int_equal(seen.result.lost, 0);
	check_whole(box);
	buf_free(&seen.lost);
}

static void test_damaged_snapshots_and_secrets(void **state)
{
	struct box *box = *state;
	auto_free char *snap = NULL, *one = NULL, *two = NULL;
	struct seen seen = {0};
	struct err err;

	fill(box);
	snap = store_path(box, "snaps", "0000000001.gsn");
	one = path_join(box->store_root_fd, "secret");
	two = path_join(box->store_root_fd, "secret.2");
	flip(snap, 60);
	flip(one, 10);
	ok(repair_now(box, &seen, &err));
	assert_int_equal(seen.result.snapshots, 1);
	assert_int_equal(seen.result.secrets, 1);
	check_whole(box);
	flip(two, 197);
	ok(repair_now(box, &seen, &err));
	check_whole(box);
}

/* A flipped byte at short intervals: never a crash; afterwards everything
 * except the named paths is intact, and correct. */
static void test_any_flipped_byte_can_be_mended(void **state)
{
	struct box *box = *state;
	struct buf want[3] = {{0}, {0}, {0}};
	uint64_t seed = 77, seq;
	struct err err;
	int round;

	fill(box);
	for (seq = 1; seq <= 2; seq++)
		ok(snapshot_bytes(box, seq, &want[seq], &err));
	for (round = 0; round < 40; round++) {
		AUTO(dirlist) struct dirlist packs = {0};
		struct seen seen = {0};
		auto_free char *path = NULL;
		struct stat st;

		list_store(box, "packs", &packs);
		path = store_path(
			box, "packs",
			packs.items[chance(&seed) % packs.count].name);
		assert_return_code(stat(path, &st), errno);
		flip(path, chance(&seed) % (uint64_t)st.st_size);
		/* No other snapshot has "a" of the first. */
		put_file(box, "a", round % 2 ? 1 : 5, 900);
		ok(repair_now(box, &seen, &err));
		if (seen.result.lost) {
			put_file(box, "a", round % 2 ? 5 : 1, 900);
			ok(repair_now(box, &seen, &err));
		}
		buf_free(&seen.lost);
	}
	put_file(box, "a", 1, 900);
	ok(do_repair(box, &err));
	put_file(box, "a", 5, 900);
	ok(do_repair(box, &err));
	for (seq = 1; seq <= 2; seq++) {
		AUTO(buf) struct buf is = {0};

		if (snapshot_bytes(box, seq, &is, &err) < 0)
			continue; /* named by repair: a tree with old times */
		assert_int_equal(is.len, want[seq].len);
		assert_memory_equal(is.data, want[seq].data, is.len);
	}
	for (seq = 0; seq < 3; seq++)
		buf_free(&want[seq]);
}

/* An index, a record, a snapshot's file and the secret at once. */
static void hurt(struct box *box)
{
	auto_free char *meta = NULL, *data = NULL, *snap = NULL, *secret = NULL;
	auto_free char *meta_path = NULL, *data_path = NULL;
	struct stat st;

	fill(box);
	meta = pack_of_kind(box, PACK_META);
	data = pack_of_kind(box, PACK_DATA);
	meta_path = store_path(box, "packs", meta);
	data_path = store_path(box, "packs", data);
	assert_return_code(stat(meta_path, &st), errno);
	flip(meta_path, (uint64_t)st.st_size - 20);
	flip(data_path, 20000);
	snap = store_path(box, "snaps", "0000000001.gsn");
	secret = path_join(box->store_root_fd, "secret");
	flip(snap, 60);
	flip(secret, 60);
}

static void check_mended(struct box *box)
{
	AUTO(buf) struct buf is = {0};
	struct err err;

	check_whole(box);
	ok(snapshot_bytes(box, 2, &is, &err));
	assert_true(is.len > 170000);
}

static void test_killed_at_any_call_it_goes_on(void **state)
{
	unsigned int at;
	bool ended = false;
	struct err err;

	(void)state;
	for (at = 1; !ended; at++) {
		void *sub;
		int status;
		pid_t pid;

		calls_reset();
		(void)setup(&sub);
		hurt(sub);
		pid = fork();
		assert_return_code(pid, errno);
		if (pid == 0) {
			calls_reset();
			calls.at = at;
			calls.after = at % 2;
			_exit(do_repair(sub, &err) < 0 ? 1 : 0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		ended = WIFEXITED(status);
		assert_true(status == 0 || WTERMSIG(status) == SIGKILL);
		if (!ended)
			ok(do_repair(sub, &err));
		check_mended(sub);
		(void)teardown(&sub);
	}
	print_message("# %u calls\n", at - 2);
	assert_true(at > 25);
}

static void test_any_call_may_fail(void **state)
{
	unsigned int at;
	bool fired = true;
	int failed = 0;
	struct err err;

	(void)state;
	for (at = 1; fired; at++) {
		void *sub;
		int got;

		calls_reset();
		(void)setup(&sub);
		hurt(sub);
		calls_reset();
		calls.at = at;
		calls.error = at % 2 ? EIO : ENOSPC;
		got = do_repair(sub, &err);
		fired = calls.count >= at;
		calls_reset();
		if (got < 0) {
			failed++;
			assert_int_equal(got, -err.num);
		}
		ok(do_repair(sub, &err));
		check_mended(sub);
		(void)teardown(&sub);
	}
	assert_true(failed > 10);
}

int main(void)
{
#define t(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		t(test_a_whole_store_is_left_as_it_is),
		t(test_a_damaged_index_loses_nothing),
		t(test_what_the_user_still_has_is_there_again),
		t(test_a_long_file_is_filled_in_chunk_by_chunk),
		t(test_damage_that_marks_pass_over_is_found_and_mended),
		t(test_what_stays_lost_is_named_and_never_made_up),
		t(test_a_file_that_was_stored_again_since_is_found),
		t(test_a_tree_that_was_stored_again_since_is_found),
		t(test_of_two_that_collide_one_is_never_the_other),
		t(test_a_folder_that_is_gone_is_no_failure),
		t(test_flipped_bytes_lose_what_they_hit_and_no_more),
		t(test_damaged_snapshots_and_secrets),
		t(test_any_flipped_byte_can_be_mended),
		cmocka_unit_test(test_killed_at_any_call_it_goes_on),
		cmocka_unit_test(test_any_call_may_fail),
	};

	calls_unsynced = true;
	ring_forbid(true);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
