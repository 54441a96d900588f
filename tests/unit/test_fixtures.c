/*
 * Records and journals of guard 0.1.0 (tests/data): the current program reads
 * every field of each file, and writes the same bytes again.
 */
#include "overlay/session_private.h"

#include "tests/unit/directory_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/fd.h"
#include "guard/change/action.h"
#include "restore/journal.h"

#define RECORD "tests/data/run/"
#define ACTION "tests/data/action/"
#define JOURNAL "tests/data/journal/"

/* Copies the fixture to `name` in the directory; *ret are its bytes. */
static void put_fixture(int dirfd, const char *fixture, const char *name,
			struct buf *ret)
{
	struct err err;

	ok(fd_slurp_at(AT_FDCWD, fixture, 1u << 20, ret, &err));
	ok(atomic_write(dirfd, name, ret->data, ret->len, 0600, false, &err));
}

static void is_the_fixture(int dirfd, const char *name,
			   const struct buf *fixture)
{
	AUTO(buf) struct buf bytes = {0};
	struct err err;

	ok(fd_slurp_at(dirfd, name, 1u << 20, &bytes, &err));
	assert_int_equal(bytes.len, fixture->len);
	assert_memory_equal(bytes.data, fixture->data, bytes.len);
}

/* --- records of runs --- */

static const char *more(const struct session *s, const char *key)
{
	return record_get(&s->more, key) ?: "(none)";
}

static void load_run(struct folder_box *box, const char *fixture,
		     const char *id, struct buf *bytes, struct session *ret)
{
	struct err err;

	put_fixture(box->fd, fixture, "record", bytes);
	*ret = (struct session){.fd = dup(box->fd), .lock_fd = -1};
	(void)snprintf(ret->id, sizeof(ret->id), "%s", id);
	ok(session_load(ret, &err));
}

static void a_run_of_several_folders_is_read_and_written(void **state)
{
	struct folder_box *box = *state;
	AUTO(session) struct session s = SESSION_NONE;
	AUTO(buf) struct buf bytes = {0};
	struct err err;

	load_run(box, RECORD "record-2", "3liuw7-2n", &bytes, &s);
	assert_int_equal(s.state, RUN_ENDED);
	assert_string_equal(s.project, "/root/project");
	assert_int_equal(s.started.sec, 1790000000);
	assert_int_equal(s.status, 128);
	assert_int_equal(s.roots[0].result, 7);
	assert_int_equal(s.root_count, 3);
	assert_string_equal(s.roots[1].path, "/root/beside");
	assert_int_equal(s.roots[1].result, 8);
	assert_string_equal(more(&s, "uncovered"), "/root/project/mounted");
	assert_string_equal(more(&s, "git-folder"), "/root/main/.git");
	assert_string_equal(more(&s, "option"), "--cow=/root/beside");
	assert_string_equal(more(&s, "agent"), "mine");
	assert_string_equal(more(&s, "agent-code"), "A .mine/a");
	assert_string_equal(more(&s, "noise"), "*.tmp");
	ok(session_save(&s, &err));
	is_the_fixture(box->fd, "record", &bytes);
}

static void a_run_that_is_applied_is_read_and_written(void **state)
{
	struct folder_box *box = *state;
	AUTO(session) struct session s = SESSION_NONE;
	AUTO(buf) struct buf bytes = {0};
	struct err err;

	load_run(box, RECORD "record-1-applied", "3liuxt-zo", &bytes, &s);
	assert_int_equal(s.state, RUN_APPLIED);
	assert_int_equal(s.root_count, 1);
	assert_int_equal(s.times, 1);
	assert_string_equal(more(&s, "taken"), "made");
	assert_string_equal(more(&s, "imported"), "refs/guard/3liuxt-zo");
	assert_string_equal(more(&s, "one-group"), "/home/tester/project");
	ok(session_save(&s, &err));
	is_the_fixture(box->fd, "record", &bytes);
}

/* --- records of actions --- */

static void load_action(struct folder_box *box, const char *fixture,
			bool undone, struct action *ret)
{
	AUTO(buf) struct buf bytes = {0};
	struct err err;

	put_fixture(box->fd, fixture, "last-action", &bytes);
	ok((undone ? action_load_undone : action_load_effective)(box->fd, 0,
								 ret, &err));
}

static void an_action_on_one_folder_is_read(void **state)
{
	AUTO(action) struct action a = {0};

	load_action(*state, ACTION "1-apply", false, &a);
	assert_string_equal(a.kind, "apply");
	assert_int_equal(a.roots.items[0].before, 5);
	assert_int_equal(a.roots.items[0].after, 6);
	assert_false(a.complete);
}

static void an_undo_on_several_folders_is_read(void **state)
{
	AUTO(action) struct action a = {0};

	load_action(*state, ACTION "2-undo", true, &a);
	assert_string_equal(a.kind, "undo");
	assert_int_equal(a.undone_before, 275);
	assert_int_equal(a.roots.items[0].first, 275);
	assert_true(a.complete);
	assert_int_equal(a.roots.count, 3);
	assert_string_equal(a.roots.items[2].path, "/home/tester");
	assert_string_equal(a.roots.items[2].only[0], ".config/app/edited");
	assert_int_equal(a.roots.items[2].after, 286);
	assert_int_equal(a.roots.items[2].first, 277);
}

static void a_discard_of_paths_is_read(void **state)
{
	AUTO(action) struct action a = {0};

	load_action(*state, ACTION "3-discard", false, &a);
	assert_string_equal(a.kind, ACTION_PARTS);
	assert_int_equal(a.parts.count, 2);
	assert_string_equal(a.parts.items[0].layer, "upper");
	assert_string_equal(a.parts.items[0].path, "gone/deep/x");
	assert_string_equal(a.parts.items[1].layer, "home-upper");
}

/* --- journals --- */

/* "'root': kind path, ...; " of each root. */
static void describe(const struct journal *j, struct buf *to)
{
	static const char *const kinds[] = {
		[OP_DELETE] = "delete", [OP_REPLACE] = "replace",
		[OP_CREATE] = "create", [OP_CHILD] = "child",
		[OP_META] = "metadata",
	};
	size_t i, k;

	for (i = 0; i < j->roots.count; i++) {
		const struct journal_root *r = &j->roots.items[i];

		buf_printf(to, "'%s':", r->path);
		for (k = 0; k < r->ops.count; k++)
			buf_printf(to, "%s %s%s%s", k ? "," : "",
				   kinds[r->ops.items[k].kind],
				   *r->ops.items[k].path ? " " : "",
				   r->ops.items[k].path);
		buf_printf(to, "; ");
	}
}

static void load_journal(struct folder_box *box, const char *fixture,
			 struct buf *bytes, struct journal *ret)
{
	AUTO(buf) struct buf text = {0};
	struct err err;

	put_fixture(box->fd, fixture, JOURNAL_NAME, bytes);
	ok(journal_load(box->fd, ret, &err));
	assert_string_equal(ret->action, "apply");
	assert_int_equal(ret->roots.count, 3);
	describe(ret, &text);
	assert_string_equal(
		buf_text(&text),
		"'/home/tester/project': delete gone, replace edited, "
		"replace link, create made, child made/below, "
		"child made/below/file, child made/twin, metadata keep/rights, "
		"metadata; "
		"'/home/tester/beside': delete edited, create new, metadata; "
		"'/home/tester': replace .config/app/edited, "
		"metadata .config/app; ");
}

static void a_journal_is_read_and_written(void **state)
{
	struct folder_box *box = *state;
	AUTO(journal) struct journal j = {0};
	AUTO(atomic_set) struct atomic_set set = {0};
	AUTO(buf) struct buf bytes = {0};
	struct err err;

	load_journal(box, JOURNAL "v4-prepared", &bytes, &j);
	assert_int_equal(j.state, JOURNAL_PREPARED);
	ok(journal_remove(box->fd, &err));
	ok(journal_add_to_set(box->fd, &j, &set, &err));
	ok(atomic_set_publish(&set, NULL, &err));
	ok(journal_write_table(box->fd, &j, &err));
	ok(journal_set_state(box->fd, &j, JOURNAL_PREPARED, &err));
	is_the_fixture(box->fd, JOURNAL_NAME, &bytes);
}

static void a_journal_before_its_table_is_read_and_written(void **state)
{
	struct folder_box *box = *state;
	AUTO(journal) struct journal j = {0};
	AUTO(atomic_set) struct atomic_set set = {0};
	AUTO(buf) struct buf bytes = {0};
	struct err err;

	load_journal(box, JOURNAL "v4-staging", &bytes, &j);
	assert_int_equal(j.state, JOURNAL_STAGING);
	ok(journal_add_to_set(box->fd, &j, &set, &err));
	ok(atomic_set_publish(&set, NULL, &err));
	is_the_fixture(box->fd, JOURNAL_NAME, &bytes);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, folder_box_setup,                \
					folder_box_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_run_of_several_folders_is_read_and_written),
		TEST(a_run_that_is_applied_is_read_and_written),
		TEST(an_action_on_one_folder_is_read),
		TEST(an_undo_on_several_folders_is_read),
		TEST(a_discard_of_paths_is_read),
		TEST(a_journal_is_read_and_written),
		TEST(a_journal_before_its_table_is_read_and_written),
	};

	return cmocka_run_group_tests_name("fixtures", tests, NULL, NULL);
}
