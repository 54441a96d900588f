/*
 * The result of a run: base with the changes of its layer, compared with a
 * directory that plain calls brought to the state that the run saw.
 */
#include "tests/unit/snap_fixture.h"

#include <sys/xattr.h>

#include "overlay/whiteout.h"
#include "restore/result.h"
#include "snapshot/walk/take.h"

struct layer {
	struct box *box;
	char *lower, *upper, *merged;
	int lower_fd, upper_fd, merged_fd;
};

static int make_dir(const char *path)
{
	int fd;

	assert_return_code(mkdir(path, 0755), errno);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static int layer_setup(void **state)
{
	struct layer *l = mem_zalloc(sizeof(*l));
	void *box;

	(void)setup(&box);
	l->box = box;
	(void)umask(022);
	l->lower = path_join(l->box->dir, "lower");
	l->upper = path_join(l->box->dir, "upper");
	l->merged = path_join(l->box->dir, "merged");
	l->lower_fd = make_dir(l->lower);
	l->upper_fd = make_dir(l->upper);
	l->merged_fd = make_dir(l->merged);
	*state = l;
	return 0;
}

static int layer_teardown(void **state)
{
	struct layer *l = *state;
	void *box = l->box;

	(void)close(l->lower_fd);
	(void)close(l->upper_fd);
	(void)close(l->merged_fd);
	free(l->lower);
	free(l->upper);
	free(l->merged);
	free(l);
	return teardown(&box);
}

static void file(int fd, const char *path, const char *text, mode_t mode)
{
	auto_close int out = openat(
		fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_return_code(out, errno);
	assert_return_code(fd_write(out, text, strlen(text)), errno);
	assert_return_code(fchmod(out, mode), errno);
}

static void dir(int fd, const char *path)
{
	assert_return_code(mkdirat(fd, path, 0755), errno);
}

static void mode(int fd, const char *path, mode_t bits)
{
	assert_return_code(fchmodat(fd, path, bits, 0), errno);
}

static void attr(int fd, const char *path, const char *name, const char *value)
{
	char *whole = mem_printf("/proc/self/fd/%d/%s", fd, path);

	assert_return_code(setxattr(whole, name, value, strlen(value), 0),
			   errno);
	free(whole);
}

static void whiteout(int fd, const char *path)
{
	struct err err;

	ok(whiteout_create(fd, path, &err));
}

static void stamp(int fd, const char *path, long sec)
{
	const struct timespec times[2] = {{.tv_sec = sec}, {.tv_sec = sec}};

	assert_return_code(utimensat(fd, path, times, AT_SYMLINK_NOFOLLOW),
			   errno);
}

/* Sets the times of all entries of a directory; deeper ones first. */
static void stamp_all(int dirfd, const char *name, long sec)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int fd =
		openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	struct err err;
	size_t i;

	if (fd >= 0) {
		ok(dirlist_read(fd, &list, &err));
		for (i = 0; i < list.count; i++)
			stamp_all(fd, list.items[i].name, sec);
	}
	stamp(dirfd, name, sec);
}

static void snap(struct layer *l, const char *path, struct snapshot *ret)
{
	struct take_options options = {
		.root_path = path, .root_fd = -1, .reason = "manual"};
	struct err err;

	ok(take_snapshot(l->box->store, &options, ret, &err));
}

static void result_of(struct layer *l, const struct entry *base,
		      const char *const *only, struct entry *ret_root)
{
	struct change_list changes = {0};
	struct err err;

	ok(scan_layer(l->upper_fd, l->lower_fd, NULL, &changes, &err));
	ok(result_make(l->box->store, base, l->upper_fd, &changes, only,
		       ret_root, &err));
	change_list_free(&changes);
}

static void result(struct layer *l, const struct entry *base,
		   struct entry *ret_root)
{
	result_of(l, base, NULL, ret_root);
}

static int each_difference(void *arg, const char *path, const struct entry *a,
			   const struct entry *b, struct err *err)
{
	struct buf *text = arg;

	(void)err;
	/* A directory that differs only below is skipped: the entries
	 * themselves are compared. */
	if (a && b && entry_same_meta(a, b) && entry_same_content(a, b) &&
	    a->flags == b->flags && timestamp_compare(a->mtime, b->mtime) == 0)
		return 0;
	buf_printf(text, "%s (%o %lld, %o %lld)\n", *path ? path : ".",
		   a ? a->mode : 0, a ? (long long)a->mtime.sec : 0,
		   b ? b->mode : 0, b ? (long long)b->mtime.sec : 0);
	return 0;
}

static void same_trees(struct layer *l, const struct entry *is,
		       const struct entry *should)
{
	struct buf text = {0};
	struct err err;

	ok(tree_diff(l->box->store, is, should, each_difference, &text, &err));
	if (text.len)
		fail_msg("is, should be:\n%s", buf_text(&text));
	buf_free(&text);
}

/* Modes that deny access to the owner are set last. */
static void put_lower(int fd)
{
	file(fd, "same", "same", 0644);
	file(fd, "edited", "old", 0644);
	file(fd, "gone", "old", 0644);
	dir(fd, "gone-dir");
	file(fd, "gone-dir/x", "old", 0644);
	dir(fd, "deep");
	dir(fd, "deep/er");
	file(fd, "deep/er/x", "old", 0644);
	file(fd, "deep/er/same", "same", 0644);
	dir(fd, "replaced");
	file(fd, "replaced/old", "old", 0644);
	file(fd, "replaced/both", "same", 0644);
	dir(fd, "to-file");
	file(fd, "to-file/x", "old", 0644);
	file(fd, "to-dir", "old", 0644);
	file(fd, "mode", "same", 0644);
	file(fd, "touched", "same", 0644);
	dir(fd, "dir-mode");
	file(fd, "dir-mode/same", "same", 0644);
	file(fd, "shut", "old", 0644);
	dir(fd, "shut-dir");
	file(fd, "shut-dir/x", "old", 0644);
	file(fd, "shut-dir/same", "same", 0644);
	stamp_all(fd, ".", 1600000000);
}

/* Into the upper with whiteouts and marks, into the merged directory without.
 */
static void put_changes(int fd, bool upper)
{
	file(fd, "edited", "new", 0644);
	file(fd, "deep/er/x", "new", 0644);
	file(fd, "replaced/both", "same", 0644);
	file(fd, "replaced/new", "new", 0644);
	file(fd, "to-file", "new", 0644);
	dir(fd, "to-dir");
	file(fd, "to-dir/x", "new", 0644);
	file(fd, "mode", "same", 0755);
	file(fd, "touched", "same", 0644);
	dir(fd, "made");
	file(fd, "made/x", "new", 0644);
	attr(fd, "made/x", "user.own", "value");
	/* A mark that the run itself made stays in the layer. */
	if (upper)
		attr(fd, "made/x", "user.overlay.overlay.opaque", "y");
	file(fd, "pair1", "pair", 0644);
	assert_return_code(linkat(fd, "pair1", fd, "pair2", 0), errno);
	assert_return_code(symlinkat("somewhere", fd, "link"), errno);
	assert_return_code(mkfifoat(fd, "fifo", 0600), errno);
	file(fd, "shut", "new", 0644);
	file(fd, "shut-dir/x", "new", 0644);
	dir(fd, "made-shut");
	file(fd, "made-shut/x", "new", 0644);
}

/* The layer as the kernel leaves it after a run with all of these changes. */
static void put_upper(struct layer *l)
{
	int fd = l->upper_fd;

	dir(fd, "deep");
	dir(fd, "deep/er");
	dir(fd, "replaced");
	dir(fd, "dir-mode");
	dir(fd, "shut-dir");
	put_changes(fd, true);
	attr(fd, "replaced", "user.overlay.opaque", "y");
	attr(fd, "to-dir", "user.overlay.opaque", "y");
	attr(fd, "made", "user.overlay.opaque", "y");
	attr(fd, "edited", "user.overlay.origin", "");
	attr(fd, "deep", "user.overlay.impure", "y");
	whiteout(fd, "gone");
	whiteout(fd, "gone-dir");
}

static void put_merged(struct layer *l)
{
	int fd = l->merged_fd;
	struct err err;

	put_lower(fd);
	ok(dirtree_remove(fd, "gone", &err));
	ok(dirtree_remove(fd, "gone-dir", &err));
	ok(dirtree_remove(fd, "to-file", &err));
	ok(dirtree_remove(fd, "to-dir", &err));
	ok(dirtree_remove(fd, "replaced/old", &err));
	put_changes(fd, false);
}

/* Sets equal times and modes in both; modes without access come last. */
static void settle(int fd, bool unreadable_dirs)
{
	stamp_all(fd, ".", 1600000000);
	stamp(fd, "edited", 1600000001);
	stamp(fd, "deep/er", 1600000002);
	stamp(fd, "made", 1600000003);
	stamp(fd, "touched", 1600000004);
	stamp(fd, ".", 1600000005);
	mode(fd, "dir-mode", 0700);
	if (!unreadable_dirs)
		return;
	mode(fd, "shut", 0);
	mode(fd, "shut-dir/x", 0);
	mode(fd, "shut-dir", 0);
	mode(fd, "made-shut/x", 0);
	mode(fd, "made-shut", 0100);
}

/* The tree of the merged directory, with modes that deny access. */
static void shut_tree(struct layer *l, struct entry *root)
{
	static const struct {
		const char *path;
		uint32_t mode;
	} unreadable_dirs[] = {{"shut", S_IFREG},
			       {"shut-dir", S_IFDIR},
			       {"shut-dir/x", S_IFREG},
			       {"made-shut", S_IFDIR | 0100},
			       {"made-shut/x", S_IFREG}};
	struct tree_editor *ed = tree_editor_new(l->box->store, root);
	struct entry done;
	struct err err;
	size_t i;

	for (i = 0; i < sizeof(unreadable_dirs) / sizeof(*unreadable_dirs);
	     i++) {
		struct entry e = {0};

		assert_int_equal(tree_lookup(l->box->store, root,
					     unreadable_dirs[i].path, &e, &err),
				 1);
		e.mode = unreadable_dirs[i].mode;
		if (S_ISDIR(e.mode))
			ok(tree_editor_put_dir(ed, unreadable_dirs[i].path, &e,
					       &err));
		else
			ok(tree_editor_put(ed, unreadable_dirs[i].path, &e,
					   &err));
		entry_free(&e);
	}
	ok(tree_editor_save(ed, &done, &err));
	tree_editor_free(&ed);
	entry_free(root);
	*root = done;
}

static void is_what_the_run_saw(void **state)
{
	struct layer *l = *state;
	struct snapshot base = {0}, merged = {0};
	struct entry root = {0};

	put_lower(l->lower_fd);
	put_upper(l);
	put_merged(l);
	settle(l->upper_fd, false);
	settle(l->merged_fd, false);
	snap(l, l->lower, &base);
	snap(l, l->merged, &merged);
	result(l, &base.root, &root);
	same_trees(l, &root, &merged.root);
	entry_free(&root);
	snapshot_free(&base);
	snapshot_free(&merged);
}

static int has(struct layer *l, const struct entry *root, const char *path,
	       struct entry *ret)
{
	struct err err;

	return tree_lookup(l->box->store, root, path, ret, &err);
}

static void keeps_to_what_was_named(void **state)
{
	static const char *const only[] = {"deep/er/x", "edited", NULL};
	struct layer *l = *state;
	struct snapshot base = {0};
	struct entry all = {0}, root = {0}, want = {0}, got = {0};
	size_t i;

	put_lower(l->lower_fd);
	put_upper(l);
	settle(l->upper_fd, false);
	snap(l, l->lower, &base);
	result(l, &base.root, &all);
	result_of(l, &base.root, only, &root);
	for (i = 0; only[i]; i++) {
		assert_int_equal(has(l, &all, only[i], &want), 1);
		assert_int_equal(has(l, &root, only[i], &got), 1);
		assert_true(entry_equal(&want, &got));
		entry_free(&want);
		entry_free(&got);
	}
	assert_int_equal(has(l, &all, "gone", &got), 0);
	assert_int_equal(has(l, &root, "gone", &got), 1);
	entry_free(&got);
	assert_int_equal(has(l, &all, "made", &got), 1);
	entry_free(&got);
	assert_int_equal(has(l, &root, "made", &got), 0);
	entry_free(&all);
	entry_free(&root);
	snapshot_free(&base);
}

static uint32_t mode_of(int fd, const char *path)
{
	struct meta m;

	assert_return_code(meta_get(fd, path, &m), errno);
	return m.mode & 07777;
}

static void reads_what_the_run_shut_and_shuts_it_again(void **state)
{
	struct layer *l = *state;
	struct snapshot base = {0}, merged = {0};
	struct entry root = {0}, again = {0};

	put_lower(l->lower_fd);
	put_upper(l);
	put_merged(l);
	settle(l->upper_fd, true);
	settle(l->merged_fd, false);
	snap(l, l->lower, &base);
	snap(l, l->merged, &merged);
	result(l, &base.root, &root);
	shut_tree(l, &merged.root);
	same_trees(l, &root, &merged.root);
	assert_int_equal(mode_of(l->upper_fd, "shut"), 0);
	assert_int_equal(mode_of(l->upper_fd, "shut-dir"), 0);
	assert_int_equal(mode_of(l->upper_fd, "made-shut"), 0100);
	mode(l->upper_fd, "shut-dir", 0700);
	assert_int_equal(mode_of(l->upper_fd, "shut-dir/x"), 0);
	mode(l->upper_fd, "shut-dir", 0);
	/* The same layer gives the same tree, byte by byte. */
	result(l, &base.root, &again);
	assert_true(oid_equal(&root.content, &again.content));
	entry_free(&root);
	entry_free(&again);
	snapshot_free(&base);
	snapshot_free(&merged);
}

static void keeps_names_of_one_file_together(void **state)
{
	struct layer *l = *state;
	struct snapshot base = {0};
	struct entry root = {0}, one = {0}, two = {0}, old = {0};
	struct err err;

	file(l->lower_fd, "a", "x", 0644);
	assert_return_code(linkat(l->lower_fd, "a", l->lower_fd, "b", 0),
			   errno);
	file(l->upper_fd, "c", "x", 0644);
	assert_return_code(linkat(l->upper_fd, "c", l->upper_fd, "d", 0),
			   errno);
	snap(l, l->lower, &base);
	result(l, &base.root, &root);
	assert_int_equal(tree_lookup(l->box->store, &root, "c", &one, &err), 1);
	assert_int_equal(tree_lookup(l->box->store, &root, "d", &two, &err), 1);
	assert_int_equal(tree_lookup(l->box->store, &root, "a", &old, &err), 1);
	assert_true(one.link_group != 0);
	assert_true(one.link_group == two.link_group);
	assert_true(old.link_group != 0);
	assert_true(one.link_group != old.link_group);
	entry_free(&one);
	entry_free(&two);
	entry_free(&old);
	entry_free(&root);
	snapshot_free(&base);
}

/* The user created the directory while the base was taken. */
static void makes_folders_that_the_base_does_not_have(void **state)
{
	struct layer *l = *state;
	struct snapshot base = {0};
	struct entry root = {0}, e = {0};
	struct err err;

	snap(l, l->lower, &base);
	dir(l->lower_fd, "late");
	dir(l->lower_fd, "late/r");
	file(l->lower_fd, "late/r/x", "old", 0644);
	dir(l->upper_fd, "late");
	dir(l->upper_fd, "late/r");
	file(l->upper_fd, "late/r/x", "new", 0600);
	result(l, &base.root, &root);
	assert_int_equal(
		tree_lookup(l->box->store, &root, "late/r/x", &e, &err), 1);
	assert_int_equal(e.mode & 07777, 0600);
	entry_free(&e);
	entry_free(&root);
	snapshot_free(&base);
}

static void is_the_base_for_an_empty_layer(void **state)
{
	struct layer *l = *state;
	struct snapshot base = {0};
	struct entry root = {0};

	put_lower(l->lower_fd);
	stamp(l->upper_fd, ".", 1600000000);
	snap(l, l->lower, &base);
	result(l, &base.root, &root);
	assert_true(oid_equal(&root.content, &base.root.content));
	entry_free(&root);
	snapshot_free(&base);
}

int main(void)
{
#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, layer_setup, layer_teardown)
	const struct CMUnitTest tests[] = {
		TEST(is_what_the_run_saw),
		TEST(keeps_to_what_was_named),
		TEST(reads_what_the_run_shut_and_shuts_it_again),
		TEST(keeps_names_of_one_file_together),
		TEST(makes_folders_that_the_base_does_not_have),
		TEST(is_the_base_for_an_empty_layer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
