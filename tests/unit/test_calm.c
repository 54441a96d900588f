/*
 * The check of files before a transaction displaces them: if their times prove
 * that no process has written to them, their bytes are not read; any change
 * before the rename is noticed nevertheless.
 */
#include "snapshot/walk/take.c"

#include "tests/unit/transaction_fixture.h"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/statfs.h>

static struct bench *bench_now;
static long fs_type; /* reported for every file system; 0: the real one */

int fstatfs(int fd, struct statfs *ret)
{
	int got = REAL(fstatfs)(fd, ret);

	if (got == 0 && fs_type)
		ret->f_type = fs_type;
	return got;
}

static int calm_setup(void **state)
{
	int got = bench_setup(state);

	assume_stable = true;
	bench_now = *state;
	return got;
}

static int calm_teardown(void **state)
{
	assume_stable = false;
	fs_type = 0;
	return bench_teardown(state);
}

/* Runs as if the project had been read `sec` seconds later than it was. */
static int run_after(struct bench *b, const struct plan *plan, int64_t sec,
		     struct err *err)
{
	struct snapshot before = {.time = timestamp_now()};
	struct transaction_root root = {.plan = plan, .before = &before};
	struct project p;
	bool on = calls.on;
	int got;

	before.time.sec += sec;
	calls.on = false;
	open_project(b, &p);
	root.project = &p;
	calls.on = on;
	got = transaction_run(b->box->store, &root, 1, &applied, err);
	calls.on = false;
	project_close(&p);
	return got;
}

static int before_rename_of(const char *name, void (*hook)(void), int64_t sec,
			    struct err *err)
{
	calls_start(0, 0);
	calls.before_rename = hook;
	calls.rename_of = name;
	return run_after(bench_now, &bench_now->plan, sec, err);
}

static void refused_for(const char *path, int got, const struct err *err)
{
	assert_int_equal(got, -EBUSY);
	if (!strstr(err->text, path))
		fail_msg("%s is not named: %s", path, err->text);
	assert_null(calls.before_rename);
	nothing_left(bench_now);
}

static int open_in_project(const char *path, int flags)
{
	auto_free char *whole = path_join(bench_now->project, path);
	int fd = open(whole, flags | O_CLOEXEC);

	assert_return_code(fd, errno);
	return fd;
}

static void check_first(const char *path, char first)
{
	auto_close int fd = open_in_project(path, O_RDONLY);
	char is = 0;

	assert_int_equal(pread(fd, &is, 1, 0), 1);
	assert_int_equal(is, first);
}

/* A plan with other bytes than the file's, which only a read can find. */
static void plan_other_bytes(struct bench *b, struct plan *ret)
{
	AUTO(entry) struct entry found = {0}, other = {0};
	struct tree_editor *ed;
	struct err err;

	ok(tree_lookup(b->box->store, &b->old.root, "edited", &found, &err));
	ok(content_put_bytes(b->box->store, "OLD\n", 4, &found.content, &err));
	ed = tree_editor_new(b->box->store, &b->old.root);
	ok(tree_editor_put(ed, "edited", &found, &err));
	ok(tree_editor_save(ed, &other, &err));
	tree_editor_free(&ed);
	plan_for(b, &other, &b->new.root, &other, ret);
}

static void bytes_are_read_only_where_times_do_not_tell(void **state)
{
	struct bench *b = *state;
	struct plan plan = {0};
	struct err err;

	plan_other_bytes(b, &plan);
	/* The file's ctime is younger than that. */
	assert_int_equal(run_after(b, &plan, -60, &err), -EBUSY);
	assert_non_null(strstr(err.text, "edited"));
	project_is(b, b->old_picture, "rolled back");
	/* If a store through a mapping may leave the times unchanged, the bytes
	 * are read at any age. */
	assume_stable = false;
	assert_int_equal(run_after(b, &plan, 10, &err), -EBUSY);
	assume_stable = true;
	ok(run_after(b, &plan, 10, &err));
	project_is(b, b->new_picture, "after it");
	nothing_left(b);
	plan_free(&plan);
}

/* The upper of an overlay may be a tmpfs, and other file systems have times
 * from another clock. */
static void bytes_are_read_where_the_file_system_is_not_known(void **state)
{
	static const long types[] = {TMPFS_MAGIC, RAMFS_MAGIC,
				     OVERLAYFS_SUPER_MAGIC, FUSE_SUPER_MAGIC};
	struct bench *b = *state;
	struct plan plan = {0};
	struct err err;
	size_t i;

	plan_other_bytes(b, &plan);
	assume_stable = false;
	for (i = 0; i < sizeof(types) / sizeof(*types); i++) {
		fs_type = types[i];
		assert_int_equal(run_after(b, &plan, 1000, &err), -EBUSY);
		project_is(b, b->old_picture, "taken back");
	}
	fs_type = EXT4_SUPER_MAGIC;
	ok(run_after(b, &plan, 1000, &err));
	project_is(b, b->new_picture, "after it");
	nothing_left(b);
	plan_free(&plan);
}

static void write_there(void)
{
	auto_close int fd = open_in_project("big", O_WRONLY);

	assert_return_code(pwrite(fd, "O", 1, 0), errno);
}

/* The file was compared just before. */
static void a_write_to_what_is_replaced_is_seen(void **state)
{
	struct err err;
	int got = before_rename_of("big", write_there, 10, &err);

	(void)state;
	refused_for("big", got, &err);
	check_first("big", 'O');
}

static void write_to_deleted(void)
{
	auto_close int fd = open_in_project("gone", O_WRONLY);

	assert_return_code(pwrite(fd, "O", 1, 0), errno);
}

static void a_write_to_what_is_deleted_is_seen(void **state)
{
	struct err err;
	int got = before_rename_of("gone", write_to_deleted, 10, &err);

	(void)state;
	refused_for("gone", got, &err);
	check_first("gone", 'O');
}

/* A file of the same size, mode and mtime, as after `touch -r` and a rename. */
static void rename_over(void)
{
	auto_close int dir = open_in_project("", O_RDONLY | O_DIRECTORY);
	auto_close int old = open_in_project("big", O_RDONLY);
	auto_close int fd = openat(dir, "mine", O_WRONLY | O_CREAT | O_CLOEXEC);
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
	struct stat st;

	assert_return_code(fd, errno);
	assert_return_code(fstat(old, &st), errno);
	assert_return_code(ftruncate(fd, st.st_size), errno);
	assert_return_code(pwrite(fd, "O", 1, 0), errno);
	assert_return_code(fchmod(fd, st.st_mode), errno);
	times[1] = st.st_mtim;
	assert_return_code(futimens(fd, times), errno);
	assert_return_code(renameat(dir, "mine", dir, "big"), errno);
}

static void another_file_of_its_times_is_seen(void **state)
{
	struct err err;
	int got = before_rename_of("big", rename_over, 10, &err);

	(void)state;
	refused_for("big", got, &err);
	check_first("big", 'O');
}

static void set_attribute(void)
{
	auto_close int fd = open_in_project("big", O_RDONLY);

	assert_return_code(fsetxattr(fd, "user.mine", "x", 1, 0), errno);
}

/* Attributes do not change the mtime. */
static void an_attribute_is_seen(void **state)
{
	struct err err;
	int got = before_rename_of("big", set_attribute, 10, &err);

	(void)state;
	refused_for("big", got, &err);
}

static void set_mode(void)
{
	auto_close int fd = open_in_project("big", O_RDONLY);

	assert_return_code(fchmod(fd, 0600), errno);
}

static void a_mode_is_seen(void **state)
{
	struct err err;
	int got = before_rename_of("big", set_mode, 10, &err);

	(void)state;
	refused_for("big", got, &err);
}

/* The ctime reveals it; otherwise only the rename changes the ctime. */
static void a_time_set_back_is_seen(void **state)
{
	struct bench *b = *state;
	auto_close int fd = open_in_project("edited", O_WRONLY);
	struct timespec some = {.tv_nsec = 1};
	struct stat st, now;
	struct err err;

	assert_return_code(fstat(fd, &st), errno);
	do {
		const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
						  st.st_mtim};

		(void)nanosleep(&some, NULL);
		assert_return_code(pwrite(fd, "O", 1, 0), errno);
		assert_return_code(futimens(fd, times), errno);
		assert_return_code(fstat(fd, &now), errno);
	} while (now.st_ctim.tv_sec == st.st_ctim.tv_sec &&
		 now.st_ctim.tv_nsec == st.st_ctim.tv_nsec);
	(void)close(fd);
	fd = -1;
	assert_int_equal(run_after(b, &b->plan, -60, &err), -EBUSY);
	assert_non_null(strstr(err.text, "edited"));
	check_first("edited", 'O');
	nothing_left(b);
}

static char *mapped;

static char *map_page(const char *path)
{
	auto_close int fd = open_in_project(path, O_RDWR);
	char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_true(map != MAP_FAILED);
	/* The page is dirty, and the file's times are unchanged. */
	map[0] = 'o';
	set_times(AT_FDCWD, bench_now->project, 1600000000);
	return map;
}

/* Without a page fault no time changes. A process with such a mapping has the
 * file open for writing. */
static void store_and_unmap(void)
{
	mapped[0] = 'O';
	assert_return_code(munmap(mapped, 4096), errno);
}

static void store_through_mapping(const char *path, const char *renamed)
{
	struct err err;
	int got;

	assume_stable = false;
	mapped = map_page(path);
	snapshot_free(&bench_now->old);
	plan_free(&bench_now->plan);
	snap(bench_now, bench_now->project, &bench_now->old);
	plan_for(bench_now, &bench_now->old.root, &bench_now->new.root,
		 &bench_now->old.root, &bench_now->plan);
	got = before_rename_of(renamed, store_and_unmap, 10, &err);
	refused_for(renamed, got, &err);
	check_first(path, 'O');
}

static void a_store_through_a_mapping_is_seen(void **state)
{
	(void)state;
	store_through_mapping("gone", "gone");
}

static void a_store_below_a_deleted_folder_is_seen(void **state)
{
	(void)state;
	store_through_mapping("gone-dir/below/x", "gone-dir");
}

static void a_mapping_below_a_deleted_folder_is_a_change(void **state)
{
	struct bench *b = *state;
	struct err err;

	mapped = map_page("gone-dir/below/x");
	assert_int_equal(run_after(b, &b->plan, 10, &err), -EBUSY);
	assert_non_null(strstr(err.text, "gone-dir"));
	assert_non_null(strstr(err.text, "has 'below/x' in it"));
	store_and_unmap();
	check_first("gone-dir/below/x", 'O');
	nothing_left(b);
}

int main(void)
{
#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, calm_setup, calm_teardown)
	const struct CMUnitTest tests[] = {
		TEST(bytes_are_read_only_where_times_do_not_tell),
		TEST(bytes_are_read_where_the_file_system_is_not_known),
		TEST(a_write_to_what_is_replaced_is_seen),
		TEST(a_write_to_what_is_deleted_is_seen),
		TEST(another_file_of_its_times_is_seen),
		TEST(an_attribute_is_seen),
		TEST(a_mode_is_seen),
		TEST(a_time_set_back_is_seen),
		TEST(a_store_through_a_mapping_is_seen),
		TEST(a_store_below_a_deleted_folder_is_seen),
		TEST(a_mapping_below_a_deleted_folder_is_a_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
