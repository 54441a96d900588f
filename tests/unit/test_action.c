/* guard/change/action.c: the records that undo uses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "guard/change/action.h"
#include "tests/unit/directory_fixture.h"

static void expect_last(int fd, const char *kind, const char *run)
{
	AUTO(action) struct action a = {0};
	struct err err;
	int got = action_load_effective(fd, 0, &a, &err);

	if (!kind) {
		assert_int_equal(got, -ENOENT);
		return;
	}
	assert_int_equal(got, 0);
	assert_string_equal(a.kind, kind);
	assert_string_equal(a.run_id, run);
}

static void an_action_comes_back_as_it_was_saved(void **state)
{
	struct folder_box *p = *state;
	struct action_root root = {.before = 7, .after = 9};
	struct action a = {
		.kind = "undo",
		.run_id = "3mk9zq-4t",
		.run_name = "fix-login",
		.number = 4,
		.origin = "apply",
		.undone = true,
		.roots = {&root, 1, 1},
		.git = true,
		.complete = true,
	};
	AUTO(action) struct action b = {0};
	struct err err;

	assert_int_equal(action_load_undone(p->fd, 0, &b, &err), -ENOENT);
	assert_int_equal(action_record(p->fd, &a, NULL, &err), 0);
	assert_int_equal(action_load_undone(p->fd, 0, &b, &err), 0);
	assert_int_equal(b.number, 4);
	assert_true(action_same(&a, &b));
	assert_string_equal(b.kind, a.kind);
	assert_string_equal(b.run_id, a.run_id);
	assert_string_equal(b.run_name, a.run_name);
	assert_string_equal(b.origin, a.origin);
	assert_int_equal(b.roots.items[0].before, 7);
	assert_int_equal(b.roots.items[0].after, 9);
	assert_true(b.git && b.complete);
}

static void several_folders_come_back_with_their_paths(void **state)
{
	struct folder_box *p = *state;
	AUTO(action)
	struct action a = {
		.kind = mem_strdup("apply"),
		.run_id = mem_strdup("r"),
	};
	AUTO(action) struct action b = {0};
	struct action_root *o;
	struct err err;

	*VEC_ADD(&a.roots) = (struct action_root){.before = 7};
	assert_int_equal(action_announce(p->fd, &a, NULL, &err), 0);
	assert_int_equal(a.number, 1);
	o = VEC_ADD(&a.roots);
	o->path = mem_strdup("/home/a b\nc");
	o->before = 8;
	o->after = 10;
	o->first = 3;
	mem_list_add(&o->only, ".x");
	mem_list_add(&o->only, " y z");
	VEC_ADD(&a.roots)->path = mem_strdup("/p");
	a.roots.items[0].first = 2;
	mem_list_add(&a.roots.items[0].only, "own");
	assert_int_equal(action_announce(p->fd, &a, NULL, &err), 0);
	assert_int_equal(action_load_next(p->fd, &b, &err), 0);
	assert_int_equal(b.roots.count, 3);
	assert_string_equal(b.roots.items[1].path, "/home/a b\nc");
	assert_int_equal(b.roots.items[1].before, 8);
	assert_int_equal(b.roots.items[1].after, 10);
	assert_int_equal(b.roots.items[1].first, 3);
	assert_int_equal(b.roots.items[2].first, 0);
	assert_int_equal(b.roots.items[0].first, 2);
	/* The state before the action; of an undo, before the first. */
	assert_int_equal(action_first(&b, 0), 7);
	assert_int_equal(action_first(&b, 1), 8);
	assert_string_equal(b.kind, "apply");
	(void)strcpy(b.kind, "undo");
	assert_int_equal(action_first(&b, 0), 2);
	assert_int_equal(action_first(&b, 1), 3);
	assert_string_equal(b.roots.items[1].only[0], ".x");
	assert_string_equal(b.roots.items[1].only[1], " y z");
	assert_null(b.roots.items[1].only[2]);
	assert_null(b.roots.items[2].only);
	assert_string_equal(b.roots.items[0].only[0], "own");
}

static void an_announced_action_goes_once_it_is_the_last(void **state)
{
	struct folder_box *p = *state;
	struct action old = {.kind = "restore", .run_id = ""};
	struct action a = {.kind = "apply", .run_id = "r"};
	AUTO(action) struct action next = {0};
	struct err err;

	assert_int_equal(action_record(p->fd, &old, NULL, &err), 0);
	assert_int_equal(action_announce(p->fd, &a, NULL, &err), 0);
	expect_last(p->fd, "restore", "");
	assert_int_equal(action_load_next(p->fd, &next, &err), 0);
	assert_string_equal(next.kind, "apply");
	action_close(p->fd, &a);
	action_free(&next);
	assert_int_equal(action_load_next(p->fd, &next, &err), 0);
	assert_int_equal(action_record(p->fd, &a, NULL, &err), 0);
	expect_last(p->fd, "apply", "r");
	action_close(p->fd, &a);
	action_free(&next);
	assert_int_equal(action_load_next(p->fd, &next, &err), -ENOENT);
}

/* A run's directory, here in the same directory as the records. */
static void move(struct folder_box *p, const char *run, bool away)
{
	if (away)
		(void)unlinkat(p->fd, run, AT_REMOVEDIR);
	else
		assert_int_equal(mkdirat(p->fd, run, 0700), 0);
}

static void discard(struct folder_box *p, const char *run, bool away)
{
	struct err err;
	int lock = action_announce_discard(p->fd, run, NULL, &err);

	assert_true(lock >= 0);
	assert_int_equal(action_announce_discard(p->fd, run, NULL, &err),
			 -EBUSY);
	move(p, run, away);
	assert_int_equal(action_finalize_discard(p->fd, p->fd, &err), 0);
	assert_int_equal(action_finalize_discard(p->fd, p->fd, &err), -ENOENT);
	(void)close(lock);
}

static void a_discard_that_was_announced_only_is_none(void **state)
{
	struct folder_box *p = *state;
	struct action apply = {.kind = "apply", .run_id = "one"};
	struct err err;

	assert_int_equal(action_record(p->fd, &apply, NULL, &err), 0);
	move(p, "two", false);
	(void)close(action_announce_discard(p->fd, "two", NULL, &err));
	assert_int_equal(action_finalize_discard(p->fd, p->fd, &err), 0);
	expect_last(p->fd, "apply", "one");
	/* The same for the return to runs/, which fails. */
	discard(p, "two", true);
	(void)close(action_announce_discard(p->fd, "two", NULL, &err));
	assert_int_equal(action_finalize_discard(p->fd, p->fd, &err), 0);
	expect_last(p->fd, "discard", "two");
	/* Killed after the directory is back. */
	(void)close(action_announce_discard(p->fd, "two", NULL, &err));
	move(p, "two", false);
	assert_int_equal(action_finalize_discard(p->fd, p->fd, &err), 0);
	expect_last(p->fd, "apply", "one");
}

static void a_discard_taken_back_leaves_the_action_before_it(void **state)
{
	struct folder_box *p = *state;
	struct action apply = {.kind = "apply", .run_id = "one"};
	struct err err;

	assert_int_equal(action_record(p->fd, &apply, NULL, &err), 0);
	discard(p, "two", true);
	discard(p, "three", true);
	expect_last(p->fd, "discard", "three");
	discard(p, "three", false);
	expect_last(p->fd, "discard", "two");
	discard(p, "two", false);
	expect_last(p->fd, "apply", "one");
}

static void a_discard_that_was_the_first_action_leaves_none(void **state)
{
	struct folder_box *p = *state;

	discard(p, "one", true);
	expect_last(p->fd, "discard", "one");
	discard(p, "one", false);
	expect_last(p->fd, NULL, NULL);
}

static void an_action_after_a_discard_hides_what_was_before(void **state)
{
	struct folder_box *p = *state;
	struct action one = {.kind = "apply", .run_id = "one"};
	struct action next = {.kind = "apply", .run_id = "three"};
	struct err err;

	assert_int_equal(action_record(p->fd, &one, NULL, &err), 0);
	discard(p, "two", true);
	assert_int_equal(action_record(p->fd, &next, NULL, &err), 0);
	expect_last(p->fd, "apply", "three");
	discard(p, "two", true);
	discard(p, "two", false);
	expect_last(p->fd, "apply", "three");
}

static void expect_effective(int fd, size_t back, uint64_t before)
{
	AUTO(action) struct action a = {0};
	struct err err;
	int got = action_load_effective(fd, back, &a, &err);

	if (!before) {
		assert_int_equal(got, -ENOENT);
		return;
	}
	assert_int_equal(got, 0);
	assert_int_equal(action_before(&a), before);
}

static void act(int fd, uint64_t before)
{
	struct action_root root = {.before = before};
	struct action a = {
		.kind = "apply", .run_id = "r", .roots = {&root, 1, 1}};
	struct err err;

	assert_int_equal(action_announce(fd, &a, NULL, &err), 0);
	assert_int_equal(action_record(fd, &a, NULL, &err), 0);
	/* Once more, after a sudden end. */
	assert_int_equal(action_record(fd, &a, NULL, &err), 0);
	assert_true(action_is_recorded(fd, &a));
}

/* Undoes or redoes the newest action that can be. before: the snapshot before
 * that. */
static void swap(int fd, uint64_t before, bool redo)
{
	AUTO(action) struct action a = {0};
	struct err err;

	assert_int_equal((redo ? action_load_undone
			       : action_load_effective)(fd, 0, &a, &err),
			 0);
	free(a.kind);
	a.kind = mem_strdup("undo");
	a.undone = !redo;
	a.roots.items[0].before = before;
	assert_false(action_is_recorded(fd, &a));
	assert_int_equal(action_announce(fd, &a, NULL, &err), 0);
	assert_int_equal(action_record(fd, &a, NULL, &err), 0);
	assert_int_equal(action_record(fd, &a, NULL, &err), 0);
}

static void what_was_taken_back_is_no_longer_in_effect(void **state)
{
	struct folder_box *p = *state;

	act(p->fd, 1);
	act(p->fd, 2);
	act(p->fd, 3);
	expect_effective(p->fd, 0, 3);
	expect_effective(p->fd, 2, 1);
	expect_effective(p->fd, 3, 0);
	swap(p->fd, 4, false);
	expect_effective(p->fd, 0, 2);
	expect_effective(p->fd, 1, 1);
	swap(p->fd, 5, false);
	expect_effective(p->fd, 0, 1);
	expect_effective(p->fd, 1, 0);
	/* Redone, it is in effect again. */
	swap(p->fd, 6, true);
	expect_effective(p->fd, 0, 6);
	expect_effective(p->fd, 1, 1);
	swap(p->fd, 7, false);
	expect_effective(p->fd, 0, 1);
	swap(p->fd, 8, false);
	expect_effective(p->fd, 0, 0);
	act(p->fd, 9);
	expect_effective(p->fd, 0, 9);
	expect_effective(p->fd, 1, 0);
}

static void the_oldest_are_forgotten(void **state)
{
	struct folder_box *p = *state;
	uint64_t i;

	for (i = 1; i <= ACTIONS_MAX + 3; i++)
		act(p->fd, i);
	expect_effective(p->fd, 0, ACTIONS_MAX + 3);
	expect_effective(p->fd, ACTIONS_MAX - 1, 4);
	expect_effective(p->fd, ACTIONS_MAX, 0);
}

/* kind NULL: there is no such action. */
static void expect_undone(int fd, size_t back, const char *kind)
{
	AUTO(action) struct action a = {0};
	struct err err;
	int got = action_load_undone(fd, back, &a, &err);

	assert_int_equal(got, kind ? 0 : -ENOENT);
	if (kind)
		assert_string_equal(a.kind, kind);
}

static void a_discard_below_an_undo_can_be_taken_back(void **state)
{
	struct folder_box *p = *state;

	act(p->fd, 1);
	discard(p, "two", true);
	act(p->fd, 2);
	swap(p->fd, 3, false);
	discard(p, "two", false);
	expect_last(p->fd, "apply", "r");
	expect_effective(p->fd, 0, 1);
	expect_effective(p->fd, 1, 0);
	/* The discard was undone last. */
	expect_undone(p->fd, 0, "discard");
	expect_undone(p->fd, 1, "undo");
	expect_undone(p->fd, 2, NULL);
	discard(p, "two", true);
	expect_undone(p->fd, 0, "undo");
	swap(p->fd, 4, true);
	expect_undone(p->fd, 0, NULL);
	expect_last(p->fd, "undo", "r");
	expect_effective(p->fd, 0, 4);
	expect_effective(p->fd, 2, 1);
}

static void a_new_action_ends_the_list_of_undone_ones(void **state)
{
	struct folder_box *p = *state;

	act(p->fd, 1);
	act(p->fd, 2);
	swap(p->fd, 3, false);
	swap(p->fd, 4, false);
	expect_undone(p->fd, 0, "undo");
	expect_undone(p->fd, 1, "undo");
	expect_undone(p->fd, 2, NULL);
	swap(p->fd, 5, true);
	expect_undone(p->fd, 0, "undo");
	expect_undone(p->fd, 1, NULL);
	act(p->fd, 6);
	expect_undone(p->fd, 0, NULL);
	expect_effective(p->fd, 1, 5);
}

static void paths(int fd, const char *kept, const char *path)
{
	AUTO(action)
	struct action a = {
		.kind = mem_strdup(ACTION_PARTS),
		.run_id = mem_strdup("r"),
	};
	struct err err;

	action_add_part(&a, kept, "upper-2", path);
	assert_int_equal(action_announce(fd, &a, NULL, &err), 0);
	assert_int_equal(action_record(fd, &a, NULL, &err), 0);
	assert_int_equal(action_record(fd, &a, NULL, &err), 0);
}

static void expect_paths(int fd, const char *kept, const char *path)
{
	AUTO(action) struct action a = {0};
	struct err err;

	assert_int_equal(action_load_effective(fd, 0, &a, &err), 0);
	assert_int_equal(a.parts.count, 1);
	assert_string_equal(a.parts.items[0].kept, kept);
	assert_string_equal(a.parts.items[0].layer, "upper-2");
	assert_string_equal(a.parts.items[0].path, path);
}

static void forget_paths(int fd)
{
	AUTO(action) struct action a = {0};
	struct err err;

	assert_int_equal(action_load_effective(fd, 0, &a, &err), 0);
	a.undone = true;
	assert_int_equal(action_record(fd, &a, NULL, &err), 0);
	assert_int_equal(action_record(fd, &a, NULL, &err), 0);
}

static void discards_of_paths_are_taken_back_one_by_one(void **state)
{
	struct folder_box *p = *state;

	act(p->fd, 1);
	paths(p->fd, "one", "a b/c\nd");
	paths(p->fd, "two", "");
	paths(p->fd, "three", "x");
	expect_paths(p->fd, "three", "x");
	forget_paths(p->fd);
	expect_paths(p->fd, "two", "");
	act(p->fd, 2);
	swap(p->fd, 3, false);
	expect_paths(p->fd, "two", "");
	forget_paths(p->fd);
	expect_paths(p->fd, "one", "a b/c\nd");
	forget_paths(p->fd);
	expect_effective(p->fd, 0, 1);
}

static void write_file(int dir, const char *name, const char *text)
{
	auto_close int fd = openat(
		dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void a_part_that_leads_elsewhere_is_damaged(void **state)
{
	static const char *const parts[] = {
		"kept upper", "kept  a",	 "../kept upper a",
		"kept .. a",  "kept upper ../a",
	};
	struct folder_box *p = *state;
	struct err err;
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		AUTO(action) struct action a = {0};
		auto_free char *text = mem_printf(
			"guard-actions 1\naction=1\nkind=discard-paths\n"
			"run=r\nbefore=1\nafter=1\npart=%s\nend=1\n",
			parts[i]);

		write_file(p->fd, "actions", text);
		assert_int_equal(action_load_effective(p->fd, 0, &a, &err),
				 -ENOENT);
		assert_int_equal(
			renameat(p->fd, "actions.damaged", p->fd, "kept"), 0);
	}
}

/* Without its last lines it would be a log of fewer actions. */
static void a_log_that_was_cut_is_damaged(void **state)
{
	struct folder_box *p = *state;
	AUTO(action) struct action a = {0};
	struct err err;

	write_file(p->fd, "actions",
		   "guard-actions 1\naction=1\nkind=apply\nrun=r\n");
	assert_int_equal(action_load_effective(p->fd, 0, &a, &err), -ENOENT);
	assert_int_equal(faccessat(p->fd, "actions.damaged", F_OK, 0), 0);
}

#define EARLIER(kind, before, more)                                            \
	"guard-action 1\nkind=" kind "\nrun=r\nbefore=" before                 \
	"\nafter=1\n" more

static void the_files_of_an_earlier_guard_become_the_log(void **state)
{
	struct folder_box *p = *state;
	AUTO(action) struct action next = {0};
	struct err err;

	write_file(p->fd, "done-1", EARLIER("apply", "11", ""));
	write_file(p->fd, "done-2",
		   EARLIER("undo", "12", "undoes=undo\ntakes=9\n"));
	write_file(p->fd, "undone-1",
		   EARLIER("undo", "13", "undoes=apply\ntakes=8\n"));
	write_file(p->fd, "undone-2", EARLIER("discard", "0", ""));
	write_file(p->fd, "undone-3",
		   EARLIER("undo", "14", "undoes=apply\ntakes=7\n"));
	/* A crash has left it in two files. */
	write_file(p->fd, "last-action",
		   EARLIER("undo", "14", "undoes=apply\ntakes=7\n"));
	write_file(p->fd, "next-action",
		   EARLIER("undo", "15", "undoes=undo\ntakes=12\n"));
	expect_effective(p->fd, 0, 12);
	expect_effective(p->fd, 1, 11);
	expect_effective(p->fd, 2, 0);
	expect_undone(p->fd, 0, "undo");
	expect_undone(p->fd, 1, "discard");
	expect_undone(p->fd, 2, "undo");
	expect_undone(p->fd, 3, NULL);
	/* The announcement tells which action is undone. */
	assert_int_equal(action_load_next(p->fd, &next, &err), 0);
	next.undone = true;
	assert_int_equal(action_record(p->fd, &next, NULL, &err), 0);
	expect_effective(p->fd, 0, 11);
	expect_effective(p->fd, 1, 0);
	swap(p->fd, 16, true);
	expect_effective(p->fd, 0, 16);
	act(p->fd, 17);
	expect_effective(p->fd, 2, 11);
	expect_undone(p->fd, 0, NULL);
	assert_int_equal(faccessat(p->fd, "done-1", F_OK, 0), -1);
	assert_int_equal(faccessat(p->fd, "undone-3", F_OK, 0), -1);
	assert_int_equal(faccessat(p->fd, "last-action", F_OK, 0), -1);
}

static void what_an_earlier_guard_announced_can_be_undone(void **state)
{
	struct folder_box *p = *state;
	AUTO(action) struct action next = {0}, parts = {0};
	struct err err;

	write_file(p->fd, "done-1",
		   EARLIER("discard-paths", "0", "part=k upper x\n"));
	write_file(p->fd, "last-action", EARLIER("apply", "11", ""));
	write_file(p->fd, "next-action", EARLIER("apply", "12", ""));
	assert_int_equal(action_load_next(p->fd, &next, &err), 0);
	assert_int_equal(action_record(p->fd, &next, NULL, &err), 0);
	swap(p->fd, 13, false);
	expect_effective(p->fd, 0, 11);
	expect_undone(p->fd, 1, NULL);
	swap(p->fd, 14, false);
	/* The undo of the discard. */
	write_file(
		p->fd, "next-action",
		EARLIER("undo", "0", "undoes=discard-paths\npart=k upper x\n"));
	assert_int_equal(action_load_next(p->fd, &parts, &err), 0);
	assert_true(parts.undone);
	assert_int_equal(action_record(p->fd, &parts, NULL, &err), 0);
	expect_effective(p->fd, 0, 0);
	expect_undone(p->fd, 0, "discard-paths");
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, folder_box_setup,                \
					folder_box_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_action_comes_back_as_it_was_saved),
		TEST(several_folders_come_back_with_their_paths),
		TEST(an_announced_action_goes_once_it_is_the_last),
		TEST(a_discard_that_was_announced_only_is_none),
		TEST(a_discard_taken_back_leaves_the_action_before_it),
		TEST(a_discard_that_was_the_first_action_leaves_none),
		TEST(an_action_after_a_discard_hides_what_was_before),
		TEST(what_was_taken_back_is_no_longer_in_effect),
		TEST(the_oldest_are_forgotten),
		TEST(a_discard_below_an_undo_can_be_taken_back),
		TEST(a_new_action_ends_the_list_of_undone_ones),
		TEST(discards_of_paths_are_taken_back_one_by_one),
		TEST(a_part_that_leads_elsewhere_is_damaged),
		TEST(a_log_that_was_cut_is_damaged),
		TEST(the_files_of_an_earlier_guard_become_the_log),
		TEST(what_an_earlier_guard_announced_can_be_undone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
