/*
 * Transactions: complete or without effect, at every failure and every kill.
 */
#include "tests/unit/skip.h"
#include "tests/unit/transaction_fixture.h"

#include <linux/fs.h>

#include "base/fstype.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void makes_the_project_what_was_wanted(void **state)
{
	struct bench *b = *state;
	struct err err;

	ok(run(b, b->box->store, &b->plan, &err));
	project_is(b, b->new_picture, "after it");
	nothing_left(b);
}

static void has_nothing_to_do_the_second_time(void **state)
{
	struct bench *b = *state;
	struct snapshot now = {0};
	struct plan plan = {0};
	struct err err;

	ok(run(b, b->box->store, &b->plan, &err));
	snap(b, b->project, &now);
	plan_for(b, &b->old.root, &b->new.root, &now.root, &plan);
	assert_int_equal(plan.steps.count, 0);
	assert_int_equal(plan.conflicts.count, 0);
	plan_free(&plan);
	snapshot_free(&now);
}

static void is_undone_by_the_plan_the_other_way_round(void **state)
{
	struct bench *b = *state;
	struct snapshot now = {0};
	struct plan plan = {0};
	struct err err;

	ok(run(b, b->box->store, &b->plan, &err));
	snap(b, b->project, &now);
	plan_for(b, &now.root, &b->old.root, &now.root, &plan);
	assert_int_equal(plan.conflicts.count, 0);
	ok(run(b, b->box->store, &plan, &err));
	project_is(b, b->old_picture, "after the undo");
	nothing_left(b);
	plan_free(&plan);
	snapshot_free(&now);
}

/* The hard link that stays is edited after the plan and is a separate file
 * then. */
static void makes_a_file_of_its_own_beside_an_edited_partner(void **state)
{
	struct bench *b = *state;
	AUTO(snapshot) struct snapshot now = {0};
	AUTO(plan) struct plan plan = {0};
	auto_free char *half1 = path_join(b->project, "half1");
	auto_free char *half2 = path_join(b->project, "half2");
	struct buf bytes = {0};
	struct err err;
	struct stat st;

	ok(run(b, b->box->store, &b->plan, &err));
	snap(b, b->project, &now);
	plan_for(b, &now.root, &b->old.root, &now.root, &plan);
	put_file(AT_FDCWD, half2, "mine\n", 0644);
	ok(run(b, b->box->store, &plan, &err));
	ok(fd_slurp_at(AT_FDCWD, half1, 100, &bytes, &err));
	assert_string_equal(buf_text(&bytes), "half\n");
	bytes.len = 0;
	ok(fd_slurp_at(AT_FDCWD, half2, 100, &bytes, &err));
	assert_string_equal(buf_text(&bytes), "mine\n");
	assert_int_equal(lstat(half1, &st), 0);
	assert_int_equal(st.st_nlink, 1);
	buf_free(&bytes);
}

/* A child that opens the store itself and runs or recovers, killed at call
 * `at`: true if it reached that call. */
static bool ended_at(struct bench *b, unsigned int at, bool recovering)
{
	struct store *store;
	struct err err;
	char *text;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (store_open(&store, b->box->store_root_fd, STORE_READ,
			       &err) < 0)
			_exit(2);
		calls_start(at, 0);
		if (recovering ? recover(b, store, &text, &err) < 0
			       : run(b, store, &b->plan, &err) < 0)
			_exit(3);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) != KILLED && WEXITSTATUS(status) != 0)
		fail_msg("the child failed at call %u: %d", at,
			 WEXITSTATUS(status));
	return WEXITSTATUS(status) == KILLED;
}

/* The result of the recovery must describe the project. */
static int check_recovered(struct bench *b, unsigned int at)
{
	char *text = NULL, when[64];
	struct err err;
	int got;

	calls_start(0, 0); /* without syncs: a process ends, not the power */
	got = recover(b, b->box->store, &text, &err);

	(void)snprintf(when, sizeof(when), "ended at call %u, recovery %d", at,
		       got);
	if (got < 0)
		fail_msg("%s: %s", when, err.text);
	assert_true((text != NULL) == (got > 0));
	nothing_left(b);
	if (got) {
		project_is(b, got == 1 ? b->new_picture : b->old_picture, when);
	} else {
		char *is = picture_of(b->project);

		if (strcmp(is, b->new_picture) != 0)
			same_picture(is, b->old_picture, when);
		free(is);
	}
	free(text);
	return got;
}

static void is_all_or_nothing_ended_at_any_call(void **state)
{
	struct bench *b = *state;
	unsigned int at, finished = 0, back = 0;

	for (at = 1;; at++) {
		int got;

		bench_reset(b);
		if (!ended_at(b, at, false))
			break;
		got = check_recovered(b, at);
		finished += got == 1;
		back += got == 2;
	}
	print_message("# %u kill points: %u finished, %u taken back\n", at - 1,
		      finished, back);
	assert_true(at > 100);
	assert_true(finished > 20);
	assert_true(back > 20);
}

/* Whether the call at this number moves or links a file. */
static bool names_files(const struct buf *trace, unsigned int at)
{
	const char *line = (const char *)trace->data;

	while (--at && line)
		line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL;
	return line && (strncmp(line, "rename", 6) == 0 ||
			strncmp(line, "link", 4) == 0 ||
			strncmp(line, "unlink", 6) == 0);
}

/* NFS, 9p, most of FUSE: killed behind calls that move or link a file. */
static void is_all_or_nothing_without_an_exchange(void **state)
{
	struct bench *b = *state;
	AUTO(buf) struct buf trace = {0};
	unsigned int at, count, finished = 0, back = 0, points = 0;
	struct err err;

	for (lacks = LACKS_RENAME_FLAGS; lacks <= LACKS_LINKS_TOO; lacks++) {
		bench_reset(b);
		buf_clear(&trace);
		calls_start(0, 0);
		calls.trace = &trace;
		ok(run(b, b->box->store, &b->plan, &err));
		(void)buf_text(&trace);
		count = calls.count;
		project_is(b, b->new_picture, "after it");
		nothing_left(b);
		for (at = 2; at <= count; at++) {
			int got;

			/* An operation has two or three of them. */
			if (!names_files(&trace, at - 1) || points++ % 4)
				continue;
			bench_reset(b);
			assert_true(ended_at(b, at, false));
			got = check_recovered(b, at);
			finished += got == 1;
			back += got == 2;
		}
	}
	print_message("# %u finished, %u taken back\n", finished, back);
	assert_true(finished > 20);
	lacks = LACKS_NOTHING;
}

static void survives_an_end_of_the_recovery_too(void **state)
{
	struct bench *b = *state;
	unsigned int at, points = 0;
	bool more = true;

	for (at = 3; more; at += 31) {
		unsigned int then;

		for (then = 1;; then += 3) {
			bench_reset(b);
			more = ended_at(b, at, false);
			if (!more || !ended_at(b, then, true))
				break;
			(void)check_recovered(b, at * 1000 + then);
			points++;
		}
	}
	print_message("# %u kill points in recoveries\n", points);
	assert_true(points > 30);
}

/* One call fails; the result must describe the project. */
static void fail_each_call(struct bench *b, unsigned int step, bool for_ever)
{
	static const int errors[] = {ENOSPC, EIO, EROFS, EDQUOT, EINTR};
	unsigned int at, failed = 0, points = 0;

	for (at = 1;; at += step) {
		char when[64];
		struct err err;
		bool fired;
		int got;

		bench_reset(b);
		/* An endless EINTR is no interruption. */
		calls_start(at, errors[at / step % (COUNT(errors) - for_ever)]);
		calls.for_ever = for_ever;
		calls.reads = true;
		got = run(b, b->box->store, &b->plan, &err);
		fired = calls.count >= at;
		(void)snprintf(when, sizeof(when), "call %u fails, %d", at,
			       got);
		if (!fired)
			break;
		points++;
		failed += got < 0;
		if (transaction_pending(b->workspaces_fd, b->project)) {
			int then = check_recovered(b, at);

			/* Only after a permanent failure of the disk may the
			 * end be left to a recovery. */
			if (!for_ever)
				assert_int_equal(then, got < 0 ? 2 : 1);
			assert_true(got < 0 || then == 1);
		} else {
			nothing_left(b);
			project_is(b, got < 0 ? b->old_picture : b->new_picture,
				   when);
		}
	}
	print_message("# %u failing calls%s, %u of them fatal\n", points,
		      for_ever ? ", and all after each" : "", failed);
	assert_true(failed > 200 / step);
}

static void leaves_all_as_it_was_when_any_call_fails(void **state)
{
	fail_each_call(*state, 1, false);
}

static void can_be_recovered_when_the_disk_is_gone(void **state)
{
	fail_each_call(*state, 4, true);
}

/* --- so much that two threads stage it --- */

/* 20 directories of 30 files, with hard links of one inode in all of them. */
static void put_many(int fd)
{
	char path[64], text[64];
	unsigned int i, k;

	for (i = 0; i < 20; i++) {
		(void)snprintf(path, sizeof(path), "d%u", i);
		put_dir(fd, path);
		for (k = 0; k < 30; k++) {
			(void)snprintf(path, sizeof(path), "d%u/f%u", i, k);
			(void)snprintf(text, sizeof(text), "%u of %u", k, i);
			put_file(fd, path, k ? text : "",
				 k % 3 ? 0644 : 0400 + k);
		}
		(void)snprintf(path, sizeof(path), "d%u/all", i);
		if (i)
			assert_return_code(linkat(fd, "d0/all", fd, path, 0),
					   errno);
		else
			put_file(fd, path, "one inode", 0644);
		(void)snprintf(path, sizeof(path), "d%u/link", i);
		assert_return_code(symlinkat("all", fd, path), errno);
	}
	set_times(fd, ".", 1600000000);
}

/* From an empty project; at: the call that fails, 0 none. */
static void stage_many(struct bench *b, unsigned int at)
{
	struct snapshot nothing = {0}, many = {0};
	struct plan plan = {0};
	char *picture;
	struct err err;
	int got;

	drop(b->project);
	make_state(b->project, put_many);
	picture = picture_of(b->project);
	snap(b, b->project, &many);
	drop(b->project);
	assert_return_code(mkdir(b->project, 0755), errno);
	snap(b, b->project, &nothing);
	plan_for(b, &nothing.root, &many.root, &nothing.root, &plan);
	calls_start(at, EIO);
	got = run(b, b->box->store, &plan, &err);
	calls.on = false;
	if (at) {
		assert_int_equal(got, -EIO);
		assert_true(calls.count >= at);
	} else {
		ok(got);
		assert_true(calls.count > 2000);
		project_is(b, picture, "after it");
	}
	nothing_left(b);
	free(picture);
	plan_free(&plan);
	snapshot_free(&nothing);
	snapshot_free(&many);
}

static void stages_a_large_tree_whole(void **state)
{
	stage_many(*state, 0);
}

static void leaves_nothing_of_a_large_tree_when_a_call_fails(void **state)
{
	stage_many(*state, 700);
	stage_many(*state, 1501);
}

static uint64_t snap_known(struct bench *b, const struct project *p,
			   struct snapshot *ret)
{
	struct take_stats stats = {0};
	struct take_options options = {
		.root_path = b->project,
		.root_fd = p->fd,
		.reason = "post",
		.hints = p->hints.items,
		.hint_count = p->hints.count,
		.stats = &stats,
	};
	struct err err;

	ok(take_snapshot(b->box->store, &options, ret, &err));
	return stats.read_files;
}

static void edit_unseen(const char *project, const char *name)
{
	char *path = path_join(project, name);
	struct stat st;

	assert_return_code(stat(path, &st), errno);
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_return_code(fd_write(fd, "X", 1), errno);
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, st.st_mtim};
	assert_return_code(futimens(fd, times), errno);
	free(path);
}

/* Whether a snapshot trusts the timestamps of the file system (take.c). */
static bool is_trusted(const struct project *p)
{
	unsigned int traits = fstype_of_fd(p->fd)->traits;

	return (traits & FSTYPE_KERNEL_TIMES) && !(traits & FSTYPE_OVERLAY);
}

static bool same_at(struct bench *b, const struct snapshot *x,
		    const struct snapshot *y, const char *path)
{
	struct entry p = {0}, q = {0};
	struct err err;
	bool same;

	assert_int_equal(tree_lookup(b->box->store, &x->root, path, &p, &err),
			 1);
	assert_int_equal(tree_lookup(b->box->store, &y->root, path, &q, &err),
			 1);
	same = oid_equal(&p.content, &q.content);
	entry_free(&p);
	entry_free(&q);
	return same;
}

/* A file that was just written from the store is not read again; a file that
 * another process has written since is. */
static void knows_what_it_wrote_for_the_snapshot_after_it(void **state)
{
	struct bench *b = *state;
	struct snapshot nothing = {0}, many = {0}, after = {0}, last = {0};
	struct plan plan = {0};
	struct project p;
	struct err err;
	uint64_t read;

	drop(b->project);
	make_state(b->project, put_many);
	snap(b, b->project, &many);
	drop(b->project);
	assert_return_code(mkdir(b->project, 0755), errno);
	snap(b, b->project, &nothing);
	plan_for(b, &nothing.root, &many.root, &nothing.root, &plan);
	open_project(b, &p);
	ok(run_root(b->box->store, &p, &plan, &err));
	assert_true(p.hints.count > 500);
	read = snap_known(b, &p, &after);
	assert_true(same_at(b, &after, &many, "d3/f4"));
	assert_true(same_at(b, &after, &many, "d7/f11"));
	edit_unseen(b->project, "d3/f4");
	assert_true(is_trusted(&p) ? read < 50 : read > 500);
	assert_int_equal(snap_known(b, &p, &last),
			 is_trusted(&p) ? read + 1 : read);
	assert_false(same_at(b, &last, &many, "d3/f4"));
	assert_true(same_at(b, &last, &many, "d7/f11"));
	project_close(&p);
	plan_free(&plan);
	snapshot_free(&nothing);
	snapshot_free(&many);
	snapshot_free(&after);
	snapshot_free(&last);
}

/* --- another process at work --- */

/* The same for files that replaced others. */
static void knows_what_it_replaced_until_it_is_edited(void **state)
{
	struct bench *b = *state;
	struct snapshot after = {0}, last = {0};
	struct project p;
	struct err err;
	uint64_t read;

	open_project(b, &p);
	ok(run_root(b->box->store, &p, &b->plan, &err));
	read = snap_known(b, &p, &after);
	assert_true(same_at(b, &after, &b->new, "deep/er/edited"));
	edit_unseen(b->project, "deep/er/edited");
	assert_int_equal(snap_known(b, &p, &last),
			 is_trusted(&p) ? read + 1 : read);
	assert_false(same_at(b, &last, &b->new, "deep/er/edited"));
	assert_true(same_at(b, &last, &b->new, "edited"));
	project_close(&p);
	snapshot_free(&after);
	snapshot_free(&last);
}

static void edit(struct bench *b, const char *path, const char *text)
{
	char *whole = path_join(b->project, path);

	put_file(AT_FDCWD, whole, text, 0644);
	free(whole);
}

static void refused_for(struct bench *b, const char *path, int got,
			const struct err *err)
{
	assert_int_equal(got, -EBUSY);
	if (!strstr(err->text, path))
		fail_msg("%s is not named: %s", path, err->text);
	nothing_left(b);
}

static struct bench *bench_now;

static void edit_before_rename(void)
{
	calls.on = false;
	edit(bench_now, "edited", "NEW\n");
	calls.on = true;
}

static void takes_all_back_when_a_displaced_file_is_another(void **state)
{
	struct bench *b = *state;
	char *before, *after;
	struct err err;
	int got;

	/* The same size: only the bytes differ. */
	bench_now = b;
	calls_start(0, 0);
	calls.before_rename = edit_before_rename;
	got = run(b, b->box->store, &b->plan, &err);
	refused_for(b, "edited", got, &err);
	after = picture_of(b->project);
	bench_reset(b);
	edit(b, "edited", "NEW\n");
	before = picture_of(b->project);
	/* Equal except for the time of the edit. */
	assert_int_equal(strlen(before), strlen(after));
	{
		char *p = strstr(before, "'edited'"), *q;

		q = strstr(after, "'edited'");
		memset(p, ' ', strcspn(p, "l"));
		memset(q, ' ', strcspn(q, "l"));
	}
	same_picture(after, before, "rolled back");
	free(before);
	free(after);
}

static void add_before_rename(void)
{
	calls.on = false;
	edit(bench_now, "dir-to-file/mine", "mine\n");
	calls.on = true;
}

static void deletes_no_folder_with_something_new_in_it(void **state)
{
	struct bench *b = *state;
	struct buf bytes = {0};
	struct err err;
	auto_free char *mine = path_join(b->project, "dir-to-file/mine");

	bench_now = b;
	calls_start(0, 0);
	calls.before_rename = add_before_rename;
	assert_int_equal(run(b, b->box->store, &b->plan, &err), -EBUSY);
	assert_non_null(strstr(err.text, "dir-to-file"));
	ok(fd_slurp_at(AT_FDCWD, mine, 100, &bytes, &err));
	assert_string_equal(buf_text(&bytes), "mine\n");
	buf_free(&bytes);
	nothing_left(b);
}

/* The kernel permits to move the directory, but not to delete its entries. */
static void deletes_no_folder_that_holds_something_immutable(void **state)
{
	struct bench *b = *state;
	auto_free char *before = picture_of(b->project);
	AUTO(entry) struct entry found = {0}, fixed = {0};
	struct tree_editor *ed;
	struct plan plan = {0};
	struct err err;

	ok(tree_lookup(b->box->store, &b->old.root, "gone-dir/below/x", &found,
		       &err));
	assert_true(S_ISREG(found.mode));
	found.chattr = FS_IMMUTABLE_FL;
	ed = tree_editor_new(b->box->store, &b->old.root);
	ok(tree_editor_put(ed, "gone-dir/below/x", &found, &err));
	ok(tree_editor_save(ed, &fixed, &err));
	tree_editor_free(&ed);
	plan_for(b, &fixed, &b->new.root, &fixed, &plan);
	assert_int_equal(run(b, b->box->store, &plan, &err), -EPERM);
	assert_non_null(strstr(err.text, "'gone-dir/below/x' is immutable"));
	project_is(b, before, "refused");
	nothing_left(b);
	plan_free(&plan);
}

static void create_before_rename(void)
{
	calls.on = false;
	edit(bench_now, "made", "mine\n");
	calls.on = true;
}

static void overwrites_nothing_that_has_come_meanwhile(void **state)
{
	struct bench *b = *state;
	struct buf bytes = {0};
	struct err err;
	auto_free char *mine = path_join(b->project, "made");

	bench_now = b;
	calls_start(0, 0);
	calls.before_rename = create_before_rename;
	assert_int_equal(run(b, b->box->store, &b->plan, &err), -EBUSY);
	ok(fd_slurp_at(AT_FDCWD, mine, 100, &bytes, &err));
	assert_string_equal(buf_text(&bytes), "mine\n");
	buf_free(&bytes);
	nothing_left(b);
}

/* A directory becomes a link to one outside, with a file of the same name. */
static void swap_parent(void)
{
	struct bench *b = bench_now;
	char *dir = path_join(b->project, "deep/er"),
	     *away = path_join(b->project, "deep/away"),
	     *outside = path_join(b->box->dir, "outside");

	calls.on = false;
	assert_return_code(rename(dir, away), errno);
	assert_return_code(symlink(outside, dir), errno);
	calls.on = true;
	free(dir);
	free(away);
	free(outside);
}

static void follows_no_link_out_of_the_project(void **state)
{
	struct bench *b = *state;
	auto_free char *outside = path_join(b->box->dir, "outside");
	auto_free char *file = path_join(outside, "edited");
	auto_free char *before = NULL;
	auto_free char *after = NULL;
	struct err err;
	int got;

	assert_return_code(mkdir(outside, 0755), errno);
	put_file(AT_FDCWD, file, "old\n", 0644);
	before = picture_of(outside);
	bench_now = b;
	calls_start(0, 0);
	calls.before_rename = swap_parent;
	got = run(b, b->box->store, &b->plan, &err);
	assert_true(got < 0);
	assert_non_null(strstr(err.text, "deep/er"));
	after = picture_of(outside);
	same_picture(after, before, "outside");
	/* The same if it was a link from the beginning. */
	bench_reset(b);
	swap_parent();
	calls_start(0, 0);
	assert_true(run(b, b->box->store, &b->plan, &err) < 0);
	assert_non_null(strstr(err.text, "deep/er"));
	free(after);
	after = picture_of(outside);
	same_picture(after, before, "outside");
	nothing_left(b);
}

static void leaves_other_names_of_a_file_alone(void **state)
{
	static const char *const names[] = {"edited", "modes/file", "gone",
					    "touched"};
	struct bench *b = *state;
	auto_free char *outside = path_join(b->box->dir, "outside");
	auto_free char *before = NULL;
	auto_free char *after = NULL;
	struct err err;
	size_t i;

	assert_return_code(mkdir(outside, 0755), errno);
	for (i = 0; i < 4; i++) {
		char *in = path_join(b->project, names[i]),
		     *out = mem_printf("%s/%zu", outside, i);

		assert_return_code(link(in, out), errno);
		free(in);
		free(out);
	}
	before = picture_of(outside);
	ok(run(b, b->box->store, &b->plan, &err));
	project_is(b, b->new_picture, "the project");
	/* One hard link fewer each, and no other difference. */
	for (i = 0; i < 4; i++) {
		char *links = strstr(before, "links 2");

		assert_non_null(links);
		links[6] = '1';
	}
	after = picture_of(outside);
	same_picture(after, before, "outside");
}

/* The user changes a file between the kill and the recovery. */
static void loses_no_edit_made_before_the_recovery(void **state)
{
	struct bench *b = *state;
	unsigned int at;

	for (at = 1;; at += 5) {
		char *text = NULL, *is;
		struct err err;
		int got;

		bench_reset(b);
		if (!ended_at(b, at, false))
			break;
		edit(b, "edited", "my own work\n");
		got = recover(b, b->box->store, &text, &err);
		if (got < 0)
			fail_msg("%u: %s", at, err.text);
		is = picture_of(b->project);
		/* A file with 12 bytes of these contents exists. */
		if (!strstr(is, "' 100644") || !strstr(is, " 12 "))
			fail_msg("ended at %u: lost:\n%s", at, is);
		assert_null(strstr(is, STAGING_PREFIX));
		free(is);
		free(text);
	}
}

/* --- obstacles --- */

static void respects_a_mode_set_since_the_plan(void **state)
{
	struct bench *b = *state;
	auto_free char *dir = path_join(b->project, "quiet");
	auto_free char *before = NULL;
	struct err err;

	assert_return_code(chmod(dir, 0711), errno);
	before = picture_of(b->project);
	assert_int_equal(run(b, b->box->store, &b->plan, &err), -EBUSY);
	assert_non_null(strstr(err.text, "quiet"));
	project_is(b, before, "refused");
	nothing_left(b);
}

static void makes_a_project_that_is_gone(void **state)
{
	struct bench *b = *state;
	struct plan_options options = {.additive = true};
	struct snapshot now = {0};
	struct plan plan = {0};
	struct project p;
	struct err err;

	drop(b->project);
	assert_int_equal(
		project_open(b->project, b->workspaces_fd, false, &p, &err),
		-ENOENT);
	ok(project_open(b->project, b->workspaces_fd, true, &p, &err));
	ok(project_inspect(b->box->store, &p, "pre-restore", "", &now, &err));
	ok(plan_make(b->box->store, &now.root, &b->old.root, &now.root,
		     &options, &plan, &err));
	ok(run_root(b->box->store, &p, &plan, &err));
	project_close(&p);
	nothing_left(b);
	snapshot_free(&now);
	plan_free(&plan);
	/* The root's own mtime is that of an additive restore: the present
	 * time. */
	snap(b, b->project, &now);
	plan_for(b, &b->old.root, &now.root, &b->old.root, &plan);
	assert_true(plan.steps.count <= 1);
	if (plan.steps.count)
		assert_string_equal(plan.steps.items[0].path, "");
	plan_free(&plan);
	snapshot_free(&now);
}

static void makes_a_project_from_nothing_at_all(void **state)
{
	struct bench *b = *state;
	struct entry nothing = {.name = mem_strdup("")};
	struct plan plan = {0};
	struct project p;
	struct err err;

	drop(b->project);
	plan_for(b, &nothing, &b->old.root, &nothing, &plan);
	ok(project_open(b->project, b->workspaces_fd, true, &p, &err));
	ok(run_root(b->box->store, &p, &plan, &err));
	project_close(&p);
	project_is(b, b->old_picture, "made");
	plan_free(&plan);
	entry_free(&nothing);
}

static void lets_one_guard_at_a_time_work_in_a_project(void **state)
{
	struct bench *b = *state;
	struct project p, q;
	struct err err;

	open_project(b, &p);
	assert_int_equal(
		project_open(b->project, b->workspaces_fd, false, &q, &err),
		-EBUSY);
	project_close(&p);
	open_project(b, &q);
	project_close(&q);
}

static void refuses_to_begin_on_top_of_an_interrupted_one(void **state)
{
	struct bench *b = *state;
	struct err err;

	assert_true(ended_at(b, 40, false));
	assert_true(transaction_pending(b->workspaces_fd, b->project));
	assert_int_equal(run(b, b->box->store, &b->plan, &err), -EBUSY);
	(void)check_recovered(b, 40);
	ok(run(b, b->box->store, &b->plan, &err));
}

static int load_journal(struct bench *b, struct journal *j, struct err *err)
{
	auto_close int fd =
		workspace_open(b->workspaces_fd, b->project, false, err);

	return journal_load(fd, j, err);
}

/* Kills the transaction before the first change of the project; returns the
 * number of that call. */
static unsigned int end_when_prepared(struct bench *b)
{
	static unsigned int at = 1; /* the same in all tests */
	struct err err;

	for (;; at++) {
		AUTO(journal) struct journal j = {0};

		bench_reset(b);
		assert_true(ended_at(b, at, false));
		if (load_journal(b, &j, &err) == 0 &&
		    j.state == JOURNAL_PREPARED)
			return at;
	}
}

/* The power fails while the journal's table is written: the project is
 * unchanged, whatever the journal contains. */
static void takes_back_what_was_not_prepared_whole(void **state)
{
	struct bench *b = *state;
	struct buf bytes = {0};
	char *text = NULL;
	unsigned int at;
	struct err err;
	auto_close int fd = -1;

	/* The table is on disk, the state "prepared" is not. */
	at = end_when_prepared(b) - 2;
	bench_reset(b);
	assert_true(ended_at(b, at, false));
	fd = workspace_open(b->workspaces_fd, b->project, false, &err);
	ok(fd_slurp_at(fd, JOURNAL_NAME, 1 << 20, &bytes, &err));
	bytes.data[bytes.len - 1] ^= 0x40;
	ok(atomic_write(fd, JOURNAL_NAME, bytes.data, bytes.len, 0600,
			ATOMIC_NO_SYNC, &err));
	assert_int_equal(recover(b, b->box->store, &text, &err), 2);
	project_is(b, b->old_picture, "rolled back");
	nothing_left(b);
	free(text);
	buf_free(&bytes);
}

static void reads_no_damaged_journal(void **state)
{
	struct bench *b = *state;
	struct journal j = {0};
	struct buf bytes = {0};
	struct err err;
	auto_close int fd = -1;
	size_t i;

	end_when_prepared(b);
	fd = workspace_open(b->workspaces_fd, b->project, false, &err);
	ok(fd_slurp_at(fd, JOURNAL_NAME, 1 << 20, &bytes, &err));
	for (i = 0; i < bytes.len; i++) {
		bytes.data[i] ^= 0x40;
		ok(atomic_write(fd, JOURNAL_NAME, bytes.data, bytes.len, 0600,
				false, &err));
		assert_int_equal(load_journal(b, &j, &err),
				 i == 8 ? -EPROTO : -EBADMSG);
		bytes.data[i] ^= 0x40;
	}
	for (i = 0; i < bytes.len; i += 7) {
		ok(atomic_write(fd, JOURNAL_NAME, bytes.data, i, 0600, false,
				&err));
		assert_int_equal(load_journal(b, &j, &err), -EBADMSG);
	}
	buf_free(&bytes);
}

static void sets_a_journal_aside_whose_folder_was_moved(void **state)
{
	struct bench *b = *state;
	auto_free char *away = path_join(b->box->dir, "away");
	char *text = NULL;
	struct err err;

	(void)end_when_prepared(b);
	assert_return_code(rename(b->project, away), errno);
	make_state(b->project, put_old);
	assert_int_equal(recover(b, b->box->store, &text, &err), 2);
	assert_non_null(strstr(text, "moved or replaced"));
	free(text);
	project_is(b, b->old_picture, "another folder");
	nothing_left(b);
}

static void takes_back_what_was_on_a_disk_that_was_not_there(void **state)
{
	struct bench *b = *state;
	auto_free char *away = path_join(b->box->dir, "away");
	AUTO(journal) struct journal j = {0};
	char *text = NULL;
	unsigned int at;
	struct err err;

	at = end_when_prepared(b) + 4;
	bench_reset(b);
	assert_true(ended_at(b, at, false));
	ok(load_journal(b, &j, &err));
	assert_int_equal(j.state, JOURNAL_PREPARED);
	assert_return_code(rename(b->project, away), errno);
	assert_return_code(mkdir(b->project, 0755), errno);
	assert_int_equal(recover(b, b->box->store, &text, &err), 2);
	free(text);
	assert_false(transaction_pending(b->workspaces_fd, b->project));
	assert_int_equal(recover(b, b->box->store, &text, &err), 0);
	assert_return_code(rmdir(b->project), errno);
	assert_return_code(rename(away, b->project), errno);
	assert_true(transaction_pending(b->workspaces_fd, b->project));
	assert_int_equal(recover(b, b->box->store, &text, &err), 2);
	assert_non_null(strstr(text, "rolled back"));
	free(text);
	project_is(b, b->old_picture, "the folder that is back");
	nothing_left(b);
	assert_int_equal(recover(b, b->box->store, &text, &err), 0);
}

/* --- a file system that does not tell "x" from "X" --- */

struct cased {
	const char *old[3], *new[3]; /* names in the project, and wanted */
	const char *mine; /* an edit in between, or NULL */
	int error;
	const char *said[2];
};

static void cased_tree(struct bench *b, const char *dir,
		       const char *const *names, struct snapshot *ret)
{
	drop(dir);
	assert_return_code(mkdir(dir, 0755), errno);
	for (; *names; names++) {
		char *path = path_join(dir, *names);

		put_file(AT_FDCWD, path, *names, 0644);
		free(path);
	}
	put_time(AT_FDCWD, dir, 1600000000);
	if (ret)
		snap(b, dir, ret);
}

static void cased_run(struct bench *b, const struct cased *c)
{
	AUTO(snapshot) struct snapshot old = {0}, new = {0};
	AUTO(plan) struct plan plan = {0};
	auto_free char *want = path_join(b->box->dir, "cased");
	auto_free char *before = NULL, *after = NULL;
	struct err err;
	size_t i;
	int got;

	cased_tree(b, want, c->new, &new);
	after = picture_of(want);
	cased_tree(b, b->project, c->old, &old);
	before = picture_of(b->project);
	plan_for(b, &old.root, &new.root, &old.root, &plan);
	calls_start(0, 0);
	calls.folds = true;
	got = run(b, b->box->store, &plan, &err);
	assert_int_equal(got, c->error);
	nothing_left(b);
	if (!got) {
		project_is(b, after, "a name spelled otherwise");
		return;
	}
	project_is(b, before, "refused");
	for (i = 0; i < COUNT(c->said) && c->said[i]; i++)
		if (!strstr(err.text, c->said[i]))
			fail_msg("%s is not named: %s", c->said[i], err.text);
}

static void names_both_where_two_names_are_one(void **state)
{
	static const struct cased cases[] = {
		{.old = {"x"},
		 .new = {"X", "x"},
		 .error = -EEXIST,
		 .said = {"'X'", "'x'"}},
		{.new = {"X", "x"}, .error = -EEXIST, .said = {"'X'", "'x'"}},
		/* One name is deleted, the other created. */
		{.old = {"x"}, .new = {"X"}},
	};
	size_t i;

	for (i = 0; i < COUNT(cases); i++)
		cased_run(*state, &cases[i]);
}

static void names_both_in_a_new_folder_too(void **state)
{
	struct bench *b = *state;
	AUTO(snapshot) struct snapshot new = {0};
	AUTO(plan) struct plan plan = {0};
	auto_free char *want = path_join(b->box->dir, "cased");
	auto_free char *folder = path_join(want, "folder");
	static const char *const names[] = {"x", "X", NULL};
	struct err err;

	assert_return_code(mkdir(want, 0755), errno);
	cased_tree(b, folder, names, NULL);
	snap(b, want, &new);
	plan_for(b, &b->old.root, &new.root, &b->old.root, &plan);
	calls_start(0, 0);
	calls.folds = true;
	assert_int_equal(run(b, b->box->store, &plan, &err), -EEXIST);
	assert_non_null(strstr(err.text, "folder/x"));
	assert_non_null(strstr(err.text, "file system"));
	project_is(b, b->old_picture, "refused");
	nothing_left(b);
}

/* --- order of the syncs --- */

static const char *after_last(const char *text, const char *what)
{
	const char *at, *last = NULL;

	for (at = text; (at = strstr(at, what)); at++)
		last = at;
	assert_non_null(last);
	return last;
}

/* The call that syncs the state "prepared"; the journal's table, written
 * before, must be on disk by then. */
static const char *prepared(const char *text)
{
	char table[500] = "", wrote[512], synced[520];
	const char *at;

	for (at = text; strcmp(path_name(table), JOURNAL_NAME) != 0; at++) {
		at = strstr(at, "pwrite ");
		assert_non_null(at);
		assert_int_equal(sscanf(at, "pwrite %499s", table), 1);
	}
	(void)snprintf(synced, sizeof(synced), "\nfsync %s\n", table);
	at = strstr(at, synced);
	assert_non_null(at);
	at = strstr(at, "pwrite ");
	assert_non_null(at);
	assert_int_equal(
		sscanf(at, "pwrite %511s fdatasync %511s", wrote, synced), 2);
	assert_string_equal(wrote, table);
	assert_string_equal(synced, table);
	return at;
}

static void syncs_what_it_needs_before_it_begins(void **state)
{
	struct bench *b = *state;
	struct buf trace = {0};
	const char *text, *first, *said, *at;
	struct err err;
	size_t files = 0;

	calls_start(0, 0);
	calls.trace = &trace;
	calls.sync = true;
	ok(run(b, b->box->store, &b->plan, &err));
	text = buf_text(&trace);
	first = strstr(text, "renameat2 ");
	assert_non_null(first);
	/* Everything is staged before the first entry moves to its place. */
	said = prepared(text);
	assert_true(strstr(said, "\nfdatasync ") < first);
	/* Before that, every written file in the staging directory is synced,
	 * and the directory. */
	for (at = text; (at = strstr(at, "write /")); at++) {
		char path[512], sync[520];
		const char *found;

		assert_true(sscanf(at, "write %500[^\n]", path) == 1);
		if (!strstr(path, STAGING_PREFIX))
			continue;
		(void)snprintf(sync, sizeof(sync), "\nfsync %s\n", path);
		found = strstr(at, sync);
		if (!found || found > said)
			fail_msg("%s is not synced before it is said to be",
				 path);
		files++;
	}
	assert_true(files > 5);
	/* The journal and its directory come before any other change. */
	at = strstr(text, "renameat journal\nfsync ");
	assert_non_null(at);
	assert_true(at < strstr(text, "mkdirat " STAGING_PREFIX));
	assert_true(strstr(text, "fdatasync ") < at);
	/* The directories with changed names come before the state "done". */
	at = strstr(after_last(text, "renameat2 "), "/project/deep/er\n");
	assert_non_null(at);
	assert_true(at < after_last(text, "pwrite "));
	assert_non_null(strstr(after_last(text, "pwrite "), "fdatasync"));
	buf_free(&trace);
}

int main(void)
{
#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)
	const struct CMUnitTest tests[] = {
		TEST(makes_the_project_what_was_wanted),
		TEST(has_nothing_to_do_the_second_time),
		TEST(is_undone_by_the_plan_the_other_way_round),
		TEST(makes_a_file_of_its_own_beside_an_edited_partner),
		TEST(is_all_or_nothing_ended_at_any_call),
		TEST(is_all_or_nothing_without_an_exchange),
		TEST(survives_an_end_of_the_recovery_too),
		TEST(leaves_all_as_it_was_when_any_call_fails),
		TEST(can_be_recovered_when_the_disk_is_gone),
		TEST(stages_a_large_tree_whole),
		TEST(leaves_nothing_of_a_large_tree_when_a_call_fails),
		TEST(knows_what_it_wrote_for_the_snapshot_after_it),
		TEST(knows_what_it_replaced_until_it_is_edited),
		TEST(takes_all_back_when_a_displaced_file_is_another),
		TEST(deletes_no_folder_with_something_new_in_it),
		TEST(deletes_no_folder_that_holds_something_immutable),
		TEST(overwrites_nothing_that_has_come_meanwhile),
		TEST(follows_no_link_out_of_the_project),
		TEST(leaves_other_names_of_a_file_alone),
		TEST(loses_no_edit_made_before_the_recovery),
		TEST(respects_a_mode_set_since_the_plan),
		TEST(makes_a_project_that_is_gone),
		TEST(makes_a_project_from_nothing_at_all),
		TEST(lets_one_guard_at_a_time_work_in_a_project),
		TEST(refuses_to_begin_on_top_of_an_interrupted_one),
		TEST(takes_back_what_was_not_prepared_whole),
		TEST(reads_no_damaged_journal),
		TEST(sets_a_journal_aside_whose_folder_was_moved),
		TEST(takes_back_what_was_on_a_disk_that_was_not_there),
		TEST(names_both_where_two_names_are_one),
		TEST(names_both_in_a_new_folder_too),
		TEST(syncs_what_it_needs_before_it_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
