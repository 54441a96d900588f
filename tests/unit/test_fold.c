/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "guard/review/fold.h"

static const struct meta file = {.mode = S_IFREG | 0644, .size = 100};
static const struct meta dir = {.mode = S_IFDIR | 0755};

static void add(struct change_list *list, enum change_kind kind,
		const char *path, const struct meta *m)
{
	change_list_add(list, path, kind, 0, kind == CHANGE_ADDED ? NULL : m,
			kind == CHANGE_DELETED ? NULL : m);
}

/* A directory with files 00, 01... */
static void add_dir(struct change_list *list, enum change_kind kind,
		    const char *path, int files)
{
	char name[64];
	int i;

	add(list, kind, path, &dir);
	for (i = 0; i < files; i++) {
		(void)snprintf(name, sizeof(name), "%s/%02d", path, i);
		add(list, kind, name, &file);
	}
}

struct world {
	struct changes_root root;
	struct view view;
};

static void open_world(struct world *w)
{
	w->root.prefix = w->root.where = (char *)"";
	view_of_changes(&w->root, &w->view);
}

static void world_free(struct world *w)
{
	view_free(&w->view);
	change_list_free(&w->root.list);
}

static void lose(struct world *w, const char *path, enum loss loss)
{
	view_find(&w->view, path)->loss = loss;
}

static void flag(struct world *w, const char *path, enum risk_level level,
		 const char *text)
{
	*VEC_ADD(&view_find(&w->view, path)->risks) =
		(struct risk){.level = level, .text = mem_strdup(text)};
}

/* "dir/: text" of the i-th fold, or the path of a single entry. */
static char *line(struct world *w, size_t i)
{
	const struct fold *fold = &w->view.folds.list.items[i];
	struct buf b = {0};

	assert_true(i < w->view.folds.list.count);
	buf_printf(&b, "%s",
		   fold->dir ? fold->dir
			     : w->view.items[fold->entry].change->path);
	if (fold->dir) {
		buf_add_text(&b, "/: ");
		fold_text(fold, &b);
	}
	return buf_take_text(&b);
}

static void expect(struct world *w, const char *const *lines)
{
	size_t i;

	for (i = 0; lines[i]; i++) {
		auto_free char *got = line(w, i);

		assert_string_equal(got, lines[i]);
	}
	assert_int_equal(w->view.folds.list.count, i);
}

static void large_deleted_and_new_directories_are_one_line(void **state)
{
	AUTO(world) struct world w = {0};
	static const char *const lines[] = {
		"big/: all 20 files, 2.0 KB, 2 in git",
		"new/: 20 new files, 2.0 KB",
		"small",
		"small/00",
		NULL,
	};

	(void)state;
	add_dir(&w.root.list, CHANGE_DELETED, "big", 20);
	add_dir(&w.root.list, CHANGE_ADDED, "new", 20);
	add_dir(&w.root.list, CHANGE_DELETED, "small", 1);
	open_world(&w);
	lose(&w, "big/03", LOSS_IN_GIT);
	lose(&w, "big/04", LOSS_IN_HISTORY);
	fold_make(&w.view, false);
	expect(&w, lines);
	assert_true(fold_hides(&w.view, 5));
	assert_false(fold_hides_text(&w.view, 5));
}

static void a_loss_in_a_fold_has_its_own_line_before_it(void **state)
{
	AUTO(world) struct world w = {0};
	static const char *const lines[] = {
		"big/07",
		"big/: all 24 files, 2.4 KB",
		NULL,
	};

	(void)state;
	add_dir(&w.root.list, CHANGE_DELETED, "big", 25);
	open_world(&w);
	lose(&w, "big/07", LOSS_NO_COPY);
	fold_make(&w.view, false);
	expect(&w, lines);
}

static void a_directory_of_losses_is_one_line_that_says_so(void **state)
{
	AUTO(world) struct world w = {0};
	static const char *const lines[] = {
		"big/sub/: all 4 files, 400 B  !! no other copy",
		"big/: all 20 files, 2.0 KB",
		"uploads/: all 4 files, 400 B  !! no other copy",
		NULL,
	};
	char name[32];
	int i;

	(void)state;
	add_dir(&w.root.list, CHANGE_DELETED, "big", 20);
	add_dir(&w.root.list, CHANGE_DELETED, "big/sub", 4);
	add_dir(&w.root.list, CHANGE_DELETED, "uploads", 4);
	open_world(&w);
	for (i = 0; i < 4; i++) {
		(void)snprintf(name, sizeof(name), "big/sub/%02d", i);
		lose(&w, name, LOSS_NO_COPY);
		(void)snprintf(name, sizeof(name), "uploads/%02d", i);
		lose(&w, name, LOSS_NO_COPY);
	}
	fold_make(&w.view, false);
	expect(&w, lines);
}

static void generated_directories_are_one_line_with_their_packages(void **state)
{
	AUTO(world) struct world w = {0};
	static const char *const lines[] = {
		"a/node_modules/: +3 ~1, 1 package",
		"a/other",
		NULL,
	};

	(void)state;
	add(&w.root.list, CHANGE_MODIFIED, "a/node_modules/.lock", &file);
	add(&w.root.list, CHANGE_ADDED, "a/node_modules/x", &dir);
	add(&w.root.list, CHANGE_ADDED, "a/node_modules/x/index.js", &file);
	add(&w.root.list, CHANGE_ADDED, "a/node_modules/x/lib.js", &file);
	add(&w.root.list, CHANGE_ADDED, "a/node_modules/x/package.json", &file);
	add(&w.root.list, CHANGE_MODIFIED, "a/other", &file);
	open_world(&w);
	fold_make(&w.view, false);
	expect(&w, lines);
	assert_true(fold_hides_text(&w.view, 2));
}

static void a_reason_that_repeats_has_three_lines_and_a_number(void **state)
{
	AUTO(world) struct world w = {0};
	char name[64];
	int i;

	(void)state;
	add_dir(&w.root.list, CHANGE_MODIFIED, "node_modules", 30);
	open_world(&w);
	for (i = 0; i < 10; i++) {
		(void)snprintf(name, sizeof(name), "node_modules/%02d", i);
		flag(&w, name, RISK_HIGH, "has changed");
	}
	flag(&w, "node_modules/20", RISK_CRITICAL, "is a plugin");
	fold_make(&w.view, false);
	/* Three, the critical one, and the fold. */
	assert_int_equal(w.view.folds.list.count, 5);
	assert_int_equal(w.view.folds.repeats.count, 1);
	assert_int_equal(w.view.folds.repeats.items[0].shown, 3);
	assert_int_equal(w.view.folds.repeats.items[0].more, 7);
	assert_false(fold_hides(&w.view, 21));
}

static void full_folds_nothing(void **state)
{
	AUTO(world) struct world w = {0};

	(void)state;
	add_dir(&w.root.list, CHANGE_ADDED, "node_modules", 30);
	open_world(&w);
	fold_make(&w.view, true);
	assert_int_equal(w.view.folds.list.count, 31);
}

static void noise_and_git_are_in_no_fold(void **state)
{
	AUTO(world) struct world w = {0};

	(void)state;
	add(&w.root.list, CHANGE_MODIFIED, ".git/index", &file);
	w.root.list.items[0].flags |= CHANGE_GIT;
	add(&w.root.list, CHANGE_ADDED, "log", &file);
	w.root.list.items[1].flags |= CHANGES_NOISE;
	open_world(&w);
	fold_make(&w.view, false);
	assert_int_equal(w.view.folds.list.count, 0);
	assert_int_equal(w.view.folds.noise, 1);
	assert_null(fold_of(&w.view, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			large_deleted_and_new_directories_are_one_line),
		cmocka_unit_test(a_loss_in_a_fold_has_its_own_line_before_it),
		cmocka_unit_test(
			a_directory_of_losses_is_one_line_that_says_so),
		cmocka_unit_test(
			generated_directories_are_one_line_with_their_packages),
		cmocka_unit_test(
			a_reason_that_repeats_has_three_lines_and_a_number),
		cmocka_unit_test(full_folds_nothing),
		cmocka_unit_test(noise_and_git_are_in_no_fold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
