/* prune and undelete against a model of plain copies, killed and failing at
 * every call, and with other processes that take snapshots. */
/* users: one */
#include "snapshot/store/store_dir.c"
#include "snapshot/store/store_index.c"

#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/unit/snap_fixture.h"

#include "snapshot/maintain/prune.h"
#include "snapshot/maintain/purge.h"
#include "snapshot/maintain/trash.h"
#include "snapshot/store/packformat.h"
#include "tests/unit/calls.h"
#include "tests/unit/collision.h"
#include "tests/unit/keep_fixture.h"

#define DAY ((int64_t)24 * 3600)

int mkdirat(int dirfd, const char *name, mode_t mode)
{
	if (call_fails("mkdir", name))
		return -1;
	return (int)call_done(syscall(SYS_mkdirat, dirfd, name, mode));
}

int unlinkat(int dirfd, const char *name, int flags)
{
	if (call_fails("unlink", name))
		return -1;
	return (int)call_done(syscall(SYS_unlinkat, dirfd, name, flags));
}

/* --- the model --- */

struct model {
	struct buf want[200]; /* index: number; len 0: no such snapshot */
	uint64_t count; /* highest number */
};

static void model_free(struct model *m)
{
	size_t i;

	for (i = 0; i < 200; i++)
		buf_free(&m->want[i]);
}

static const char *const names[] = {"a", "b", "c", "d", "d/x", "d/y", "e"};

/* The project in the form of snapshot_bytes(). */
static void disk_bytes(struct box *box, struct buf *to)
{
	struct stat st;
	size_t i;

	assert_return_code(fstat(box->root_fd, &st), errno);
	buf_printf(to, " %o 0  \n", st.st_mode);
	for (i = 0; i < 7; i++) {
		struct err err;

		if (fstatat(box->root_fd, names[i], &st, 0) < 0)
			continue;
		buf_printf(to, "%s %o %lld  ", names[i], st.st_mode,
			   S_ISDIR(st.st_mode) ? 0 : (long long)st.st_size);
		if (S_ISREG(st.st_mode))
			ok(fd_slurp_at(box->root_fd, names[i], 1u << 30, to,
				       &err));
		buf_add_char(to, '\n');
	}
}

static uint64_t model_take(struct box *box, struct model *m, int64_t sec)
{
	uint64_t seq = take_at(box, box->store, sec), i;

	assert_true(seq < 200);
	for (i = m->count + 1; i <= seq; i++)
		disk_bytes(box, &m->want[i]);
	m->count = seq;
	return seq;
}

static bool is_in_snaps(struct box *box, uint64_t seq)
{
	char name[32];
	auto_free char *path = NULL;

	catalog_file_name(name, seq);
	path = store_path(box, "snaps", name);
	return access(path, F_OK) == 0;
}

/* Every snapshot in snaps/ equals its copy, and none is missing from snaps/ and
 * trash/ together. */
static void check_model(struct box *box, const struct model *m)
{
	AUTO(trash_list) struct trash_list trash = {0};
	AUTO(store) struct store *s = NULL;
	struct err err;
	uint64_t seq;
	size_t i;

	check_whole(box);
	ok(store_open(&s, box->store_root_fd, STORE_READ, &err));
	ok(trash_snapshots(s, &trash, &err));
	for (seq = 1; seq <= m->count; seq++) {
		AUTO(buf) struct buf is = {0};

		if (!is_in_snaps(box, seq)) {
			for (i = 0; i < trash.count; i++)
				if (trash.items[i].snapshot.seq == seq)
					break;
			assert_true(i < trash.count);
			continue;
		}
		ok(snapshot_bytes(box, seq, &is, &err));
		assert_int_equal(is.len, m->want[seq].len);
		assert_memory_equal(is.data, m->want[seq].data, is.len);
	}
}

static void edit(struct box *box, uint64_t *seed)
{
	static const size_t lens[] = {0, 10, 500, 5000, 66000, 200000, 1200000};
	const char *name = names[chance(seed) % 7];

	if (strcmp(name, "d") == 0)
		return;
	if (chance(seed) % 4 == 0)
		(void)syscall(SYS_unlinkat, box->root_fd, name, 0);
	else
		put_file(box, name, chance(seed) % 50,
			 lens[chance(seed) % (chance(seed) % 8 ? 5 : 7)]);
}

/* Opens a store for writing, as the verbs do. */
static int prune_with(struct box *box, struct prune_options *o,
		      struct prune_result *ret, struct err *err)
{
	AUTO(store) struct store *s = NULL;
	AUTO(prune_plan) struct prune_plan plan = {0};
	int got;

	if (store_open(&s, box->store_root_fd, STORE_WRITE, err) < 0)
		return -err->num;
	got = prune_plan(s, o, &plan, err);
	return got < 0 ? got : prune_run(s, o, &plan, ret, err);
}

static int undelete(struct box *box, uint64_t seq, struct err *err)
{
	AUTO(store) struct store *s = NULL;

	if (store_open(&s, box->store_root_fd, STORE_WRITE, err) < 0)
		return -err->num;
	return trash_undelete(s, &seq, 1, err);
}

static int64_t later(int64_t seconds)
{
	return timestamp_now().sec + seconds;
}

/* The test's own open store would block prune. */
static void let_go(struct box *box)
{
	store_free(&box->store);
}

static void take_hold(struct box *box)
{
	struct err err;

	ok(store_open(&box->store, box->store_root_fd, STORE_WRITE, &err));
}

static uint64_t store_bytes(struct box *box, const char *folder)
{
	AUTO(dirlist) struct dirlist list = {0};
	uint64_t sum = 0;
	size_t i;

	list_store(box, folder, &list);
	for (i = 0; i < list.count; i++) {
		auto_free char *path =
			store_path(box, folder, list.items[i].name);
		struct stat st;

		assert_return_code(lstat(path, &st), errno);
		sum += (uint64_t)st.st_size;
	}
	return sum;
}

/* --- tests --- */

static void test_random_prunes_and_undeletes_agree_with_copies(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	const char *named = getenv("SEED");
	uint64_t seed = named ? strtoull(named, NULL, 0)
			      : (uint64_t)timestamp_now().nsec + 1;
	uint64_t first = seed;
	int64_t now = later(DAY);
	struct err err;
	int round, removed = 0, back = 0;

	print_message("# SEED=%llu\n", (unsigned long long)first);
	assert_return_code(syscall(SYS_mkdirat, box->root_fd, "d", 0755),
			   errno);
	for (round = 0; round < 60; round++) {
		unsigned int what = chance(&seed) % 10;

		now += (int64_t)(chance(&seed) % (2 * DAY));
		if (what < 6) {
			int edits = 1 + (int)(chance(&seed) % 3);

			while (edits--)
				edit(box, &seed);
			(void)model_take(box, &m, now);
		} else if (what < 9) {
			struct prune_options o = {
				.policy = {.last = chance(&seed) % 5,
					   .daily = chance(&seed) % 4,
					   .within = (int64_t)(chance(&seed) %
							       (5 * DAY))},
				.max_size = chance(&seed) % 3
						    ? 0
						    : chance(&seed) % 3000000,
				.now = {.sec = now},
			};
			struct prune_result result;

			let_go(box);
			ok(prune_with(box, &o, &result, &err));
			take_hold(box);
			removed += (int)result.snapshots;
		} else if (m.count) {
			uint64_t seq = 1 + chance(&seed) % m.count;
			bool there = is_in_snaps(box, seq);

			if (undelete(box, seq, &err) == 0)
				back++;
			else
				assert_true(err.num == ENOENT);
			assert_true(there || is_in_snaps(box, seq) ||
				    now > timestamp_now().sec + 7 * DAY);
		}
		check_whole(box);
	}
	/* The prune empties the trash after seven days of the test's time, so
	 * only snapshots still in snaps/ can be compared. */
	for (round = 1; round <= (int)m.count; round++) {
		AUTO(buf) struct buf is = {0};

		if (!is_in_snaps(box, (uint64_t)round))
			continue;
		ok(snapshot_bytes(box, (uint64_t)round, &is, &err));
		assert_int_equal(is.len, m.want[round].len);
		assert_memory_equal(is.data, m.want[round].data, is.len);
	}
	assert_true(removed > 0);
	print_message("# %d removed, %d brought back\n", removed, back);
}

/* Ten snapshots that are a month old, and three that stay; some of them have
 * files of their own, so that packs are needed in part. */
static void fill(struct box *box, struct model *m)
{
	int i;

	assert_return_code(syscall(SYS_mkdirat, box->root_fd, "d", 0755),
			   errno);
	put_file(box, "d/x", 100, 3000); /* in every snapshot */
	for (i = 0; i < 5; i++) {
		put_file(box, "a", 200 + (uint64_t)i, 70000);
		put_file(box, "b", 300 + (uint64_t)i, 900);
		put_file(box, "d/y", 400 + (uint64_t)i, 20);
		(void)model_take(box, m, later(-30 * DAY));
	}
	let_go(box);
}

static struct prune_options month_later(void)
{
	return (struct prune_options){.now = {.sec = later(31 * DAY)}};
}

static void test_what_goes_can_be_brought_back_whole(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	struct prune_options o = month_later();
	struct prune_result result;
	uint64_t before, seq;
	struct err err;

	fill(box, &m);
	before = store_bytes(box, "packs");
	ok(prune_with(box, &o, &result, &err));
	assert_int_equal(result.snapshots, m.count - 3);
	assert_true(result.packs > 0);
	assert_true(store_bytes(box, "packs") < before);
	check_model(box, &m);
	for (seq = 1; seq <= m.count; seq++) {
		if (seq + 3 <= m.count) {
			assert_false(is_in_snaps(box, seq));
			ok(undelete(box, seq, &err));
		}
		assert_true(is_in_snaps(box, seq));
	}
	check_model(box, &m);
	/* Removes them again. */
	ok(prune_with(box, &o, &result, &err));
	assert_int_equal(result.snapshots, m.count - 3);
	check_model(box, &m);
}

static void test_a_second_prune_has_nothing_to_do(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	struct prune_options o = month_later();
	struct prune_result result;
	struct err err;

	fill(box, &m);
	ok(prune_with(box, &o, &result, &err));
	ok(prune_with(box, &o, &result, &err));
	assert_int_equal(result.snapshots, 0);
	assert_int_equal(result.packs, 0);
	assert_int_equal(result.written, 0);
}

/* All objects are needed; opening a store costs some calls for each pack. */
static void test_many_small_packs_become_few(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	AUTO(dirlist) struct dirlist before = {0}, after = {0};
	struct prune_options o = month_later();
	struct prune_result result;
	struct err err;
	uint64_t i;

	o.policy.last = 100;
	for (i = 0; i < 40; i++) {
		put_file(box, "a", i + 1000, 2000);
		put_file(box, "b", i / 3, 70000);
		(void)model_take(box, &m, 0);
	}
	store_free(&box->store);
	list_store(box, "packs", &before);
	assert_true(before.count > 64);
	ok(prune_with(box, &o, &result, &err));
	assert_int_equal(result.snapshots, 0);
	list_store(box, "packs", &after);
	assert_in_range(after.count, 2, 6);
	check_model(box, &m);
	ok(prune_with(box, &o, &result, &err));
	assert_int_equal(result.packs, 0);
}

static void test_a_plan_changes_nothing_and_says_what_happens(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	AUTO(prune_plan) struct prune_plan plan = {0};
	AUTO(dirlist) struct dirlist before = {0}, after = {0};
	struct prune_options o = month_later();
	struct prune_result result;
	struct store *s = NULL;
	uint64_t bytes;
	struct err err;

	fill(box, &m);
	list_store(box, "packs", &before);
	bytes = store_bytes(box, "packs");
	ok(store_open(&s, box->store_root_fd, STORE_READ, &err));
	ok(prune_plan(s, &o, &plan, &err));
	store_free(&s);
	list_store(box, "packs", &after);
	assert_int_equal(before.count, after.count);
	assert_int_equal(plan.drop_snapshots, m.count - 3);
	assert_int_equal(plan.bytes, bytes);
	assert_true(plan.drop_packs > 0);
	assert_true(plan.repack_packs > 0);
	ok(prune_with(box, &o, &result, &err));
	assert_int_equal(result.snapshots, plan.drop_snapshots);
	assert_int_equal(result.packs, plan.drop_packs + plan.repack_packs);
	/* The tolerance covers headers and indexes of the new packs. */
	assert_in_range(bytes - store_bytes(box, "packs"),
			plan.frees - plan.frees / 10 - 8192,
			plan.frees + plan.frees / 10);
}

static void test_the_trash_is_emptied_after_seven_days(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	AUTO(dirlist) struct dirlist list = {0};
	struct prune_options o = month_later();
	struct prune_result result;
	auto_free char *stranger = NULL;
	struct err err;

	fill(box, &m);
	ok(prune_with(box, &o, &result, &err));
	stranger = path_join(box->store_root_fd, "trash/notes");
	assert_return_code(mkdir(stranger, 0700), errno);
	o.now.sec += 7 * DAY;
	ok(prune_with(box, &o, &result, &err));
	ok(undelete(box, 1, &err));
	assert_true(is_in_snaps(box, 1));
	o.now.sec += 1;
	ok(prune_with(box, &o, &result, &err));
	o.now.sec += 7 * DAY + 1;
	ok(prune_with(box, &o, &result, &err));
	list_store(box, "trash", &list);
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].name, "notes");
	assert_int_equal(undelete(box, 1, &err), -ENOENT);
	check_whole(box);
}

static void test_pins_and_a_budget(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	uint64_t pins[] = {2, 5};
	struct prune_options o = {
		.policy = {.last = 100},
		.pins = pins,
		.pin_count = 2,
		.max_size = 1,
		.now = {.sec = later(31 * DAY)},
	};
	struct prune_result result;
	uint64_t seq;
	struct err err;

	fill(box, &m);
	ok(prune_with(box, &o, &result, &err));
	for (seq = 1; seq <= m.count; seq++)
		assert_int_equal(is_in_snaps(box, seq),
				 seq == 2 || seq == 5 || seq + 3 > m.count);
	check_model(box, &m);
	o.max_size = 1u << 30;
	ok(prune_with(box, &o, &result, &err));
	assert_int_equal(result.snapshots, 0);
}

static void test_a_budget_keeps_the_newest_that_fit(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	struct prune_options o = {
		.policy = {.last = 100},
		/* The three newest need two versions of "a". */
		.max_size = 3 * 75000 + 20000,
		.now = {.sec = later(31 * DAY)},
	};
	struct prune_result result;
	struct err err;

	fill(box, &m); /* two snapshots for each version */
	ok(prune_with(box, &o, &result, &err));
	assert_int_equal(result.snapshots, 4);
	assert_true(is_in_snaps(box, 5));
	assert_false(is_in_snaps(box, 4));
	check_model(box, &m);
}

/* A pack of which most is needed is repacked for a size limit only. */
static void test_a_budget_leaves_no_room_unused(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	struct prune_options o = {
		.policy = {.last = 100},
		.now = {.sec = later(31 * DAY)},
	};
	struct prune_result result;
	struct err err;
	int i;

	assert_return_code(syscall(SYS_mkdirat, box->root_fd, "d", 0755),
			   errno);
	for (i = 0; i < 4; i++)
		put_file(box, names[i == 3 ? 6 : i], 10 + (uint64_t)i, 80000);
	(void)model_take(box, &m, later(-30 * DAY));
	assert_int_equal(syscall(SYS_unlinkat, box->root_fd, "a", 0), 0);
	(void)model_take(box, &m, later(-30 * DAY));
	(void)model_take(box, &m, later(-30 * DAY));
	let_go(box);
	o.policy.last = 0;
	ok(prune_with(box, &o, &result, &err));
	assert_true(result.snapshots > 0);
	assert_true(store_bytes(box, "packs") > 320000);
	o.max_size = 260000;
	ok(prune_with(box, &o, &result, &err));
	assert_in_range(store_bytes(box, "packs"), 240000, 260000);
	check_model(box, &m);
	ok(prune_with(box, &o, &result, &err));
	assert_int_equal(result.written, 0);
}

static void test_a_missing_object_stops_everything(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	AUTO(dirlist) struct dirlist list = {0}, packs = {0};
	struct prune_options o = month_later();
	struct prune_result result;
	auto_free char *pack = NULL;
	struct err err;

	fill(box, &m);
	/* The pack has d/x, which all snapshots need. */
	pack = pack_of_kind(box, PACK_DATA);
	remove_from(box, "packs", pack);
	list_store(box, "packs", &packs);
	assert_int_equal(prune_with(box, &o, &result, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "nothing removed"));
	assert_non_null(strstr(err.text, "d/x"));
	list_store(box, "trash", &list);
	assert_int_equal(list.count, 0);
	dirlist_free(&list);
	list_store(box, "packs", &list);
	assert_int_equal(list.count, packs.count);
}

static void test_a_damaged_snapshot_stops_everything(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	struct prune_options o = month_later();
	struct prune_result result;
	auto_free char *snap = NULL;
	struct err err;

	fill(box, &m);
	snap = store_path(box, "snaps", "0000000001.gsn");
	flip(snap, 50);
	assert_int_equal(prune_with(box, &o, &result, &err), -EBADMSG);
	flip(snap, 50);
	check_model(box, &m);
}

/* A damaged record in a pack that must be repacked. */
static void test_damage_found_on_the_way_stops_it(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	AUTO(dirlist) struct dirlist list = {0};
	struct prune_options o = month_later();
	struct prune_result result;
	auto_free char *pack = NULL, *path = NULL;
	struct stat st;
	struct err err;

	fill(box, &m);
	pack = pack_of_kind(box, PACK_DATA);
	path = store_path(box, "packs", pack);
	assert_return_code(stat(path, &st), errno);
	/* The last record is the block with d/x. */
	flip(path, (uint64_t)st.st_size - 64 - 1024 - 4 * 40 - 40);
	assert_int_equal(prune_with(box, &o, &result, &err), -EBADMSG);
	list_store(box, "trash", &list);
	assert_int_equal(list.count, 0);
	dirlist_free(&list);
	list_store(box, "tmp", &list);
	assert_int_equal(list.count, 0);
}

/* --- at every call --- */

/* Returns 1 at its normal end, 0 if it was killed. */
static int run_killed(struct box *box, unsigned int at, bool after,
		      int (*what)(struct box *box, struct err *err))
{
	pid_t pid = fork();
	int status;

	assert_return_code(pid, errno);
	if (pid == 0) {
		struct err err;

		calls_reset();
		calls.at = at;
		calls.after = after;
		_exit(what(box, &err) < 0 ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status)) {
		assert_int_equal(WTERMSIG(status), SIGKILL);
		return 0;
	}
	assert_int_equal(WEXITSTATUS(status), 0);
	return 1;
}

static int do_prune(struct box *box, struct err *err)
{
	struct prune_options o = month_later();
	struct prune_result result;

	return prune_with(box, &o, &result, err);
}

static int do_undelete(struct box *box, struct err *err)
{
	return undelete(box, 1, err);
}

static void kill_everywhere(bool after)
{
	unsigned int at, ended = 0;
	struct err err;

	for (at = 1; !ended; at++) {
		AUTO(model) struct model m = {0};
		void *sub;

		calls_reset();
		(void)setup(&sub);
		fill(sub, &m);
		ended = (unsigned int)run_killed(sub, at, after, do_prune);
		check_model(sub, &m);
		/* The next prune completes the work. */
		ok(do_prune(sub, &err));
		check_model(sub, &m);
		assert_false(is_in_snaps(sub, 1));
		if (at % 5 == 0) {
			ok(undelete(sub, 1, &err));
			check_model(sub, &m);
		}
		(void)teardown(&sub);
	}
	print_message("# %u calls\n", at - 2);
	assert_true(at > 20);
}

static void test_prune_killed_before_any_call_loses_nothing(void **state)
{
	(void)state;
	kill_everywhere(false);
}

static void test_prune_killed_after_any_call_loses_nothing(void **state)
{
	(void)state;
	kill_everywhere(true);
}

/* --- purge --- */

static int do_purge(struct box *box, struct err *err)
{
	auto_free char *path = path_join(box->root, "b");
	struct prune_options o = {.now = {.sec = later(DAY)}};
	struct purge_result result;
	struct store *s = NULL;
	int got = store_open(&s, box->store_root_fd, STORE_WRITE, err);

	if (got == 0)
		got = purge_path(s, path, &o, &result, err);
	store_free(&s);
	return got;
}

/* The number of snapshots with b; all other files of each snapshot must be
 * readable. */
static size_t count_with_b(struct box *box, const struct model *m)
{
	AUTO(store) struct store *s = NULL;
	uint64_t seq;
	size_t n = 0;
	struct err err;

	check_whole(box);
	ok(store_open(&s, box->store_root_fd, STORE_READ, &err));
	for (seq = 1; seq <= m->count; seq++) {
		AUTO(snapshot) struct snapshot snap = {0};
		AUTO(entry) struct entry a = {0}, b = {0};
		AUTO(buf) struct buf bytes = {0};

		ok(catalog_load(s, seq, &snap, &err));
		assert_int_equal(tree_lookup(s, &snap.root, "a", &a, &err), 1);
		assert_int_equal(a.size, 70000);
		ok(store_get(s, &a.content, &bytes, &err));
		assert_int_equal(tree_lookup(s, &snap.root, "b", &b, &err), 1);
		if (b.flags & ENTRY_INCOMPLETE) {
			assert_non_null(snapshot_purge_note(&snap, "b"));
			assert_null(snapshot_purge_note(&snap, "a"));
			continue;
		}
		ok(store_get(s, &b.content, &bytes, &err));
		n++;
	}
	return n;
}

static void test_purge_killed_at_any_call_is_ended_by_the_next(void **state)
{
	unsigned int at, ended = 0;
	struct err err;

	(void)state;
	/* Every third call: all of them would take ten seconds. */
	for (at = 1; !ended; at += 3) {
		AUTO(model) struct model m = {0};
		AUTO(dirlist) struct dirlist trash = {0};
		void *sub;
		uint64_t bytes;

		calls_reset();
		(void)setup(&sub);
		fill(sub, &m);
		bytes = store_bytes(sub, "packs");
		ended = (unsigned int)run_killed(sub, at, false, do_purge);
		(void)count_with_b(sub, &m);
		ok(do_purge(sub, &err));
		assert_int_equal(count_with_b(sub, &m), 0);
		assert_true(store_bytes(sub, "packs") < bytes);
		list_store(sub, "trash", &trash);
		assert_int_equal(trash.count, 0);
		(void)teardown(&sub);
	}
	print_message("# %u calls\n", at - 2);
	assert_true(at > 20);
}

static void test_undelete_killed_at_any_call_loses_nothing(void **state)
{
	unsigned int at, ended = 0;
	struct err err;

	(void)state;
	for (at = 1; !ended; at++) {
		AUTO(model) struct model m = {0};
		void *sub;

		calls_reset();
		(void)setup(&sub);
		fill(sub, &m);
		ok(do_prune(sub, &err));
		ended = (unsigned int)run_killed(sub, at, false, do_undelete);
		check_model(sub, &m);
		if (!is_in_snaps(sub, 1))
			ok(undelete(sub, 1, &err));
		check_model(sub, &m);
		assert_true(is_in_snaps(sub, 1));
		(void)teardown(&sub);
	}
	assert_true(at > 8);
}

static void fail_everywhere(int error,
			    int (*before)(struct box *box, struct err *err),
			    int (*what)(struct box *box, struct err *err))
{
	unsigned int at;
	int failed = 0;
	bool fired = true;
	struct err err;

	for (at = 1; fired; at++) {
		AUTO(model) struct model m = {0};
		void *sub;
		int got;

		calls_reset();
		(void)setup(&sub);
		fill(sub, &m);
		if (before)
			ok(before(sub, &err));
		calls_reset();
		calls.at = at;
		calls.error = error;
		err.num = 0;
		got = what(sub, &err);
		fired = calls.count >= at;
		calls_reset();
		if (got < 0) {
			failed++;
			assert_int_equal(got, -err.num);
			assert_true(err.text[0]);
		}
		check_model(sub, &m);
		if (got < 0)
			ok(what(sub, &err));
		check_model(sub, &m);
		(void)teardown(&sub);
	}
	assert_true(failed > 5);
}

static void test_any_call_of_prune_may_fail(void **state)
{
	(void)state;
	fail_everywhere(EIO, NULL, do_prune);
}

static void test_any_call_of_prune_may_find_the_disk_full(void **state)
{
	(void)state;
	fail_everywhere(ENOSPC, NULL, do_prune);
}

static int undelete_if_gone(struct box *box, struct err *err)
{
	return is_in_snaps(box, 1) ? 0 : undelete(box, 1, err);
}

static void test_any_call_of_undelete_may_fail(void **state)
{
	(void)state;
	fail_everywhere(EIO, do_prune, undelete_if_gone);
}

static void test_everything_is_synced_in_order(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	AUTO(buf) struct buf trace = {0};
	struct prune_options o = month_later();
	struct prune_result result;
	struct err err;
	char *text, *line, *rest;
	enum {
		PACKS_NEW,
		SNAPS_OUT,
		SNAPS_SYNCED,
		PACKS_OUT,
		SYNCED
	} at = PACKS_NEW;
	bool new_synced = true, to_synced = true;
	auto_free char *trash = mem_printf("%lld-prune", (long long)o.now.sec);
	auto_free char *to_trash = mem_printf("rename %s", trash);
	auto_free char *sync_trash = mem_printf("fsync %s", trash);

	fill(box, &m);
	calls_reset();
	calls.trace = &trace;
	ok(prune_with(box, &o, &result, &err));
	calls_reset();
	assert_int_equal(result.snapshots, m.count - 3);
	text = mem_strdup(buf_text(&trace));
	for (line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (strcmp(line, "rename packs") == 0) {
			assert_int_equal(at, PACKS_NEW);
			new_synced = false;
		} else if (strcmp(line, to_trash) == 0) {
			/* New packs are durable before old ones go. */
			assert_true(new_synced);
			if (at == PACKS_NEW)
				at = SNAPS_OUT;
			else if (at == SNAPS_SYNCED)
				at = PACKS_OUT;
			to_synced = false;
		} else if (strcmp(line, sync_trash) == 0) {
			to_synced = true;
		} else if (strcmp(line, "fsync snaps") == 0) {
			assert_true(to_synced);
			assert_int_equal(at, SNAPS_OUT);
			at = SNAPS_SYNCED;
		} else if (strcmp(line, "fsync packs") == 0) {
			assert_true(to_synced);
			new_synced = true;
			if (at == PACKS_OUT)
				at = SYNCED;
		}
	}
	free(text);
	assert_int_equal(at, SYNCED);
}

/* --- others --- */

/* A child that keeps the store open until the caller releases its lock on the
 * project's directory, which the caller has from now on; then it takes snapshot
 * seq (0: none). */
static pid_t start_writer(struct box *box, uint64_t seq)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_return_code(pipe2(ready, O_CLOEXEC), errno);
	assert_return_code(flock(box->root_fd, LOCK_EX), errno);
	pid = fork();
	assert_return_code(pid, errno);
	if (pid == 0) {
		auto_close int fd =
			open(box->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct store *s = NULL;
		struct err err;

		if (store_open(&s, box->store_root_fd, STORE_WRITE, &err) < 0)
			_exit(1);
		(void)!write(ready[1], "x", 1);
		(void)flock(fd, LOCK_EX);
		_exit(seq && take_at(box, s, 0) != seq);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	(void)close(ready[1]);
	return pid;
}

static void note_busy(void *arg, const char *who)
{
	struct box *box = arg;

	assert_non_null(strstr(who, "process"));
	/* The blocking process ends now, and prune continues without a retry by
	 * the caller. */
	(void)flock(box->root_fd, LOCK_UN);
}

static void test_prune_waits_for_who_has_the_store_and_names_him(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	struct prune_options o = month_later();
	struct prune_result result;
	struct err err;
	int status;
	pid_t pid;

	fill(box, &m);
	pid = start_writer(box, 0);
	assert_int_equal(prune_with(box, &o, &result, &err), -EBUSY);
	assert_non_null(strstr(err.text, "process"));
	check_model(box, &m);
	o.busy = note_busy;
	o.arg = box;
	ok(prune_with(box, &o, &result, &err));
	assert_int_equal(result.snapshots, m.count - 3);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	check_model(box, &m);
}

/* Objects that were unused when prune marked are used again before it has the
 * exclusive lock. */
static void test_what_is_used_again_at_the_last_moment_stays(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	struct prune_options o = month_later();
	struct prune_result result;
	AUTO(buf) struct buf is = {0};
	struct err err;
	int status;
	uint64_t seq;
	pid_t pid;

	fill(box, &m);
	put_file(box, "a", 200, 70000); /* as in the first snapshot */
	put_file(box, "b", 300, 900);
	put_file(box, "d/y", 400, 20);
	seq = m.count + 1;
	disk_bytes(box, &m.want[seq]);
	pid = start_writer(box, seq);
	o.busy = note_busy;
	o.arg = box;
	ok(prune_with(box, &o, &result, &err));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(result.snapshots > 0);
	check_whole(box);
	ok(snapshot_bytes(box, seq, &is, &err));
	assert_int_equal(is.len, m.want[seq].len);
	assert_memory_equal(is.data, m.want[seq].data, is.len);
}

struct replacing {
	struct box *box;
	uint64_t by; /* the snapshot whose root the newest one has now */
};

/* Each time that the fate of all packs is decided, the newest snapshot gets the
 * root of another one, until prune has the store alone. */
static void replace_newest(void *arg, const char *noun, uint64_t done,
			   uint64_t total)
{
	struct replacing *r = arg;
	auto_free char *path = path_join(r->box->store_root_fd, "lock");
	auto_close int lock = open(path, O_RDONLY | O_CLOEXEC);
	AUTO(store) struct store *s = NULL;
	AUTO(snapshot) struct snapshot first = {0}, newest = {0};
	struct entry root;
	uint64_t seq;
	struct err err;

	assert_return_code(lock, errno);
	if (!noun || strcmp(noun, "pack") != 0 || done != total ||
	    flock(lock, LOCK_SH | LOCK_NB) < 0)
		return;
	ok(store_open(&s, r->box->store_root_fd, STORE_WRITE, &err));
	ok(catalog_newest(s, &seq, &err));
	r->by = r->by == 1 ? 4 : 1;
	ok(catalog_load(s, r->by, &first, &err));
	ok(catalog_load(s, seq, &newest, &err));
	root = newest.root;
	newest.root = first.root;
	first.root = root;
	ok(catalog_replace(s, &newest, &err));
}

/* No name in packs/ or snaps/ tells it. */
static void test_what_a_replaced_snapshot_needs_stays(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	struct prune_options o = month_later();
	struct prune_result result;
	AUTO(buf) struct buf is = {0};
	struct replacing r = {.box = box};
	struct err err;

	fill(box, &m);
	o.progress = replace_newest;
	o.arg = &r;
	ok(prune_with(box, &o, &result, &err));
	assert_true(result.snapshots > 0);
	check_whole(box);
	ok(snapshot_bytes(box, m.count, &is, &err));
	assert_int_equal(is.len, m.want[r.by].len);
	assert_memory_equal(is.data, m.want[r.by].data, is.len);
}

static void be_quiet(void *arg, const char *who)
{
	(void)arg;
	(void)who;
}

static void snapshot_all_the_time(struct box *box, int rounds)
{
	uint64_t seed = 99;
	struct err err;
	int i;

	for (i = 0; i < rounds; i++) {
		struct store *s = NULL;

		edit(box, &seed);
		/* The content of an earlier snapshot: unused objects are used
		 * again. */
		put_file(box, "e", (uint64_t)i % 3, 66000);
		if (store_open(&s, box->store_root_fd, STORE_WRITE, &err) < 0)
			_exit(1);
		(void)take_at(box, s, later(-40 * DAY));
		store_free(&s);
	}
	_exit(0);
}

static void test_prunes_beside_snapshots_lose_nothing(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	struct prune_options o = month_later();
	struct prune_result result;
	uint64_t removed = 0;
	struct err err;
	int status, prunes = 0;
	pid_t pid, got;

	fill(box, &m);
	o.busy = be_quiet;
	pid = fork();
	assert_return_code(pid, errno);
	if (pid == 0)
		snapshot_all_the_time(box, 60);
	do {
		got = waitpid(pid, &status, WNOHANG);
		ok(prune_with(box, &o, &result, &err));
		removed += result.snapshots;
		prunes++;
		check_whole(box);
	} while (got == 0);
	assert_int_equal(got, pid);
	assert_int_equal(status, 0);
	assert_true(removed > 20);
	print_message("# %d prunes, %llu removed\n", prunes,
		      (unsigned long long)removed);
}

static void test_two_at_once_take_turns(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	AUTO(store) struct store *s = NULL;
	struct err err;
	int fd;

	fill(box, &m);
	ok(store_open(&s, box->store_root_fd, STORE_WRITE, &err));
	fd = trash_open(s, &err);
	assert_return_code(fd, errno);
	assert_int_equal(do_prune(box, &err), -EBUSY);
	assert_int_equal(undelete(box, 1, &err), -EBUSY);
	(void)close(fd);
	store_free(&s);
	ok(do_prune(box, &err));
}

/* A reader has no lock: packs that it has not opened may move. */
static void test_a_reader_finds_what_moved_meanwhile(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	AUTO(store) struct store *s = NULL;
	AUTO(snapshot) struct snapshot snap = {0};
	AUTO(buf) struct buf is = {0};
	void *args[2] = {&is, NULL};
	struct err err;

	fill(box, &m);
	ok(store_open(&s, box->store_root_fd, STORE_READ, &err));
	args[1] = s;
	ok(do_prune(box, &err));
	ok(catalog_load(s, m.count, &snap, &err));
	ok(tree_each(s, &snap.root, describe, args, &err));
	assert_int_equal(is.len, m.want[m.count].len);
	assert_memory_equal(is.data, m.want[m.count].data, is.len);
}

static void test_undelete_says_what_it_cannot_do(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	AUTO(dirlist) struct dirlist dirs = {0}, list = {0};
	auto_free char *folder = NULL;
	struct err err;
	size_t i;

	fill(box, &m);
	assert_int_equal(undelete(box, 1, &err), -ENOENT);
	ok(do_prune(box, &err));
	assert_int_equal(undelete(box, 77, &err), -ENOENT);
	list_store(box, "trash", &dirs);
	assert_int_equal(dirs.count, 1);
	folder = path_join("trash", dirs.items[0].name);
	list_store(box, folder, &list);
	for (i = 0; i < list.count; i++) {
		auto_free char *path =
			store_path(box, folder, list.items[i].name);

		if (strstr(path, ".gpk"))
			assert_return_code(unlink(path), errno);
	}
	assert_int_equal(undelete(box, 1, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "cannot be restored completely"));
	assert_false(is_in_snaps(box, 1));
	check_whole(box);
}

/* A store whose secret a forger knows, with two old snapshots. */
static void start_forged(struct box *box, struct model *m, const void *first,
			 const void *second)
{
	struct err err;
	int i;

	let_go(box);
	(void)snprintf(box->store_root_fd, sizeof(box->store_root_fd),
		       "%s/public", box->dir);
	ok(store_dir_create(box->store_root_fd, HASH_XXH3_128, public_secret,
			    &err));
	take_hold(box);
	put_bytes(box, "a", first, 4096);
	put_bytes(box, "b", second, 4096);
	put_file(box, "c", 1, 50);
	(void)model_take(box, m, later(-30 * DAY));
	assert_int_equal(syscall(SYS_unlinkat, box->root_fd, "a", 0), 0);
	for (i = 0; i < 2; i++)
		(void)model_take(box, m, later(-30 * DAY));
	let_go(box);
}

static void test_names_of_colliding_bytes_stay(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	auto_free unsigned char *original = fixture("original");
	auto_free unsigned char *forged = fixture("forged");
	struct prune_options o = month_later();
	struct prune_result result;
	struct err err;

	start_forged(box, &m, original, forged);
	o.max_size = 1; /* every pack is repacked */
	ok(prune_with(box, &o, &result, &err));
	assert_int_equal(result.snapshots, m.count - 3);
	assert_true(result.written > 0);
	/* "b" has the second ordinal of its name, and is the only one now. */
	check_model(box, &m);
	ok(undelete(box, 1, &err));
	check_model(box, &m);
}

static void test_undelete_refuses_names_that_mean_others_now(void **state)
{
	struct box *box = *state;
	AUTO(model) struct model m = {0};
	auto_free unsigned char *original = fixture("original");
	auto_free unsigned char *forged = fixture("forged");
	struct prune_options o = month_later();
	struct prune_result result;
	struct err err;

	start_forged(box, &m, original, original);
	assert_int_equal(syscall(SYS_unlinkat, box->root_fd, "b", 0), 0);
	take_hold(box);
	(void)model_take(box, &m, later(-30 * DAY));
	(void)model_take(box, &m, later(-30 * DAY));
	let_go(box);
	o.max_size = 1;
	ok(prune_with(box, &o, &result, &err));
	take_hold(box);
	put_bytes(box, "b", forged, 4096); /* the name is free again */
	(void)model_take(box, &m, 0);
	let_go(box);
	assert_int_equal(undelete(box, 1, &err), -EEXIST);
	check_model(box, &m);
}

int main(void)
{
#define t(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		t(test_what_goes_can_be_brought_back_whole),
		t(test_a_second_prune_has_nothing_to_do),
		t(test_many_small_packs_become_few),
		t(test_a_plan_changes_nothing_and_says_what_happens),
		t(test_the_trash_is_emptied_after_seven_days),
		t(test_pins_and_a_budget),
		t(test_a_budget_keeps_the_newest_that_fit),
		t(test_a_budget_leaves_no_room_unused),
		t(test_a_missing_object_stops_everything),
		t(test_a_damaged_snapshot_stops_everything),
		t(test_damage_found_on_the_way_stops_it),
		t(test_everything_is_synced_in_order),
		t(test_prune_waits_for_who_has_the_store_and_names_him),
		t(test_what_is_used_again_at_the_last_moment_stays),
		t(test_what_a_replaced_snapshot_needs_stays),
		t(test_two_at_once_take_turns),
		t(test_a_reader_finds_what_moved_meanwhile),
		t(test_undelete_says_what_it_cannot_do),
		t(test_names_of_colliding_bytes_stay),
		t(test_undelete_refuses_names_that_mean_others_now),
		t(test_prunes_beside_snapshots_lose_nothing),
		t(test_random_prunes_and_undeletes_agree_with_copies),
		cmocka_unit_test(
			test_prune_killed_before_any_call_loses_nothing),
		cmocka_unit_test(
			test_prune_killed_after_any_call_loses_nothing),
		cmocka_unit_test(
			test_purge_killed_at_any_call_is_ended_by_the_next),
		cmocka_unit_test(
			test_undelete_killed_at_any_call_loses_nothing),
		cmocka_unit_test(test_any_call_of_prune_may_fail),
		cmocka_unit_test(test_any_call_of_prune_may_find_the_disk_full),
		cmocka_unit_test(test_any_call_of_undelete_may_fail),
	};

	loose_max = 4;
	calls_unsynced = true;
	/* Rings are forbidden: their ends cannot be counted as calls. */
	ring_forbid(true);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
