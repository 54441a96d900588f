/*
 * A transaction over two directories: both or neither, at every kill.
 */
/* users: one */
#pragma GCC diagnostic ignored "-Wunused-function"
#include "tests/unit/transaction_fixture.h"

#include <sys/stat.h>

/* The second directory, beside the bench's own project. */
struct second {
	struct bench *b;
	char *path, *wanted;
	struct snapshot old, new;
	struct plan plan, first_plan;
	char *first_old, *first_new, *old_picture, *new_picture;
};

static void put_first(int fd, const char *text)
{
	put_file(fd, "edited", text, 0644);
	put_dir(fd, "folder");
	put_file(fd, "folder/x", text, 0600);
}

static void put_first_old(int fd)
{
	put_first(fd, "old\n");
	put_file(fd, "gone", "old\n", 0644);
	set_times(fd, ".", 1600000000);
}

static void put_first_new(int fd)
{
	put_first(fd, "new and longer\n");
	put_file(fd, "made", "new\n", 0755);
	set_times(fd, ".", 1600000000);
}

static void put_second_old(int fd)
{
	put_file(fd, "settings", "a = 1\n", 0600);
	put_dir(fd, "app");
	put_file(fd, "app/cache", "old\n", 0644);
	set_times(fd, ".", 1600000000);
}

static void put_second_new(int fd)
{
	put_file(fd, "settings", "a = 2, b = 3\n", 0600);
	put_dir(fd, "app");
	put_dir(fd, "app/new");
	put_file(fd, "app/new/x", "new\n", 0644);
	set_times(fd, ".", 1600000000);
}

static void reset(struct second *s)
{
	struct bench *b = s->b;

	bench_reset(b);
	drop(b->project);
	make_state(b->project, put_first_old);
	drop(s->path);
	make_state(s->path, put_second_old);
}

static int roots_setup(void **state)
{
	struct second *s = mem_zalloc(sizeof(*s));
	struct bench *b;
	struct snapshot first_old = {0}, first_new = {0};
	void *bench;

	(void)bench_setup(&bench);
	s->b = b = bench;
	s->path = path_join(b->box->dir, "second");
	s->wanted = path_join(b->box->dir, "second-wanted");
	make_state(s->wanted, put_second_new);
	reset(s);
	drop(b->wanted);
	make_state(b->wanted, put_first_new);
	s->first_old = picture_of(b->project);
	s->first_new = picture_of(b->wanted);
	s->old_picture = picture_of(s->path);
	s->new_picture = picture_of(s->wanted);
	snap(b, b->project, &first_old);
	snap(b, b->wanted, &first_new);
	snap(b, s->path, &s->old);
	snap(b, s->wanted, &s->new);
	plan_for(b, &first_old.root, &first_new.root, &first_old.root,
		 &s->first_plan);
	plan_for(b, &s->old.root, &s->new.root, &s->old.root, &s->plan);
	snapshot_free(&first_old);
	snapshot_free(&first_new);
	*state = s;
	return 0;
}

static int roots_teardown(void **state)
{
	struct second *s = *state;
	void *bench = s->b;

	plan_free(&s->plan);
	plan_free(&s->first_plan);
	snapshot_free(&s->old);
	snapshot_free(&s->new);
	free(s->path);
	free(s->wanted);
	free(s->first_old);
	free(s->first_new);
	free(s->old_picture);
	free(s->new_picture);
	free(s);
	return bench_teardown(&bench);
}

static int run_both(struct second *s, struct store *store,
		    const struct plan *first, struct err *ret_err)
{
	struct err err;
	struct project p, q;
	struct transaction_root roots[] = {
		{.project = &p, .plan = first},
		{.project = &q, .plan = &s->plan},
	};
	bool on = calls.on;
	int got;

	calls.on = false;
	open_project(s->b, &p);
	ok(project_open(s->path, s->b->workspaces_fd, false, &q, &err));
	calls.on = on;
	got = transaction_run(store, roots, 2, &applied, ret_err);
	calls.on = false;
	project_close(&p);
	project_close(&q);
	return got;
}

static void are(struct second *s, bool new, const char *when)
{
	char *second = picture_of(s->path);

	project_is(s->b, new ? s->first_new : s->first_old, when);
	same_picture(second, new ? s->new_picture : s->old_picture, when);
	free(second);
}

/* No journal and no message. */
static void nothing_said(struct second *s)
{
	char *first = transaction_first(s->b->workspaces_fd, s->path);

	assert_null(first);
	assert_false(transaction_pending(s->b->workspaces_fd, s->b->project));
	assert_false(transaction_pending(s->b->workspaces_fd, s->path));
}

static void changes_both_folders(void **state)
{
	struct second *s = *state;
	struct err err;

	ok(run_both(s, s->b->box->store, &s->first_plan, &err));
	are(s, true, "after it");
	nothing_said(s);
}

static void changes_the_second_alone_when_the_first_has_nothing(void **state)
{
	struct second *s = *state;
	struct plan nothing = {0};
	char *second;
	struct err err;

	ok(run_both(s, s->b->box->store, &nothing, &err));
	project_is(s->b, s->first_old, "nothing to do there");
	second = picture_of(s->path);
	same_picture(second, s->new_picture, "the second");
	free(second);
	nothing_said(s);
}

static bool ended_at(struct second *s, unsigned int at)
{
	struct store *store;
	struct err err;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (store_open(&store, s->b->box->store_root_fd, STORE_READ,
			       &err) < 0)
			_exit(2);
		calls_start(at, 0);
		if (run_both(s, store, &s->first_plan, &err) < 0)
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

static void are_both_or_neither_ended_at_any_call(void **state)
{
	struct second *s = *state;
	unsigned int at, counts[3] = {0};

	for (at = 1;; at++) {
		char *text = NULL, *first;
		char when[64];
		struct err err;
		int got;

		reset(s);
		if (!ended_at(s, at))
			break;
		first = transaction_first(s->b->workspaces_fd, s->path);
		if (first)
			assert_string_equal(first, s->b->project);
		free(first);
		calls_start(0, 0);
		got = recover(s->b, s->b->box->store, &text, &err);
		if (got < 0)
			fail_msg("call %u: %s", at, err.text);
		(void)snprintf(when, sizeof(when), "call %u, recovery %d", at,
			       got);
		if (got) {
			are(s, got == 1, when);
		} else {
			char *is = picture_of(s->path);

			are(s, strcmp(is, s->new_picture) == 0, when);
			free(is);
		}
		nothing_left(s->b);
		nothing_said(s);
		counts[got]++;
		free(text);
	}
	print_message("# %u kill points: %u finished, %u taken back\n", at - 1,
		      counts[1], counts[2]);
	assert_true(counts[1] > 20);
	assert_true(counts[2] > 10);
}

static void are_as_before_when_any_call_fails(void **state)
{
	struct second *s = *state;
	unsigned int at, failed = 0;

	for (at = 1;; at++) {
		char when[64];
		struct err err;
		bool fired;
		int got;

		reset(s);
		calls_start(at, EIO);
		got = run_both(s, s->b->box->store, &s->first_plan, &err);
		fired = calls.count >= at;
		calls.on = false;
		if (!fired)
			break;
		failed += got < 0;
		(void)snprintf(when, sizeof(when), "call %u fails, %d", at,
			       got);
		if (transaction_pending(s->b->workspaces_fd, s->b->project)) {
			char *text = NULL;
			int then = recover(s->b, s->b->box->store, &text, &err);

			assert_int_equal(then, got < 0 ? 2 : 1);
			free(text);
		}
		are(s, got == 0, when);
		nothing_said(s);
	}
	assert_true(failed > 40);
}

static void are_taken_back_when_the_second_has_changed(void **state)
{
	struct second *s = *state;
	auto_free char *file = path_join(s->path, "settings");
	struct err err;

	assert_return_code(chmod(file, 0644), errno);
	assert_int_equal(run_both(s, s->b->box->store, &s->first_plan, &err),
			 -EBUSY);
	project_is(s->b, s->first_old, "the first");
	nothing_said(s);
}

static void refuse_a_second_that_waits_for_a_recovery(void **state)
{
	struct second *s = *state;
	unsigned int at = 1;
	struct project q;
	struct transaction_root root = {.project = &q, .plan = &s->plan};
	char *first = NULL, *text = NULL;
	struct err err;

	while (!first) {
		reset(s);
		assert_true(ended_at(s, at++));
		first = transaction_first(s->b->workspaces_fd, s->path);
	}
	free(first);
	ok(project_open(s->path, s->b->workspaces_fd, false, &q, &err));
	assert_int_equal(
		transaction_run(s->b->box->store, &root, 1, &applied, &err),
		-EBUSY);
	project_close(&q);
	assert_true(recover(s->b, s->b->box->store, &text, &err) > 0);
	free(text);
	nothing_said(s);
}

/* The first is rolled back; an entry in place of the second stays unchanged. */
static void take_the_first_back_when_the_second_is_gone(void **state)
{
	struct second *s = *state;
	auto_free char *away = path_join(s->b->box->dir, "away");
	unsigned int at = 1;
	char *text = NULL;
	struct err err;

	for (;; at++) {
		struct journal j = {0};
		auto_close int fd = -1;
		enum journal_state seen;

		reset(s);
		assert_true(ended_at(s, at));
		fd = workspace_open(s->b->workspaces_fd, s->b->project, false,
				    &err);
		if (journal_load(fd, &j, &err) < 0)
			continue;
		seen = j.state;
		journal_free(&j);
		if (seen == JOURNAL_PREPARED)
			break;
	}
	assert_return_code(rename(s->path, away), errno);
	make_state(s->path, put_second_old);
	assert_int_equal(recover(s->b, s->b->box->store, &text, &err), 2);
	assert_non_null(strstr(text, "moved or replaced"));
	free(text);
	are(s, false, "the second was replaced");
	drop(s->path);
	assert_return_code(rename(away, s->path), errno);
	text = transaction_first(s->b->workspaces_fd, s->path);
	assert_string_equal(text, s->b->project);
	free(text);
	assert_int_equal(recover(s->b, s->b->box->store, &text, &err), 2);
	assert_null(strstr(text, "moved or replaced"));
	free(text);
	are(s, false, "the second is back");
	assert_null(transaction_first(s->b->workspaces_fd, s->path));
}

/* --- journals of other versions: tests/data/journal --- */

static void copy_journal(struct second *s, const char *name)
{
	auto_free char *path = mem_printf("tests/data/journal/%s", name);
	AUTO(buf) struct buf bytes = {0};
	struct err err;
	auto_close int fd =
		workspace_open(s->b->workspaces_fd, s->b->project, true, &err);

	assert_true(fd >= 0);
	ok(fd_slurp_at(AT_FDCWD, path, 1 << 20, &bytes, &err));
	ok(atomic_write(fd, JOURNAL_NAME, bytes.data, bytes.len, 0600, false,
			&err));
}

#define OLD_STAGING ".guard-staging-00000000000000aa"

/* The state of version 1: "gone" displaced, "made" not created yet. A staged
 * file for "made" would have another inode here, and count as a foreign file.
 */
static void put_interrupted(struct second *s)
{
	auto_close int fd =
		open(s->b->project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	put_dir(fd, OLD_STAGING);
	assert_return_code(renameat(fd, "gone", fd, OLD_STAGING "/d0"), errno);
}

static void end_a_journal_of_version_1(void **state)
{
	struct second *s = *state;
	char *text = NULL;
	struct err err;

	reset(s);
	put_interrupted(s);
	copy_journal(s, "v1-back");
	assert_int_equal(recover(s->b, s->b->box->store, &text, &err), 2);
	assert_non_null(strstr(text, "apply"));
	free(text);
	are(s, false, "taken back");
	nothing_left(s->b);

	reset(s);
	put_interrupted(s);
	copy_journal(s, "v1-done");
	assert_int_equal(recover(s->b, s->b->box->store, &text, &err), 1);
	free(text);
	nothing_left(s->b);
	nothing_said(s);
}

static void leave_a_journal_of_a_newer_version_alone(void **state)
{
	struct second *s = *state;
	char *text = NULL;
	struct err err;

	reset(s);
	put_interrupted(s);
	copy_journal(s, "v9");
	assert_int_equal(recover(s->b, s->b->box->store, &text, &err), -EPROTO);
	assert_non_null(strstr(err.text, "newer guard"));
	assert_true(transaction_pending(s->b->workspaces_fd, s->b->project));
	assert_int_equal(run_both(s, s->b->box->store, &s->first_plan, &err),
			 -EBUSY);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, roots_setup, roots_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(changes_both_folders),
		TEST(changes_the_second_alone_when_the_first_has_nothing),
		TEST(are_both_or_neither_ended_at_any_call),
		TEST(are_as_before_when_any_call_fails),
		TEST(are_taken_back_when_the_second_has_changed),
		TEST(refuse_a_second_that_waits_for_a_recovery),
		TEST(take_the_first_back_when_the_second_is_gone),
		TEST(end_a_journal_of_version_1),
		TEST(leave_a_journal_of_a_newer_version_alone),
	};

	return cmocka_run_group_tests_name("roots", tests, NULL, NULL);
}
