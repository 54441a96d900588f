/* guard/change/applied_base.c: an apply moves the base of a run, an undo moves
 * it back. */
/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/stat.h>

#include "base/auto.h"
#include "guard/change/applied_base.h"
#include "snapshot/store/content.h"
#include "tests/unit/directory_fixture.h"

struct place {
	struct folder_box box;
	struct store *store;
	struct session run;
	struct session_root root[2]; /* and the home directory */
	struct snapshot base;
	struct entry result;
};

static void put(struct tree_editor *ed, struct store *store, const char *path,
		const char *text)
{
	struct entry e = {
		.mode = text ? S_IFREG | 0644 : S_IFDIR | 0755,
		.size = text ? strlen(text) : 0,
	};
	struct err err;

	if (text)
		assert_int_equal(content_put_bytes(store, text, e.size,
						   &e.content, &err),
				 0);
	assert_int_equal(text ? tree_editor_put(ed, path, &e, &err)
			      : tree_editor_put_dir(ed, path, &e, &err),
			 0);
}

static void add_base(struct place *p)
{
	struct err err;

	p->base.reason = (char[]){"pre-run"};
	p->base.run_id = p->base.command = p->base.message = (char[]){""};
	p->base.root_path = p->root[0].path;
	assert_int_equal(catalog_add(p->store, &p->base, &err), 0);
	p->base.reason = p->base.run_id = p->base.command = NULL;
	p->base.message = p->base.root_path = NULL;
	p->root[0].base = p->base.seq;
}

static int set_up(void **state)
{
	static struct place p;
	static char path[] = "/project";
	struct entry root = {.name = (char[]){""}, .mode = S_IFDIR | 0755};
	auto_free char *dir = NULL;
	struct tree_editor *ed;
	struct err err;

	p = (struct place){.root[0].path = path};
	p.run = (struct session){.id = "aaaa-bbbbbb",
				 .command = path,
				 .roots = p.root,
				 .root_count = 1};
	folder_box_make(&p.box);
	dir = mem_printf("%s/store", p.box.path);
	assert_int_equal(store_open(&p.store, dir, STORE_WRITE, &err), 0);
	ed = tree_editor_new(p.store, &root);
	put(ed, p.store, "a", "old");
	put(ed, p.store, "b", "old");
	put(ed, p.store, "dir", NULL);
	put(ed, p.store, "dir/x", "old");
	assert_int_equal(tree_editor_save(ed, &p.base.root, &err), 0);
	put(ed, p.store, "a", "new");
	put(ed, p.store, "b", "new");
	assert_int_equal(tree_editor_remove(ed, "dir", &err), 0);
	put(ed, p.store, "dir", "a file now");
	put(ed, p.store, "made", NULL);
	put(ed, p.store, "made/y", "new");
	assert_int_equal(tree_editor_save(ed, &p.result, &err), 0);
	tree_editor_free(&ed);
	add_base(&p);
	*state = &p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;

	snapshot_free(&p->base);
	entry_free(&p->result);
	store_free(&p->store);
	folder_box_remove(&p->box);
	return 0;
}

/* Applies one path, and moves the base. */
static void apply(struct place *p, const char *path, enum step_how how,
		  struct action *a)
{
	struct step step = {.kind = STEP_REPLACE, .how = how};
	struct plan plan = {.steps = {.items = &step, .count = 1}};
	AUTO(snapshot) struct snapshot base = {0};
	auto_free char *copy = mem_strdup(path);
	struct err err;

	step.path = copy;
	assert_int_equal(catalog_load(p->store, applied_base_seq(&p->run, 0),
				      &base, &err),
			 0);
	assert_int_equal(applied_base_move(p->store, &p->run, 0, &base, &plan,
					   &p->result, a, &err),
			 0);
	assert_int_equal(a->bases.count, 1);
	p->root[0].applied = a->bases.items[0].to;
}

static void undo(struct place *p, const struct action *undone, struct action *a)
{
	struct err err;

	assert_int_equal(
		applied_base_move_back(p->store, &p->run, undone, a, &err), 0);
	assert_int_equal(a->bases.count, 1);
	assert_int_equal(a->bases.items[0].from, p->root[0].applied);
	p->root[0].applied = a->bases.items[0].to;
}

static int note_path(void *arg, const char *path, const struct entry *a,
		     const struct entry *b, struct err *err)
{
	(void)a;
	(void)b;
	(void)err;
	buf_printf(arg, "%s ", path);
	return 0;
}

/* The changes of the run are the paths. */
static void expect(struct place *p, const char *paths)
{
	AUTO(snapshot) struct snapshot base = {0};
	AUTO(buf) struct buf got = {0};
	struct err err;

	assert_int_equal(catalog_load(p->store, applied_base_seq(&p->run, 0),
				      &base, &err),
			 0);
	assert_int_equal(tree_diff(p->store, &base.root, &p->result, note_path,
				   &got, &err),
			 0);
	assert_string_equal(buf_text(&got), paths);
}

static void what_was_applied_is_no_change_any_more(void **state)
{
	struct place *p = *state;
	AUTO(action) struct action first = {0}, second = {0}, third = {0};

	expect(p, " a b dir dir/x made made/y ");
	apply(p, "a", STEP_PLAIN, &first);
	expect(p, " b dir dir/x made made/y ");
	apply(p, "made/y", STEP_MERGED, &second);
	expect(p, " b dir dir/x ");
	apply(p, "dir", STEP_OVER, &third);
	expect(p, " b ");
}

static void conflict_markers_leave_the_change(void **state)
{
	struct place *p = *state;
	AUTO(action) struct action a = {0};

	apply(p, "a", STEP_MARKED, &a);
	expect(p, " a b dir dir/x made made/y ");
	assert_int_equal(applied_base_seq(&p->run, 0), p->root[0].base);
}

static void an_undo_moves_back_the_paths_of_its_action(void **state)
{
	struct place *p = *state;
	AUTO(action)
	struct action first = {0}, second = {0}, undone = {0}, redone = {0},
		      again = {0};

	apply(p, "a", STEP_PLAIN, &first);
	apply(p, "made/y", STEP_PLAIN, &second);
	undo(p, &first, &undone);
	expect(p, " a b dir dir/x ");
	undo(p, &undone, &redone);
	expect(p, " b dir dir/x ");
	undo(p, &second, &again);
	expect(p, " b dir dir/x made made/y ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_was_applied_is_no_change_any_more),
		TEST(conflict_markers_leave_the_change),
		TEST(an_undo_moves_back_the_paths_of_its_action),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
