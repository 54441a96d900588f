/*
 * Checked-in stores of older guards: each is read, complete and correct, and
 * work on it continues.
 */
/* users: one */
#include "tests/unit/snap_fixture.h"

#include "tests/unit/keep_fixture.h"
#include "tests/unit/storemodel.h"
#include "snapshot/store/store_private.h"

struct fixture {
	const char *path;
	uint64_t newest; /* snapshot, which `model` describes */
	const char *root_path, *message;
	bool has_gone;
};

static const struct fixture first = {
	.path = "tests/data/oldstore",
	.newest = 1,
	.root_path = "/home/me/project",
	.message = "kept for good",
};

/* Hashed with two secrets, with snapshots of every version, some of them
 * pruned.
 */
static const struct fixture second = {
	.path = "tests/data/store-2",
	.newest = 4,
	.root_path = "/home/tester/project",
	.message = "kept for good",
	.has_gone = true,
};

static void copy_file(struct box *box, const struct fixture *f,
		      const char *folder, const char *name)
{
	auto_free char *from = mem_printf("%s/%s%s", f->path, folder, name);
	auto_free char *to = mem_printf("%s/old/%s%s", box->dir, folder, name);
	auto_close int fd =
		open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	AUTO(buf) struct buf bytes = {0};
	struct err err;

	ok(fd_slurp_at(AT_FDCWD, from, 1u << 20, &bytes, &err));
	assert_return_code(fd, errno);
	assert_return_code(fd_write(fd, bytes.data, bytes.len), errno);
}

static void copy_folder(struct box *box, const struct fixture *f,
			const char *name)
{
	auto_free char *from = mem_printf("%s/%s", f->path, name);
	auto_free char *to = mem_printf("%s/old/%s", box->dir, name);
	auto_free char *prefix = mem_printf("%s/", name);
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int fd = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err err;
	size_t i;

	assert_return_code(fd, errno);
	ok(dirlist_read(fd, &list, &err));
	assert_return_code(mkdir(to, 0700), errno);
	for (i = 0; i < list.count; i++)
		copy_file(box, f, prefix, list.items[i].name);
	assert_return_code(chmod(to, 0500), errno);
}

/* The store's directory; git keeps no modes and no empty directories. */
static void make_old_store(struct box *box, const struct fixture *f)
{
	static const char *const files[] = {"FORMAT", "secret", "secret.2"};
	static const char *const dirs[] = {"tmp", "trash"};
	size_t i;

	(void)snprintf(box->store_root_fd, sizeof(box->store_root_fd), "%s/old",
		       box->dir);
	assert_return_code(mkdir(box->store_root_fd, 0700), errno);
	for (i = 0; i < 3; i++)
		copy_file(box, f, "", files[i]);
	if (f->has_gone)
		copy_file(box, f, "", "gone");
	copy_folder(box, f, "packs");
	copy_folder(box, f, "snaps");
	for (i = 0; i < 2; i++) {
		auto_free char *path = path_join(box->store_root_fd, dirs[i]);

		assert_return_code(mkdir(path, 0700), errno);
	}
}

static void check_old_snapshot(struct box *box, const struct fixture *f)
{
	auto_free char *model = mem_printf("%s/model", f->path);
	AUTO(store) struct store *s = NULL;
	AUTO(snapshot) struct snapshot snap = {0};
	AUTO(buf) struct buf want = {0}, is = {0};
	struct err err;

	ok(store_open(&s, box->store_root_fd, STORE_READ, &err));
	ok(fd_slurp_at(AT_FDCWD, model, 1u << 20, &want, &err));
	ok(model_snapshot(s, f->newest, &is, &err));
	assert_int_equal(is.len, want.len);
	assert_memory_equal(is.data, want.data, is.len);
	ok(catalog_load(s, f->newest, &snap, &err));
	assert_string_equal(snap.root_path, f->root_path);
	assert_string_equal(snap.message, f->message);
	check_whole(box);
}

static void test_a_store_of_the_first_format_is_read(void **state)
{
	make_old_store(*state, &first);
	check_old_snapshot(*state, &first);
}

static void test_a_store_with_all_versions_of_snapshots_is_read(void **state)
{
	struct box *box = *state;
	AUTO(store) struct store *s = NULL;
	AUTO(snapshot) struct snapshot tagged = {0}, plain = {0}, newest = {0};
	struct err err;

	make_old_store(box, &second);
	check_old_snapshot(box, &second);
	ok(store_open(&s, box->store_root_fd, STORE_READ, &err));
	assert_int_equal(catalog_load(s, 1, &plain, &err), -ENOENT);
	ok(catalog_load(s, 2, &tagged, &err));
	assert_string_equal(tagged.tags[0], "never");
	ok(catalog_load(s, 3, &plain, &err));
	assert_null(plain.tags);
	assert_string_equal(plain.message, "second");
	ok(catalog_load(s, 4, &newest, &err));
	assert_string_equal(newest.tags[1], "v1");
	assert_string_equal(newest.excludes[0], "*.log");
	assert_true(newest.root.chattr != 0);
}

static void go_on(struct box *box, const struct fixture *f)
{
	AUTO(snapshot) struct snapshot snap = {0};
	struct take_options o = {
		.root_path = box->root, .root_fd = -1, .reason = "manual"};
	struct store_stats stats;
	struct err err;

	make_old_store(box, f);
	store_free(&box->store);
	ok(store_open(&box->store, box->store_root_fd, STORE_WRITE, &err));
	/* "hello\n" exists already, under the same name. */
	put_file(box, "new", 7, 5000);
	{
		auto_close int fd =
			openat(box->root_fd, "a",
			       O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

		assert_return_code(fd_write(fd, "hello\n", 6), errno);
	}
	ok(take_snapshot(box->store, &o, &snap, &err));
	assert_int_equal(snap.seq, f->newest + 1);
	stats = box->store->stats;
	assert_int_equal(stats.new_objects, 2); /* "new", and the directory */
	check_old_snapshot(box, f);
}

static void test_work_on_an_old_store_goes_on(void **state)
{
	go_on(*state, &first);
}

static void test_work_on_a_store_that_was_pruned_goes_on(void **state)
{
	go_on(*state, &second);
}

int main(void)
{
#define t(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		t(test_a_store_of_the_first_format_is_read),
		t(test_a_store_with_all_versions_of_snapshots_is_read),
		t(test_work_on_an_old_store_goes_on),
		t(test_work_on_a_store_that_was_pruned_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
