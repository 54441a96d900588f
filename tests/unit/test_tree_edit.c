/* The editor of a tree: the result of many random edits, and the growth of its
 * work with their number. */
/* users: one */
/* link: -Wl,--wrap=memmove -Wl,--wrap=mem_strndup */
#include "tests/unit/snap_fixture.h"

#include "snapshot/tree/tree.h"

static size_t moved, parts;

void *__real_memmove(void *to, const void *from, size_t len);
void *__wrap_memmove(void *to, const void *from, size_t len);
char *__real_mem_strndup(const char *text, size_t len);
char *__wrap_mem_strndup(const char *text, size_t len);

void *__wrap_memmove(void *to, const void *from, size_t len)
{
	moved += len;
	return __real_memmove(to, from, len);
}

char *__wrap_mem_strndup(const char *text, size_t len)
{
	parts++;
	return __real_mem_strndup(text, len);
}

static const struct entry file = {.name = "", .mode = S_IFREG | 0644};
static const struct entry folder = {.name = "", .mode = S_IFDIR | 0755};

static struct tree_editor *new_editor(struct box *box)
{
	const struct entry nothing = {0};
	struct tree_editor *ed = tree_editor_new(box->store, &nothing);
	struct err err;

	ok(tree_editor_put_dir(ed, "", &folder, &err));
	return ed;
}

/* ---- a model: the kind of each possible path ---- */

#define NAMES 5
#define PATHS (NAMES + NAMES * NAMES + NAMES * NAMES * NAMES)

struct model {
	char paths[PATHS][8];
	mode_t modes[PATHS]; /* 0: no entry */
};

static size_t parent_of(size_t i)
{
	return i / NAMES - 1;
}

static void model_init(struct model *m)
{
	size_t i;

	memset(m, 0, sizeof(*m));
	for (i = 0; i < PATHS; i++)
		(void)snprintf(m->paths[i], sizeof(m->paths[i]), "%s%s%c",
			       i < NAMES ? "" : m->paths[parent_of(i)],
			       i < NAMES ? "" : "/", (int)('a' + i % NAMES));
}

static bool has_parent(const struct model *m, size_t i)
{
	return i < NAMES || S_ISDIR(m->modes[parent_of(i)]);
}

static void model_set(struct model *m, size_t i, mode_t mode)
{
	size_t k;

	m->modes[i] = mode;
	for (k = i + 1; !S_ISDIR(mode) && k < PATHS; k++)
		if (path_below(m->paths[k], m->paths[i]))
			m->modes[k] = 0;
}

static int check_entry(void *arg, const char *path, const struct entry *e,
		       struct err *err)
{
	const struct model *m = arg;
	size_t i;

	(void)err;
	for (i = 0; i < PATHS; i++)
		if (strcmp(m->paths[i], path) == 0)
			break;
	assert_true(!*path || (i < PATHS && m->modes[i] == e->mode));
	return 0;
}

static int count_entry(void *arg, const char *path, const struct entry *e,
		       struct err *err)
{
	(void)e;
	(void)err;
	*(size_t *)arg += *path != '\0';
	return 0;
}

static void same_as_model(struct box *box, struct tree_editor *ed,
			  struct model *m)
{
	AUTO(entry) struct entry root = {0};
	size_t count = 0, wanted = 0, i;
	struct err err;

	ok(tree_editor_save(ed, &root, &err));
	ok(tree_each(box->store, &root, check_entry, m, &err));
	ok(tree_each(box->store, &root, count_entry, &count, &err));
	for (i = 0; i < PATHS; i++)
		wanted += m->modes[i] != 0;
	assert_int_equal(count, wanted);
}

static void edit_one(struct tree_editor *ed, struct model *m, size_t i)
{
	bool fits = has_parent(m, i);
	AUTO(entry) struct entry found = {0};
	mode_t mode = 0;
	struct err err;
	int got;

	switch (rand() % 8) {
	case 0:
		got = tree_editor_get(ed, m->paths[i], &found, &err);
		assert_int_equal(got, m->modes[i] != 0);
		assert_int_equal(found.mode, m->modes[i]);
		return;
	case 1:
		ok(tree_editor_move_to(ed, m->paths[i], &err));
		return;
	case 2:
	case 3:
		ok(tree_editor_remove(ed, m->paths[i], &err));
		break;
	case 4:
		mode = file.mode;
		got = tree_editor_put(ed, m->paths[i], &file, &err);
		assert_int_equal(got, fits ? 0 : -ENOTDIR);
		break;
	default:
		mode = folder.mode;
		got = tree_editor_put_dir(ed, m->paths[i], &folder, &err);
		assert_int_equal(got, fits ? 0 : -ENOTDIR);
	}
	if (fits)
		model_set(m, i, mode);
}

static void test_random_edits_leave_what_they_say(void **state)
{
	struct box *box = *state;
	struct tree_editor *ed = new_editor(box);
	struct model m;
	int i;

	srand(7);
	model_init(&m);
	for (i = 0; i < 6000; i++) {
		edit_one(ed, &m, (size_t)rand() % PATHS);
		if (i % 300 == 0)
			same_as_model(box, ed, &m);
	}
	same_as_model(box, ed, &m);
	tree_editor_free(&ed);
}

/* ---- how the work grows ---- */

/* Bytes moved when every second name of a directory is removed and as many are
 * added. */
static size_t moved_in_folder_of(struct box *box, int count)
{
	struct tree_editor *ed = new_editor(box);
	AUTO(entry) struct entry root = {0};
	char path[32];
	struct err err;
	int i;

	for (i = 0; i < count; i++) {
		(void)snprintf(path, sizeof(path), "f%06d", i);
		ok(tree_editor_put(ed, path, &file, &err));
	}
	ok(tree_editor_save(ed, &root, &err));
	moved = 0;
	for (i = 0; i < count; i += 2) {
		(void)snprintf(path, sizeof(path), "f%06d", i);
		ok(tree_editor_remove(ed, path, &err));
		(void)snprintf(path, sizeof(path), "f%06d.new", i);
		ok(tree_editor_put(ed, path, &file, &err));
	}
	tree_editor_free(&ed);
	return moved;
}

static void test_a_large_folder_is_not_moved_for_each_name(void **state)
{
	struct box *box = *state;
	size_t once = moved_in_folder_of(box, 1000);

	assert_true(once > 0);
	assert_in_range(moved_in_folder_of(box, 2000), once, 5 * once / 2);
}

/* Path components that are looked up for one chain of directories. */
static size_t parts_of_levels(struct box *box, int levels)
{
	struct tree_editor *ed = new_editor(box);
	AUTO(entry) struct entry e = {0};
	AUTO(buf) struct buf path = {0};
	struct err err;
	int i;

	parts = 0;
	for (i = 0; i < levels; i++) {
		buf_add_text(&path, i ? "/d" : "d");
		ok(tree_editor_move_to(ed, buf_text(&path), &err));
		ok(tree_editor_put_dir(ed, buf_text(&path), &folder, &err));
		ok(tree_editor_get(ed, buf_text(&path), &e, &err) - 1);
		entry_free(&e);
	}
	tree_editor_free(&ed);
	return parts;
}

static void test_a_deep_folder_is_not_walked_to_for_each_edit(void **state)
{
	struct box *box = *state;
	size_t once = parts_of_levels(box, 300);

	assert_true(once > 0);
	assert_in_range(parts_of_levels(box, 600), once, 5 * once / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(test_random_edits_leave_what_they_say),
		T(test_a_large_folder_is_not_moved_for_each_name),
		T(test_a_deep_folder_is_not_walked_to_for_each_edit),
#undef T
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
