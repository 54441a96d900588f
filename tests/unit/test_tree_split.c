/* The trees of huge directories: one tree for readers and writers, stored in
 * parts. */
/* users: one */
#include "snapshot/tree/tree.c"

#include "tests/unit/snap_fixture.h"

#include "tests/unit/keep_fixture.h"
#include "snapshot/store/store_private.h"

#define HUGE 20000

static void huge_entry(struct entry *e, unsigned int i, uint64_t size)
{
	*e = (struct entry){.name = mem_printf("file-%08u.txt", i),
			    .mode = S_IFREG | 0644,
			    .mtime = {.sec = 1700000000 + i}};
	if (size) {
		e->size = e->content.len = size;
		e->content.type = OBJECT_DATA;
	}
}

/* changed: the number of an entry with other bytes; without: of a missing
 * entry. */
static void huge_tree(struct box *box, unsigned int count, unsigned int changed,
		      unsigned int without, struct oid *ret)
{
	AUTO(tree_writer)
	struct tree_writer *w =
		tree_writer_new(box->store, count - (without < count));
	struct err err;
	unsigned int i;

	for (i = 0; i < count; i++) {
		AUTO(entry) struct entry e = {0};

		if (i == without)
			continue;
		huge_entry(&e, i, i == changed ? 5 : 0);
		ok(tree_writer_add(w, &e, &err));
	}
	ok(tree_writer_end(w, ret, &err));
}

static struct entry folder_of(const struct oid *tree)
{
	return (struct entry){
		.name = (char *)"", .mode = S_IFDIR | 0755, .content = *tree};
}

static void test_a_huge_folder_reads_as_one(void **state)
{
	struct box *box = *state;
	AUTO(tree) struct tree whole = {0}, top = {0};
	AUTO(buf) struct buf bytes = {0};
	struct entry root;
	struct oid id, again;
	struct err err;
	unsigned int i;

	huge_tree(box, HUGE, HUGE, HUGE, &id);
	ok(store_get(box->store, &id, &bytes, &err));
	ok(tree_decode(bytes.data, bytes.len, &top, &err));
	assert_true(top.split);
	assert_in_range(top.count, HUGE / 2048, HUGE / 512);
	ok(tree_load(box->store, &id, &whole, &err));
	assert_int_equal(whole.count, HUGE);
	assert_false(whole.split);
	root = folder_of(&id);
	for (i = 0; i < HUGE; i += 7) {
		AUTO(entry) struct entry e = {0}, want = {0};

		huge_entry(&want, i, 0);
		assert_string_equal(whole.entries[i].name, want.name);
		assert_int_equal(
			tree_lookup(box->store, &root, want.name, &e, &err), 1);
		assert_true(entry_equal(&e, &want));
	}
	assert_int_equal(tree_lookup(box->store, &root, "a", NULL, &err), 0);
	assert_int_equal(
		tree_lookup(box->store, &root, "file-00000100.txu", NULL, &err),
		0);
	assert_int_equal(tree_lookup(box->store, &root, "z", NULL, &err), 0);
	/* The same for any order of edits. */
	ok(tree_save(box->store, &whole, &again, &err));
	assert_true(oid_equal(&id, &again));
}

static int count_changes(void *arg, const char *path, const struct entry *a,
			 const struct entry *b, struct err *err)
{
	(void)a;
	(void)b;
	(void)err;
	if (*path)
		buf_printf(arg, "%s ", path);
	return 0;
}

static void test_one_change_of_a_huge_folder_stores_a_part(void **state)
{
	struct box *box = *state;
	AUTO(buf) struct buf seen = {0};
	struct store_stats before, after;
	struct entry a, b;
	struct oid first, second, third;
	struct err err;

	huge_tree(box, HUGE, HUGE, HUGE, &first);
	before = box->store->stats;
	huge_tree(box, HUGE, 4711, HUGE, &second);
	after = box->store->stats;
	/* The changed part, and the list of parts. */
	assert_int_equal(after.new_objects - before.new_objects, 2);
	a = folder_of(&first);
	b = folder_of(&second);
	ok(tree_diff(box->store, &a, &b, count_changes, &seen, &err));
	assert_string_equal(buf_text(&seen), "file-00004711.txt ");
	/* One name fewer: the borders of the other parts stay. */
	huge_tree(box, HUGE, HUGE, 12345, &third);
	before = box->store->stats;
	assert_int_equal(before.new_objects - after.new_objects, 2);
	b = folder_of(&third);
	buf_clear(&seen);
	ok(tree_diff(box->store, &a, &b, count_changes, &seen, &err));
	assert_string_equal(buf_text(&seen), "file-00012345.txt ");
}

static void test_editing_a_huge_folder_is_writing_it(void **state)
{
	struct box *box = *state;
	AUTO(entry) struct entry e = {0}, saved = {0};
	struct tree_editor *ed;
	struct entry root;
	struct oid first, want;
	struct err err;

	huge_tree(box, HUGE, HUGE, HUGE, &first);
	huge_tree(box, HUGE, 77, 12345, &want);
	root = folder_of(&first);
	ed = tree_editor_new(box->store, &root);
	huge_entry(&e, 77, 5);
	ok(tree_editor_put(ed, "file-00000077.txt", &e, &err));
	ok(tree_editor_remove(ed, "file-00012345.txt", &err));
	ok(tree_editor_save(ed, &saved, &err));
	tree_editor_free(&ed);
	assert_true(oid_equal(&saved.content, &want));
	/* A small tree is one object again. */
	{
		struct oid small;
		AUTO(buf) struct buf bytes = {0};

		huge_tree(box, 4096, HUGE, HUGE, &small);
		ok(store_get(box->store, &small, &bytes, &err));
		assert_int_equal(bytes.data[0], 1);
		huge_tree(box, 4097, HUGE, HUGE, &small);
		buf_clear(&bytes);
		ok(store_get(box->store, &small, &bytes, &err));
		assert_int_equal(bytes.data[0], 3);
	}
}

static void put_split(struct box *box, const struct entry *parts, size_t count,
		      struct oid *ret)
{
	AUTO(buf) struct buf bytes = {0};
	struct err err;

	tree_encode_split(parts, count, &bytes);
	ok(store_put(box->store, OBJECT_TREE, bytes.data, bytes.len, ret,
		     &err));
}

/* A name outside of its part, a part of parts, no part at all. */
static void test_parts_that_do_not_fit_are_refused(void **state)
{
	struct box *box = *state;
	struct entry parts[2] = {{.name = (char *)"file-00000000.txt"},
				 {.name = (char *)"file-00000002.txt"}};
	AUTO(tree) struct tree t = {0};
	struct oid id, nested;
	struct err err;

	huge_tree(box, 2, HUGE, HUGE, &parts[0].content);
	huge_tree(box, 4, HUGE, HUGE, &parts[1].content);
	put_split(box, parts, 1, &id);
	ok(tree_load(box->store, &id, &t, &err));
	assert_int_equal(t.count, 2);
	tree_free(&t);
	put_split(box, parts, 2, &nested); /* the second part begins with 0 */
	assert_int_equal(tree_load(box->store, &nested, &t, &err), -EBADMSG);
	parts[0].content = parts[1].content; /* reaches beyond the second */
	put_split(box, parts, 2, &nested);
	assert_int_equal(tree_load(box->store, &nested, &t, &err), -EBADMSG);
	parts[0].content = id;
	put_split(box, parts, 1, &nested);
	assert_int_equal(tree_load(box->store, &nested, &t, &err), -EBADMSG);
	assert_int_equal(tree_decode("\3\0", 2, &t, &err), -EBADMSG);
}

/* The entries of the other parts are readable. */
static void test_a_part_that_is_lost_is_named_by_its_folder(void **state)
{
	struct box *box = *state;
	struct entry parts[2] = {{.name = (char *)"file-00000000.txt"},
				 {.name = (char *)"file-00000005.txt"}};
	AUTO(buf) struct buf faults = {0};
	AUTO(entry) struct entry e = {0};
	AUTO(tree) struct tree t = {0};
	struct snapshot s = {.reason = (char *)"manual",
			     .run_id = (char *)"",
			     .command = (char *)"",
			     .message = (char *)"",
			     .root_path = (char *)"/p"};
	struct entry folder;
	struct oid id;
	struct err err;

	huge_tree(box, 5, HUGE, HUGE, &parts[0].content);
	parts[1].content = parts[0].content;
	memset(parts[1].content.hash, 7, sizeof(parts[1].content.hash));
	put_split(box, parts, 2, &id);
	folder = folder_of(&id);
	folder.name = mem_strdup("huge");
	tree_add(&t, &folder);
	ok(tree_save(box->store, &t, &id, &err));
	s.root = folder_of(&id);
	s.time = timestamp_now();
	ok(catalog_add(box->store, &s, &err));
	free(s.host); /* catalog_add() filled it in */
	assert_int_equal(tree_lookup(box->store, &s.root,
				     "huge/file-00000003.txt", &e, &err),
			 1);
	assert_int_equal(tree_lookup(box->store, &s.root,
				     "huge/file-00000006.txt", &e, &err),
			 -ENOENT);
	store_free(&box->store);
	assert_int_equal(verify_now(box, false, &faults), 1);
	assert_string_equal(buf_text(&faults), "path 1 huge\n");
}

int main(void)
{
#define t(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		t(test_a_huge_folder_reads_as_one),
		t(test_one_change_of_a_huge_folder_stores_a_part),
		t(test_editing_a_huge_folder_is_writing_it),
		t(test_parts_that_do_not_fit_are_refused),
		t(test_a_part_that_is_lost_is_named_by_its_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
