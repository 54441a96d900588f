/* guard/change/changes_edited.c: edits of the real files during a run. */
/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "guard/change/changes.h"
#include "snapshot/store/content.h"
#include "tests/unit/directory_fixture.h"

struct place {
	struct folder_box box;
	struct store *store;
	struct snapshot base;
};

static void put(struct tree_editor *ed, struct store *store, const char *path,
		uint32_t mode, uint64_t size)
{
	struct entry e = {.mode = mode, .size = size, .mtime = {.sec = 100}};
	struct err err;

	assert_int_equal(
		content_put_bytes(store, "hello", size, &e.content, &err), 0);
	assert_int_equal(tree_editor_put(ed, path, &e, &err), 0);
}

static int set_up(void **state)
{
	static struct place p;
	struct entry root = {.name = (char[]){""}, .mode = S_IFDIR | 0755};
	auto_free char *dir = NULL;
	struct tree_editor *ed;
	struct err err;

	p = (struct place){0};
	folder_box_make(&p.box);
	dir = mem_printf("%s/store", p.box.path);
	if (store_open(&p.store, dir, STORE_WRITE, &err) < 0) {
		print_error("%s\n", err.text);
		return -1;
	}
	ed = tree_editor_new(p.store, &root);
	put(ed, p.store, "a", S_IFREG | 0644, 5);
	put(ed, p.store, "dir", S_IFDIR | 0755, 0);
	put(ed, p.store, "dir/x", S_IFREG | 0644, 5);
	put(ed, p.store, "dir.txt", S_IFREG | 0644, 5);
	put(ed, p.store, "z", S_IFREG | 0644, 5);
	if (tree_editor_save(ed, &p.base.root, &err) < 0) {
		print_error("%s\n", err.text);
		return -1;
	}
	tree_editor_free(&ed);
	*state = &p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;

	snapshot_free(&p->base);
	store_free(&p->store);
	folder_box_remove(&p->box);
	return 0;
}

/* here: the result of the scan at the real path, mode 0: no entry. */
static void add(struct change_list *list, enum change_kind kind,
		const char *path, uint32_t mode, uint64_t size, int64_t mtime)
{
	const struct meta old = {
		.mode = mode, .size = size, .mtime = {.sec = mtime}};

	change_list_add(list, path, kind, 0, &old, NULL);
}

static void expect(struct place *p, struct change_list *list,
		   const char *marked)
{
	AUTO(buf) struct buf got = {0};
	struct changes_root root = {.list = *list};
	struct err err;
	size_t i;

	assert_int_equal(
		changes_edited_compare(p->store, &p->base, &root, &err), 0);
	for (i = 0; i < root.list.count; i++)
		if (root.list.items[i].flags & CHANGES_NOT_BASE)
			buf_printf(&got, "%s ", root.list.items[i].path);
	assert_string_equal(buf_text(&got), marked);
	/* The second comparison reads nothing. */
	assert_int_equal(changes_edited_compare(NULL, NULL, &root, &err), 0);
	change_list_free(&root.list);
}

static void what_is_as_it_was_has_no_mark(void **state)
{
	struct change_list list = {0};

	add(&list, CHANGE_MODIFIED, "a", S_IFREG | 0644, 5, 100);
	add(&list, CHANGE_ADDED, "b", 0, 0, 0);
	add(&list, CHANGE_DELETED, "dir", S_IFDIR | 0755, 0, 999);
	add(&list, CHANGE_DELETED, "dir/x", S_IFREG | 0644, 5, 100);
	add(&list, CHANGE_META, "dir.txt", S_IFREG | 0644, 5, 100);
	add(&list, CHANGE_ADDED, "zz", 0, 0, 0);
	expect(*state, &list, "");
}

static void a_file_that_was_edited_meanwhile_is_marked(void **state)
{
	struct change_list list = {0};

	add(&list, CHANGE_MODIFIED, "a", S_IFREG | 0644, 5, 101);
	add(&list, CHANGE_DELETED, "dir/x", S_IFREG | 0600, 5, 100);
	add(&list, CHANGE_MODIFIED, "dir.txt", S_IFREG | 0644, 6, 100);
	add(&list, CHANGE_MODIFIED, "z", S_IFREG | 0644, 5, 100);
	expect(*state, &list, "a dir/x dir.txt ");
}

static void what_is_new_or_gone_here_is_marked(void **state)
{
	struct change_list list = {0};

	/* deleted by the user, created again by the run */
	add(&list, CHANGE_ADDED, "a", 0, 0, 0);
	/* created by both */
	add(&list, CHANGE_MODIFIED, "b", S_IFREG | 0644, 1, 100);
	add(&list, CHANGE_DELETED, "dir/new", S_IFREG | 0644, 1, 100);
	add(&list, CHANGE_MODIFIED, "zz", S_IFREG | 0644, 1, 100);
	expect(*state, &list, "a b dir/new zz ");
}

static void what_changed_while_the_base_was_stored_is_marked(void **state)
{
	struct place *p = *state;
	struct change_list list = {0};

	snapshot_add_note(&p->base, NOTE_MOVED, "dir.txt", "");
	add(&list, CHANGE_MODIFIED, "a", S_IFREG | 0644, 5, 100);
	add(&list, CHANGE_MODIFIED, "dir.txt", S_IFREG | 0644, 5, 100);
	expect(p, &list, "dir.txt ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_as_it_was_has_no_mark),
		TEST(a_file_that_was_edited_meanwhile_is_marked),
		TEST(what_is_new_or_gone_here_is_marked),
		TEST(what_changed_while_the_base_was_stored_is_marked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
