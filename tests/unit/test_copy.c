/* Copies of a store in a directory: complete after every kill, and with lists
 * that are lost, manifests that are hidden, clones, prunes and damage. */
/* users: one */
#include "tests/unit/snap_fixture.h"

#include <sys/wait.h>

#include "base/vec.h"
#include "snapshot/backup/copy_prune.h"
#include "snapshot/backup/push.h"
#include "snapshot/maintain/prune.h"
#include "snapshot/tree/transfer.h"
#include "tests/unit/calls.h"
#include "tests/unit/keep_fixture.h"

#define DAY ((int64_t)24 * 3600)

/* A directory of the test, made on demand. */
static char *sub(struct box *box, const char *name)
{
	char *path = path_join(box->dir, name);

	if (mkdir(path, 0700) < 0)
		assert_int_equal(errno, EEXIST);
	return path;
}

static int open_there(const char *dir, struct destination *ret, struct err *err)
{
	int got = destination_open(dir, ret, err);

	(void)snprintf((char *)ret->key, SEAL_KEY_LEN, "a key of many bytes");
	return got;
}

static bool dry_run;
static const unsigned char *known_space;

static int try_push(struct box *box, const char *local, bool complete,
		    struct push_result *ret, struct err *err)
{
	auto_free char *dir = sub(box, "there");
	auto_free char *list = sub(box, local);
	AUTO(destination) struct destination d = DESTINATION_NONE;
	auto_close int local_fd = fd_open_dir(AT_FDCWD, list);
	AUTO(store) struct store *s = NULL;
	struct push_options o = {
		.dry_run = dry_run,
		.complete = complete,
		.home = "/home/x",
		.state_fd = local_fd,
		.space = known_space,
	};

	if (open_there(dir, &d, err) < 0 ||
	    store_open(&s, box->store_root_fd, STORE_READ, err) < 0)
		return -err->num;
	return push_store(s, &d, local_fd, &o, ret, err);
}

static struct push_result push_now(struct box *box, const char *local)
{
	struct push_result r = {0};
	struct err err;

	if (try_push(box, local, false, &r, &err) < 0)
		fail_msg("push: %s", err.text);
	return r;
}

static void note_damage(void *arg, const char *object, const char *what,
			const char *why)
{
	buf_printf(arg, "%s %s: %s\n", object, what, why);
}

/* Makes a store of the n-th source; returns the number of faults. */
static uint64_t unpack(struct box *box, size_t n, bool lazy, struct box *ret,
		       struct buf *faults)
{
	auto_free char *dir = sub(box, "there");
	AUTO(destination) struct destination d = DESTINATION_NONE;
	AUTO(copy_sources) struct copy_sources sources = {0};
	AUTO(copy) struct copy_store c = {0};
	struct copy_options o = {
		.lazy = lazy,
		.fault = faults ? note_damage : NULL,
		.arg = faults,
	};
	uint64_t count;
	struct err err;

	*ret = *box;
	(void)snprintf(ret->store_root_fd, sizeof(ret->store_root_fd), "%s/new",
		       box->dir);
	ok(dirtree_remove(AT_FDCWD, ret->store_root_fd, &err));
	ok(open_there(dir, &d, &err));
	ok(copy_list(&d, &sources, &err));
	assert_true(n < sources.count);
	ok(copy_open(&d, &sources.items[n], 0, &c, &err));
	if (copy_unpack(&c, ret->store_root_fd, &o, &count, &err) < 0)
		fail_msg("unpack: %s", err.text);
	return count;
}

/* Every snapshot of the store is in the copy, with the same bytes. */
static void check_copy(struct box *box, size_t n)
{
	AUTO(dirlist) struct dirlist snaps = {0};
	AUTO(buf) struct buf faults = {0};
	struct box new;
	struct err err;
	size_t i;

	if (unpack(box, n, false, &new, &faults))
		fail_msg("damage: %s", buf_text(&faults));
	check_whole(&new);
	list_store(box, "snaps", &snaps);
	assert_true(snaps.count > 0);
	for (i = 0; i < snaps.count; i++) {
		uint64_t seq = catalog_file_seq(snaps.items[i].name);
		AUTO(buf) struct buf want = {0}, is = {0};

		ok(snapshot_bytes(box, seq, &want, &err));
		ok(snapshot_bytes(&new, seq, &is, &err));
		assert_true(buf_same(&want, &is));
	}
}

/* The paths of all files in the destination, with their sizes. */
static void list_there(struct box *box, const char *part, struct names *to,
		       uint64_t *ret_bytes)
{
	auto_free char *dir = sub(box, "there");
	auto_free char *command = mem_printf(
		"cd '%s' && find . -type f -path '*%s*' -printf '%%p\\n%%s\\n'",
		dir, part);
	FILE *in = popen(command, "re");
	char line[512], size[64];

	*ret_bytes = 0;
	while (fgets(line, sizeof(line), in) && fgets(size, 64, in)) {
		line[strcspn(line, "\n")] = '\0';
		names_add(to, line);
		*ret_bytes += strtoull(size, NULL, 10);
	}
	assert_int_equal(pclose(in), 0);
	vec_sort(to->items, to->count, sizeof(char *), sorted_compare_texts);
}

static size_t count_there(struct box *box, const char *part)
{
	AUTO(names) struct names list = {0};
	uint64_t bytes;

	list_there(box, part, &list, &bytes);
	return list.count;
}

static void some_files(struct box *box, uint64_t seed)
{
	put_file(box, "a", seed, 70000);
	put_file(box, "b", seed + 1, 900);
	put_file(box, "c", 5, 1200000);
	(void)take(box);
}

static void test_a_copy_has_all_snapshots(void **state)
{
	struct box *box = *state;
	struct push_result r;

	some_files(box, 1);
	some_files(box, 2);
	r = push_now(box, "local");
	assert_int_equal(r.number, 1);
	assert_int_equal(r.snapshots, 2);
	check_copy(box, 0);
	r = push_now(box, "local");
	assert_true(r.nothing);
	assert_int_equal(r.files, 0);
	some_files(box, 3);
	r = push_now(box, "local");
	assert_int_equal(r.number, 2);
	assert_int_equal(r.snapshots, 1);
	assert_true(r.files <= 3);
	check_copy(box, 0);
}

static void test_many_small_snapshots_are_few_files(void **state)
{
	struct box *box = *state;
	int i;

	for (i = 0; i < 100; i++) {
		put_file(box, "a", (uint64_t)i, 900);
		(void)take(box);
	}
	assert_true(push_now(box, "local").files <= 10);
	check_copy(box, 0);
}

/* A child that is killed at its n-th call; false: it was not. */
static bool push_killed_at(struct box *box, unsigned int n, bool after)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct push_result r = {0};
		struct err err;

		calls_reset();
		calls.at = n;
		calls.after = after;
		_exit(try_push(box, "local", false, &r, &err) < 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		return true;
	assert_int_equal(WEXITSTATUS(status), 0);
	return false;
}

static void test_a_kill_anywhere_sends_one_file_twice_at_most(void **state)
{
	struct box *box = *state;
	unsigned int n;
	size_t i;

	calls_unsynced = true;
	for (i = 0; i < 2; i++) {
		bool killed = true;

		for (n = 1; killed; n++) {
			size_t there;

			some_files(box, 10 + 100 * i + n);
			killed = push_killed_at(box, n, i % 2);
			there = count_there(box, "/p/");
			(void)push_now(box, "local");
			/* Each round has one pack of data. */
			assert_true(count_there(box, "/p/") <= there + 1);
			if (n % 3 == 0 || !killed)
				check_copy(box, 0);
		}
		assert_true(n > 5);
	}
	/* Each kill leaves a temporary file or one unnamed file at most, and no
	 * namespace of its own. */
	assert_int_equal(count_there(box, "/root-"), 2);
	calls_unsynced = false;
}

/* Packs that are files of their own are sent once, however often a backup is
 * interrupted, and also where the destination has lost them meanwhile. */
static void test_an_interrupted_backup_goes_on_pack_by_pack(void **state)
{
	struct box *box = *state;
	auto_free char *there = sub(box, "there");
	auto_free char *wipe = mem_printf("cd '%s' && rm -rf ./*-*", there);
	unsigned int n, round;

	calls_unsynced = true;
	for (n = 1; n <= 4; n++) {
		put_file(box, "a", n, 5000000);
		(void)take(box);
	}
	for (round = 0; round < 2; round++) {
		unsigned int kills = 0;

		while (push_killed_at(box, 5, false) && kills < 20)
			kills++;
		assert_true(kills < 20 && (round || kills > 2));
		/* Four packs, and the last one of this round. */
		assert_true(count_there(box, "/p/") <= 4 + round);
		check_copy(box, 0);
		put_file(box, "b", round, 900);
		(void)take(box);
		/* The list of this one names files that go. */
		(void)push_killed_at(box, 6, false);
		assert_int_equal(system(wipe), 0);
		(void)push_now(box, "local");
		check_copy(box, 0);
	}
	calls_unsynced = false;
}

/* The first backup has no list when it is killed. */
static void test_a_killed_first_backup_goes_on(void **state)
{
	struct box *box = *state;
	unsigned int n;
	bool killed = true;
	struct err err;

	calls_unsynced = true;
	some_files(box, 1);
	for (n = 1; killed; n++) {
		auto_free char *there = sub(box, "there");
		auto_free char *local = sub(box, "local");

		ok(dirtree_remove(AT_FDCWD, there, &err));
		ok(dirtree_remove(AT_FDCWD, local, &err));
		killed = push_killed_at(box, n, n % 2);
		(void)push_now(box, "local");
		check_copy(box, 0);
		assert_true(count_there(box, "/p/") <= 2);
		assert_true(count_there(box, "/root-") <= 3);
	}
	calls_unsynced = false;
}

/* The contents of the local directory. */
static void local_bytes(struct box *box, struct buf *to)
{
	auto_free char *command = mem_printf(
		"cd %s/local && for f in *; do echo $f; cksum <$f; done",
		box->dir);
	FILE *in = popen(command, "re");
	char line[512];

	while (fgets(line, sizeof(line), in))
		buf_add_text(to, line);
	assert_int_equal(pclose(in), 0);
}

/* A dry run writes nothing, also behind a kill at any call, and the backup
 * after it goes on in the same namespace. So does one that is killed in turn.
 */
static void test_dry_runs_and_second_kills_lose_no_namespace(void **state)
{
	struct box *box = *state;
	bool killed = true;
	unsigned int n;

	calls_unsynced = true;
	some_files(box, 1);
	(void)push_now(box, "local");
	for (n = 1; killed; n++) {
		AUTO(buf) struct buf before = {0}, after = {0};

		some_files(box, 10 * n);
		killed = push_killed_at(box, n, n % 2);
		local_bytes(box, &before);
		dry_run = true;
		(void)push_now(box, "local");
		dry_run = false;
		local_bytes(box, &after);
		assert_true(buf_same(&before, &after));
		some_files(box, 10 * n + 5);
		(void)push_killed_at(box, 3 + n / 2 % 6, !(n % 2));
		assert_int_not_equal(push_now(box, "local").number, 1);
		assert_int_equal(count_there(box, "/root-"), 2);
	}
	check_copy(box, 0);
	calls_unsynced = false;
}

static void lose(struct box *box, const char *name)
{
	auto_free char *path = path_join(box->dir, name);

	assert_return_code(unlink(path), errno);
}

static void lose_in_store(struct box *box, const char *dir, const char *name)
{
	auto_free char *path = mem_printf("%s/%s", box->store_root_fd, dir);
	auto_free char *file = path_join(path, name);

	assert_return_code(chmod(path, 0700), errno);
	assert_return_code(unlink(file), errno);
}

static void test_a_lost_list_is_made_from_the_manifests(void **state)
{
	struct box *box = *state;
	auto_free char *list = NULL;
	struct push_result r;

	some_files(box, 1);
	(void)push_now(box, "local");
	some_files(box, 2);
	(void)push_now(box, "local");
	list = path_join(box->dir, "local/list");
	lose(box, "local/list");
	some_files(box, 3);
	r = push_now(box, "local");
	assert_int_equal(r.number, 3);
	assert_int_equal(r.snapshots, 1);
	check_copy(box, 0);
	/* Damaged, too. */
	flip(list, 20);
	r = push_now(box, "local");
	assert_int_not_equal(r.number, 1);
	check_copy(box, 0);
}

/* A file of the store is cut to no bytes. */
static void cut_in_store(struct box *box, const char *part, const char *name)
{
	auto_free char *file =
		mem_printf("%s/%s/%s", box->store_root_fd, part, name);

	assert_return_code(chmod(file, 0600), errno);
	assert_return_code(truncate(file, 0), errno);
}

/* A part of the store is lost, its damage is noticed, and the destination has
 * it still. */
static void check_lost_part(struct box *box, const char *part,
			    void (*lose_part)(struct box *box, const char *part,
					      const char *name))
{
	AUTO(buf) struct buf want = {0}, is = {0}, faults = {0};
	AUTO(dirlist) struct dirlist list = {0};
	struct box new;
	struct err err;

	some_files(box, 1);
	list_store(box, part, &list);
	some_files(box, 2);
	ok(snapshot_bytes(box, 1, &want, &err));
	assert_false(push_now(box, "local").damaged);
	assert_true(list.count > 0);
	lose_part(box, part, list.items[0].name);
	some_files(box, 3);
	assert_true(push_now(box, "local").damaged);
	some_files(box, 4);
	assert_true(push_now(box, "local").damaged);
	assert_int_equal(unpack(box, 0, false, &new, &faults), 0);
	ok(snapshot_bytes(&new, 1, &is, &err));
	assert_true(buf_same(&want, &is));
}

static void test_the_destination_keeps_a_lost_pack(void **state)
{
	check_lost_part(*state, "packs", lose_in_store);
}

static void test_the_destination_keeps_a_lost_snapshot(void **state)
{
	check_lost_part(*state, "snaps", lose_in_store);
}

static void test_the_destination_keeps_a_damaged_snapshot(void **state)
{
	check_lost_part(*state, "snaps", cut_in_store);
}

/* Renames the manifests from the n-th on, or gives them back. */
static void hide(struct box *box, const char *from, const char *to)
{
	auto_free char *dir = sub(box, "there");
	auto_free char *command = mem_printf(
		"cd '%s'/*-*/c && for f in %s*; do mv $f %s${f#%s}; done", dir,
		from, to, from);

	assert_int_equal(system(command), 0);
}

static void test_numbers_go_on_behind_hidden_manifests(void **state)
{
	struct box *box = *state;
	struct push_result r;
	int i;

	for (i = 1; i <= 3; i++) {
		some_files(box, (uint64_t)i);
		(void)push_now(box, "local");
	}
	hide(box, "0000000003", "hidden-");
	some_files(box, 4);
	r = push_now(box, "local");
	assert_int_equal(r.number, 4);
	check_copy(box, 0);
	hide(box, "hidden-", "0000000003");
	some_files(box, 5);
	r = push_now(box, "local");
	assert_int_equal(r.number, 5);
	check_copy(box, 0);
	hide(box, "0", "hidden-");
	some_files(box, 6);
	r = push_now(box, "local");
	assert_int_equal(r.number, 6);
	check_copy(box, 0);
}

/* A machine that was copied with its state goes on beside the first. */
static void test_clones_do_not_overwrite_each_other(void **state)
{
	struct box *box = *state;
	auto_free char *command =
		mem_printf("cp -a %s/local %s/clone", box->dir, box->dir);
	AUTO(copy_sources) struct copy_sources sources = {0};
	auto_free char *there = sub(box, "there");
	AUTO(destination) struct destination d = DESTINATION_NONE;
	struct push_result r, own;
	struct err err;

	some_files(box, 1);
	(void)push_now(box, "local");
	assert_int_equal(system(command), 0);
	some_files(box, 2);
	assert_int_not_equal(push_now(box, "local").number, 1);
	some_files(box, 3);
	r = push_now(box, "clone");
	assert_int_equal(r.number, 1);
	some_files(box, 4);
	assert_int_not_equal(push_now(box, "clone").number, 1);
	own = push_now(box, "local");
	assert_int_not_equal(own.number, 1);
	assert_int_equal(own.number, 3);
	check_copy(box, 0);
	check_copy(box, 1);
	ok(open_there(there, &d, &err));
	ok(copy_list(&d, &sources, &err));
	assert_int_equal(sources.count, 2);

	/* Without its list it goes on in its own namespace, not in the newest
	 * one; and in neither when it does not know which is its own. */
	lose(box, "local/list");
	some_files(box, 5);
	assert_int_not_equal(push_now(box, "clone").number, 1);
	known_space = own.space;
	r = push_now(box, "local");
	known_space = NULL;
	assert_int_not_equal(r.number, 1);
	assert_int_equal(r.number, 4);
	assert_memory_equal(r.space, own.space, SEAL_SPACE_LEN);
	lose(box, "local/list");
	some_files(box, 6);
	assert_int_equal(push_now(box, "local").number, 1);
}

static void prune_to(struct box *box, uint64_t last)
{
	struct prune_options o = {
		.policy = {.last = last},
		/* Young snapshots stay. */
		.now = {.sec = timestamp_now().sec + 31 * DAY},
	};
	AUTO(prune_plan) struct prune_plan plan = {0};
	struct prune_result result;
	struct err err;

	ok(prune_plan(box->store, &o, &plan, &err));
	ok(prune_run(box->store, &o, &plan, &result, &err));
	store_free(&box->store);
	ok(store_open(&box->store, box->store_root_fd, STORE_WRITE, &err));
}

static void test_a_prune_sends_hardly_anything_again(void **state)
{
	struct box *box = *state;
	AUTO(names) struct names list = {0};
	uint64_t before, i, sent;
	struct push_result r;
	struct err err;

	/* More than half of each pack goes, and many are small. */
	for (i = 0; i < 80; i++) {
		put_file(box, "a", i, 300000);
		if (i % 10 == 0)
			put_file(box, "kept", 1000 + i, 200000);
		if (i % 10 == 0)
			assert_return_code(
				renameat(box->root_fd, "kept", box->root_fd,
					 i % 20 ? "kept-1" : "kept-2"),
				errno);
		(void)take(box);
	}
	(void)push_now(box, "local");
	list_there(box, "/p/", &list, &before);
	prune_to(box, 3);
	(void)take(box);
	r = push_now(box, "local");
	assert_true(r.bytes * 20 <= before);
	check_copy(box, 0);
	some_files(box, 7);
	(void)push_now(box, "local");
	check_copy(box, 0);
	/* A complete backup sends the covered packs. */
	r = (struct push_result){0};
	ok(try_push(box, "local", true, &r, &err));
	sent = r.bytes;
	assert_true(sent > 300000);
	check_copy(box, 0);
}

/* The store has only the pack that a prune wrote, and the files that the
 * destination has in its place are lost there. */
static void test_a_covered_pack_is_sent_when_its_cover_is_lost(void **state)
{
	struct box *box = *state;
	auto_free char *there = sub(box, "there");
	auto_free char *local = sub(box, "local");
	auto_free char *wipe = mem_printf("rm '%s'/*-*/p/*", there);
	auto_close int local_fd = fd_open_dir(AT_FDCWD, local);
	AUTO(names) struct names noted = {0};
	struct err err;
	uint64_t i;

	for (i = 0; i < 20; i++) {
		put_file(box, "a", i, 300000);
		if (i == 10)
			put_file(box, "kept", 1000, 200000);
		(void)take(box);
	}
	(void)push_now(box, "local");
	prune_to(box, 3);
	(void)take(box);
	(void)push_now(box, "local");
	check_copy(box, 0);
	assert_int_equal(system(wipe), 0);
	names_add(&noted, "any name");
	ok(push_note_damaged(local_fd, &noted, &err));
	(void)push_now(box, "local");
	check_copy(box, 0);
}

static void test_old_backups_are_deleted_with_their_files(void **state)
{
	struct box *box = *state;
	auto_free char *there = sub(box, "there");
	auto_free char *local = sub(box, "local");
	auto_close int local_fd = fd_open_dir(AT_FDCWD, local);
	AUTO(destination) struct destination d = DESTINATION_NONE;
	AUTO(copy_sources) struct copy_sources sources = {0};
	struct copy_prune_result r, again;
	struct push_result pushed = {0};
	struct err err;
	uint64_t i;

	for (i = 0; i < 6; i++) {
		some_files(box, 10 * i);
		(void)push_now(box, "local");
	}
	prune_to(box, 2);
	ok(try_push(box, "local", true, &pushed, &err));
	ok(open_there(there, &d, &err));
	ok(copy_list(&d, &sources, &err));
	ok(copy_prune(&d, sources.items[0].space, 1, true, local_fd, &r, &err));
	assert_int_equal(r.backups, 6);
	assert_true(r.files > 0);
	assert_int_equal(count_there(box, "/c/"), 7);
	ok(copy_prune(&d, sources.items[0].space, 1, false, local_fd, &again,
		      &err));
	assert_int_equal(again.files, r.files);
	assert_int_equal(again.bytes, r.bytes);
	assert_int_equal(count_there(box, "/c/"), 1);
	check_copy(box, 0);
	some_files(box, 99);
	(void)push_now(box, "local");
	check_copy(box, 0);
}

static void test_a_directory_without_a_list_is_damage(void **state)
{
	struct box *box = *state;
	auto_free char *there = sub(box, "there");
	auto_free char *command =
		mem_printf("cd '%s'/*-* && mv c lists && : >c", there);
	AUTO(destination) struct destination d = DESTINATION_NONE;
	AUTO(copy_sources) struct copy_sources sources = {0};
	AUTO(copy) struct copy_store copy = {0};
	struct err err;

	some_files(box, 1);
	(void)push_now(box, "local");
	assert_int_equal(system(command), 0);
	ok(open_there(there, &d, &err));
	ok(copy_list(&d, &sources, &err));
	assert_int_equal(sources.count, 1);
	assert_true(sources.items[0].damaged);
	assert_true(destination_is_damage(
		copy_open(&d, &sources.items[0], 0, &copy, &err)));
}

static void test_a_prune_needs_the_backups_that_it_keeps(void **state)
{
	static const char *const hidden[] = {"0000000005", "0000000004"};
	struct box *box = *state;
	auto_free char *there = sub(box, "there");
	auto_free char *local = sub(box, "local");
	auto_close int local_fd = fd_open_dir(AT_FDCWD, local);
	AUTO(destination) struct destination d = DESTINATION_NONE;
	AUTO(copy_sources) struct copy_sources sources = {0};
	struct copy_prune_result r;
	struct err err;
	size_t files, i;

	for (i = 1; i <= 5; i++) {
		some_files(box, 10 * i);
		(void)push_now(box, "local");
	}
	files = count_there(box, "");
	ok(open_there(there, &d, &err));
	ok(copy_list(&d, &sources, &err));
	for (i = 0; i < ARRAY_SIZE(hidden); i++) {
		hide(box, hidden[i], "hidden-");
		assert_int_equal(copy_prune(&d, sources.items[0].space, 2,
					    false, local_fd, &r, &err),
				 -ESTALE);
		hide(box, "hidden-", hidden[i]);
	}
	assert_int_equal(count_there(box, ""), files);
	check_copy(box, 0);
}

static void test_a_prune_keeps_the_chains_of_clones(void **state)
{
	struct box *box = *state;
	auto_free char *there = sub(box, "there");
	auto_free char *local = sub(box, "local");
	auto_close int local_fd = -1;
	auto_free char *command =
		mem_printf("cp -a %s/local %s/clone", box->dir, box->dir);
	AUTO(destination) struct destination d = DESTINATION_NONE;
	AUTO(copy_sources) struct copy_sources sources = {0};
	struct copy_prune_result r;
	struct err err;
	uint64_t i;

	for (i = 1; i <= 4; i++) {
		if (i == 4)
			assert_int_equal(system(command), 0);
		some_files(box, 10 * i);
		(void)push_now(box, "local");
	}
	hide(box, "0000000004", "hidden-");
	assert_int_equal(push_now(box, "clone").number, 4);
	hide(box, "hidden-", "0000000004");
	local_fd = fd_open_dir(AT_FDCWD, local);
	ok(open_there(there, &d, &err));
	ok(copy_list(&d, &sources, &err));
	assert_int_equal(sources.count, 2);
	ok(copy_prune(&d, sources.items[0].space, 1, false, local_fd, &r,
		      &err));
	assert_true(r.backups > 0);
	check_copy(box, 0);
	check_copy(box, 1);
}

static int verify_copy(struct box *box, bool read_data, struct buf *faults)
{
	auto_free char *there = sub(box, "there");
	AUTO(destination) struct destination d = DESTINATION_NONE;
	AUTO(copy_sources) struct copy_sources sources = {0};
	AUTO(copy) struct copy_store c = {0};
	struct copy_options o = {
		.read_percentage = read_data ? 100 : 0,
		.fault = note_damage,
		.arg = faults,
	};
	struct copy_verify_result r = {0};
	struct err err;
	int got;

	ok(open_there(there, &d, &err));
	ok(copy_list(&d, &sources, &err));
	ok(copy_open(&d, &sources.items[0], 0, &c, &err));
	got = copy_verify(&c, &o, &r, &err);
	assert_true(got >= 0);
	return got;
}

/* Each file in turn: one byte changed, cut, missing, or one byte added. All
 * else comes back. */
static void test_damage_costs_what_the_file_has(void **state)
{
	struct box *box = *state;
	AUTO(names) struct names list = {0};
	uint64_t bytes;
	size_t i, k;
	struct err err;

	/* A pack that is a file of its own, and small ones. */
	for (i = 0; i < 3; i++) {
		put_file(box,
			 i == 0	  ? "a"
			 : i == 1 ? "b"
				  : "c",
			 i + 1, i == 0 ? 5000000 : 600000);
		(void)take(box);
		(void)push_now(box, "local");
	}
	list_there(box, "/", &list, &bytes);
	for (i = 0; i < list.count * 4; i++) {
		const char *name = list.items[i / 4];
		auto_free char *there = sub(box, "there");
		auto_free char *path = path_join(there, name + 2);
		auto_free char *aside = path_join(box->dir, "aside");
		auto_free char *command =
			mem_printf("cp -p '%s' '%s'", path, aside);
		AUTO(buf) struct buf faults = {0}, seen = {0};
		struct stat st;
		struct box new;
		bool manifest = strstr(name, "/c/") != NULL;
		bool root = strstr(name, "/root-") != NULL;
		int whole = 0;

		assert_int_equal(system(command), 0);
		assert_return_code(stat(path, &st), errno);
		if (i % 4 == 0) {
			flip(path, (uint64_t)st.st_size * 2 / 3);
		} else if (i % 4 == 1) {
			assert_return_code(chmod(path, 0600), errno);
			assert_return_code(truncate(path, st.st_size / 2),
					   errno);
		} else if (i % 4 == 2) {
			assert_return_code(unlink(path), errno);
		} else {
			assert_return_code(chmod(path, 0600), errno);
			assert_return_code(truncate(path, st.st_size + 1),
					   errno);
		}
		if (!manifest) {
			assert_int_equal(verify_copy(box, true, &seen), 1);
			assert_true(buf_has(&seen, strrchr(name, '/') + 1));
			assert_int_equal(verify_copy(box, false, &seen),
					 i % 4 != 0);
			(void)unpack(box, 0, false, &new, &faults);
			for (k = 1; k <= 3; k++) {
				AUTO(buf) struct buf a = {0}, b = {0};

				ok(snapshot_bytes(box, k, &a, &err));
				whole += snapshot_bytes(&new, k, &b, &err) ==
						 0 &&
					 buf_same(&a, &b);
			}
			/* The newest snapshot needs all of the data, the
			 * first one only its own. */
			assert_true(root || i % 4 == 3 ? whole == 3
						       : whole < 3);
			if (whole == 3)
				assert_int_equal(faults.len, 0);
			if (strstr(name, "/p/") && faults.len)
				assert_true(buf_has(&faults,
						    strrchr(name, '/') + 1));
		}
		/* A prune deletes the oldest one, and only the machine knows
		 * which is the newest. */
		if (manifest) {
			char digit = strstr(name, "/c/")[12];
			bool named = i % 4 != 2 || digit == '2';
			auto_free char *line =
				mem_printf("backup %c its manifest: ", digit);

			assert_int_equal(verify_copy(box, true, &seen), named);
			assert_int_equal(buf_has(&seen, line), named);
		}
		/* All manifests are complete while they are short. */
		if (manifest && strstr(name, "/0000000003-") == NULL)
			check_copy(box, 0);
		(void)chmod(path, 0600);
		assert_return_code(renameat(AT_FDCWD, aside, AT_FDCWD, path),
				   errno);
	}
	check_copy(box, 0);
}

/* The number of the three snapshots that come back, and no other bytes do. */
static int count_whole(struct box *box, struct box *new)
{
	int whole = 0;
	uint64_t k;
	struct err err;

	for (k = 1; k <= 3; k++) {
		AUTO(buf) struct buf a = {0}, b = {0};

		ok(snapshot_bytes(box, k, &a, &err));
		if (snapshot_bytes(new, k, &b, &err) < 0)
			continue;
		assert_true(buf_same(&a, &b));
		whole++;
	}
	return whole;
}

/* Two files with each other's name, or one with a copy of the other's bytes, as
 * a confused carrier leaves them. Those of data have one size. */
static void check_swapped(struct box *box, const char *part, size_t i, size_t k,
			  bool exchange)
{
	AUTO(names) struct names list = {0};
	AUTO(buf) struct buf faults = {0};
	auto_free char *there = sub(box, "there");
	auto_free char *swap = NULL, *back = NULL;
	const char *a, *b;
	uint64_t bytes;
	struct box new;

	list_there(box, part, &list, &bytes);
	assert_int_equal(list.count, 3);
	a = list.items[i];
	b = list.items[k];
	swap = mem_printf("cd '%s' && cp -f %s ../a && cp -f %s ../b && "
			  "cp -f ../b %s && cp -f ../%s %s",
			  there, a, b, a, exchange ? "a" : "b", b);
	back = mem_printf("cd '%s' && cp -f ../a %s && cp -f ../b %s", there, a,
			  b);
	assert_int_equal(system(swap), 0);
	assert_true(unpack(box, 0, false, &new, &faults) > 0);
	assert_true(buf_has(&faults, path_name(a)));
	assert_int_equal(buf_has(&faults, path_name(b)), exchange);
	if (exchange && strcmp(part, "/p/") == 0)
		assert_int_equal(count_whole(box, &new), 3);
	else
		assert_true(count_whole(box, &new) < 3);
	assert_int_equal(verify_copy(box, true, &faults), 1);
	assert_int_equal(system(back), 0);
}

static void test_swapped_files_are_damage(void **state)
{
	struct box *box = *state;
	size_t i;

	for (i = 0; i < 3; i++) {
		put_file(box, "a", i + 1, 100000);
		(void)take(box);
		(void)push_now(box, "local");
	}
	for (i = 0; i < 9; i++) {
		if (i / 3 == i % 3)
			continue;
		check_swapped(box, "/p/", i / 3, i % 3, i / 3 < i % 3);
		check_swapped(box, "/p/", i / 3, i % 3, false);
		check_swapped(box, "/s/", i / 3, i % 3, i / 3 < i % 3);
		check_swapped(box, "/s/", i / 3, i % 3, false);
	}
	check_copy(box, 0);
}

/* A store that was recovered in part is not backed up as a whole one. cut: a
 * part of the only file of data is there. */
static void check_partial_recovery(struct box *box, bool cut)
{
	AUTO(names) struct names list = {0};
	AUTO(buf) struct buf faults = {0}, want = {0}, is = {0};
	auto_free char *there = sub(box, "there");
	auto_free char *path = NULL, *aside = path_join(box->dir, "aside");
	struct box new, again;
	uint64_t bytes, seq;
	struct err err;

	put_file(box, "a", 10, 5000000);
	seq = take(box);
	(void)push_now(box, "local");
	list_there(box, "/p/", &list, &bytes);
	assert_int_equal(list.count, 1);
	path = path_join(there, list.items[0]);
	assert_return_code(rename(path, aside), errno);
	if (cut) {
		auto_free char *command =
			mem_printf("head -c 3000000 '%s' >'%s'", aside, path);

		assert_int_equal(system(command), 0);
	}
	assert_true(unpack(box, 0, false, &new, &faults) > 0);
	assert_false(push_now(&new, "second").nothing);
	assert_return_code(rename(aside, path), errno);
	/* The new backup says so, or has all of it. */
	buf_clear(&faults);
	if (unpack(&new, 0, false, &again, &faults))
		return;
	ok(snapshot_bytes(box, seq, &want, &err));
	ok(snapshot_bytes(&again, seq, &is, &err));
	assert_true(buf_same(&want, &is));
}

static void test_a_partial_recovery_stays_one(void **state)
{
	check_partial_recovery(*state, false);
}

static void test_a_recovery_from_a_cut_file_stays_partial(void **state)
{
	check_partial_recovery(*state, true);
}

static void test_a_prune_steps_over_damaged_manifests(void **state)
{
	struct box *box = *state;
	auto_free char *there = sub(box, "there");
	auto_free char *local = sub(box, "local");
	auto_free char *command = mem_printf(
		"cd '%s'/*-* && chmod u+w c/*0[34]-* && "
		"for f in c/*0[34]-*; do echo >>$f; done && "
		"echo mine >README && echo mine >p/notes.txt && mkfifo p/pipe",
		there);
	auto_free char *mode_0 =
		mem_printf("chmod 0 '%s'/*-*/c/0000000005-*", there);
	auto_free char *mode_400 =
		mem_printf("chmod 400 '%s'/*-*/c/0000000005-*", there);
	auto_close int local_fd = fd_open_dir(AT_FDCWD, local);
	AUTO(destination) struct destination d = DESTINATION_NONE;
	AUTO(copy_sources) struct copy_sources sources = {0};
	struct copy_prune_result r;
	struct err err;
	uint64_t i;

	for (i = 0; i < 6; i++) {
		some_files(box, 10 * i);
		(void)push_now(box, "local");
	}
	assert_int_equal(system(command), 0);
	ok(open_there(there, &d, &err));
	ok(copy_list(&d, &sources, &err));
	/* A manifest without permission stops the prune. */
	if (geteuid() != 0) {
		assert_int_equal(system(mode_0), 0);
		assert_int_equal(copy_prune(&d, sources.items[0].space, 4,
					    false, local_fd, &r, &err),
				 -EACCES);
		assert_int_equal(count_there(box, "/c/"), 6);
		assert_int_equal(system(mode_400), 0);
	}
	ok(copy_prune(&d, sources.items[0].space, 4, false, local_fd, &r,
		      &err));
	assert_true(r.backups > 0);
	ok(copy_prune(&d, sources.items[0].space, 1, false, local_fd, &r,
		      &err));
	assert_int_equal(count_there(box, "/c/"), 1);
	assert_int_equal(count_there(box, "README"), 1);
	assert_int_equal(count_there(box, "notes.txt"), 1);
	check_copy(box, 0);
}

static void test_damage_that_was_noted_is_sent_again(void **state)
{
	struct box *box = *state;
	AUTO(names) struct names list = {0};
	AUTO(names) struct names damaged = {0};
	auto_free char *local = sub(box, "local");
	auto_free char *there = sub(box, "there");
	auto_close int local_fd = fd_open_dir(AT_FDCWD, local);
	auto_free char *path = NULL;
	AUTO(buf) struct buf faults = {0};
	uint64_t bytes;
	struct err err;

	some_files(box, 1);
	(void)push_now(box, "local");
	list_there(box, "/p/", &list, &bytes);
	path = path_join(there, list.items[0] + 2);
	flip(path, 100);
	assert_true(push_now(box, "local").nothing);
	assert_int_equal(verify_copy(box, true, &faults), 1);
	names_add(&damaged, path_name(path));
	ok(push_note_damaged(local_fd, &damaged, &err));
	assert_false(push_now(box, "local").nothing);
	assert_int_equal(verify_copy(box, true, &faults), 0);
	check_copy(box, 0);
	assert_true(push_now(box, "local").nothing);
}

static void test_a_lazy_copy_reads_what_an_entry_needs(void **state)
{
	struct box *box = *state;
	auto_free char *there = sub(box, "there");
	AUTO(destination) struct destination d = DESTINATION_NONE;
	AUTO(copy_sources) struct copy_sources sources = {0};
	AUTO(copy) struct copy_store c = {0};
	AUTO(store) struct store *s = NULL;
	AUTO(snapshot) struct snapshot snap = {0};
	AUTO(entry) struct entry e = {0}, copied = {0};
	AUTO(buf) struct buf want = {0}, is = {0};
	struct box new;
	void *args[2] = {&want, NULL};
	struct err err;

	put_file(box, "a", 1, 3000000);
	(void)take(box);
	put_file(box, "b", 2, 3000000);
	(void)take(box);
	(void)push_now(box, "local");
	assert_int_equal(unpack(box, 0, true, &new, NULL), 0);
	ok(store_open(&s, new.store_root_fd, STORE_READ, &err));
	ok(catalog_load(s, 2, &snap, &err));
	assert_int_equal(tree_lookup(s, &snap.root, "a", &e, &err), 1);
	args[1] = s;
	assert_true(describe(args, "a", &e, &err) < 0);
	ok(open_there(there, &d, &err));
	ok(copy_list(&d, &sources, &err));
	ok(copy_open(&d, &sources.items[0], 0, &c, &err));
	ok(copy_fetch(&c, new.store_root_fd, s, &e, 1, &err));
	buf_clear(&want);
	ok(describe(args, "a", &e, &err));
	ok(transfer_entry(s, box->store, "a", &e, NULL, NULL, &copied, &err));
	ok(store_flush(box->store, &err));
	args[0] = &is;
	args[1] = box->store;
	ok(describe(args, "a", &copied, &err));
	assert_true(buf_same(&want, &is));
}

/* Appends a file of a snapshot; false: it is lost. c: fetches its packs. */
static bool describe_file(struct box *box, uint64_t seq, const char *name,
			  struct copy_store *c, struct buf *to)
{
	AUTO(store) struct store *s = NULL;
	AUTO(snapshot) struct snapshot snap = {0};
	AUTO(entry) struct entry e = {0};
	void *args[2] = {to, NULL};
	struct err err;

	ok(store_open(&s, box->store_root_fd, STORE_READ, &err));
	args[1] = s;
	if (catalog_load(s, seq, &snap, &err) < 0 ||
	    tree_lookup(s, &snap.root, name, &e, &err) <= 0)
		return false;
	if (c)
		ok(copy_fetch(c, box->store_root_fd, s, &e, 1, &err));
	return describe(args, name, &e, &err) == 0;
}

/* Each file of snapshots and indexes in turn, cut or missing: all that a
 * recovery has also comes without one. */
static void test_a_lazy_copy_has_all_that_a_recovery_has(void **state)
{
	struct box *box = *state;
	static const char *const names[] = {"a", "b", "c"};
	AUTO(names) struct names list = {0};
	auto_free char *there = sub(box, "there");
	AUTO(destination) struct destination d = DESTINATION_NONE;
	AUTO(copy_sources) struct copy_sources sources = {0};
	AUTO(copy) struct copy_store c = {0};
	uint64_t bytes;
	size_t i, k, recovered = 0;
	struct err err;

	for (i = 0; i < 3; i++) {
		put_file(box, names[i], i, 100000);
		(void)take(box);
		(void)push_now(box, "local");
	}
	ok(open_there(there, &d, &err));
	ok(copy_list(&d, &sources, &err));
	ok(copy_open(&d, &sources.items[0], 0, &c, &err));
	list_there(box, "/s/", &list, &bytes);
	assert_int_equal(list.count, 3);
	for (i = 0; i < 6; i++) {
		auto_free char *path = path_join(there, list.items[i / 2]);
		auto_free char *aside = path_join(box->dir, "aside");
		auto_free char *cut =
			mem_printf("head -c 500 '%s' >'%s'", aside, path);
		struct buf want[9] = {{0}};
		bool whole[9];
		struct box new;

		assert_return_code(rename(path, aside), errno);
		if (i % 2)
			assert_int_equal(system(cut), 0);
		assert_true(unpack(box, 0, false, &new, NULL) > 0);
		for (k = 0; k < 9; k++) {
			whole[k] = describe_file(&new, 1 + k / 3, names[k % 3],
						 NULL, &want[k]);
			recovered += whole[k];
		}
		assert_true(unpack(box, 0, true, &new, NULL) > 0);
		for (k = 0; k < 9; k++) {
			AUTO(buf) struct buf is = {0};

			if (whole[k]) {
				assert_true(describe_file(&new, 1 + k / 3,
							  names[k % 3], &c,
							  &is));
				assert_true(buf_same(&want[k], &is));
			}
			buf_free(&want[k]);
		}
		assert_return_code(rename(aside, path), errno);
	}
	assert_true(recovered > 6);
}

static void test_random_histories_come_back(void **state)
{
	struct box *box = *state;
	const char *named = getenv("SEED");
	uint64_t seed = named ? strtoull(named, NULL, 0)
			      : (uint64_t)timestamp_now().nsec + 1;
	auto_free char *list = path_join(box->dir, "local/list");
	int round;

	print_message("# SEED=%llu\n", (unsigned long long)seed);
	calls_unsynced = true;
	some_files(box, 1);
	for (round = 0; round < 40; round++) {
		switch (chance(&seed) % 8) {
		case 0:
			prune_to(box, 1 + chance(&seed) % 5);
			break;
		case 1:
			(void)unlink(list);
			break;
		case 2:
			(void)push_killed_at(
				box, 1 + (unsigned int)(chance(&seed) % 25),
				chance(&seed) % 2);
			break;
		case 3:
			(void)push_now(box, "local");
			check_copy(box, 0);
			break;
		default:
			put_file(box, chance(&seed) % 2 ? "a" : "b",
				 chance(&seed) % 50,
				 chance(&seed) % 2 ? 900 : 800000);
			(void)take(box);
		}
	}
	(void)push_now(box, "local");
	check_copy(box, 0);
	calls_unsynced = false;
}

static int setup_calls(void **state)
{
	calls_reset();
	return setup(state);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(test_##f, setup_calls, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_copy_has_all_snapshots),
		TEST(many_small_snapshots_are_few_files),
		TEST(a_kill_anywhere_sends_one_file_twice_at_most),
		TEST(an_interrupted_backup_goes_on_pack_by_pack),
		TEST(a_killed_first_backup_goes_on),
		TEST(dry_runs_and_second_kills_lose_no_namespace),
		TEST(a_lost_list_is_made_from_the_manifests),
		TEST(the_destination_keeps_a_lost_pack),
		TEST(the_destination_keeps_a_lost_snapshot),
		TEST(the_destination_keeps_a_damaged_snapshot),
		TEST(numbers_go_on_behind_hidden_manifests),
		TEST(clones_do_not_overwrite_each_other),
		TEST(a_prune_sends_hardly_anything_again),
		TEST(a_covered_pack_is_sent_when_its_cover_is_lost),
		TEST(old_backups_are_deleted_with_their_files),
		TEST(a_directory_without_a_list_is_damage),
		TEST(a_prune_needs_the_backups_that_it_keeps),
		TEST(a_prune_keeps_the_chains_of_clones),
		TEST(damage_costs_what_the_file_has),
		TEST(swapped_files_are_damage),
		TEST(a_partial_recovery_stays_one),
		TEST(a_recovery_from_a_cut_file_stays_partial),
		TEST(a_prune_steps_over_damaged_manifests),
		TEST(damage_that_was_noted_is_sent_again),
		TEST(a_lazy_copy_reads_what_an_entry_needs),
		TEST(a_lazy_copy_has_all_that_a_recovery_has),
		TEST(random_histories_come_back),
	};
	struct err err;

	ok(seal_init(&err));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
