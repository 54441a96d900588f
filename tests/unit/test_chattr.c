/* The flags of chattr(1): recorded, kept by the stat cache, written down. */
#include "snapshot/walk/take.c"
#include "tests/unit/tree_bytes.h"

#include "tests/unit/skip.h"
#include "tests/unit/snap_fixture.h"

#include "base/chattr.h"
#include "tests/unit/keep_fixture.h"

static int open_it(struct box *box, const char *name)
{
	int fd = openat(box->root_fd, name, O_RDONLY | O_CLOEXEC);

	assert_return_code(fd, errno);
	return fd;
}

static void set(struct box *box, const char *name, uint32_t flags)
{
	auto_close int fd = open_it(box, name);

	if (chattr_write(fd, flags, flags) < 0)
		skip_because("the file system has no such flag");
}

static void take_cached(struct box *box, struct snapshot *ret)
{
	struct take_options o = {.root_path = box->root,
				 .root_fd = -1,
				 .reason = "manual",
				 .cache_path = box->cache};
	struct err err;

	snapshot_free(ret);
	ok(take_snapshot(box->store, &o, ret, &err));
}

static uint32_t chattr_of(struct box *box, const struct snapshot *s,
			  const char *path)
{
	AUTO(entry) struct entry e = {0};
	struct err err;

	assert_int_equal(tree_lookup(box->store, &s->root, path, &e, &err), 1);
	return e.chattr;
}

static void fill(struct box *box)
{
	put_file(box, "plain", 1, 100);
	put_file(box, "small", 2, 100);
	put_file(box, "empty", 2, 0);
	put_file(box, "long", 3, 300000);
	assert_return_code(mkdirat(box->root_fd, "d", 0755), errno);
	set(box, "d", FS_NOATIME_FL);
	put_file(box, "d/in", 4, 100);
	set(box, "d/in", FS_NOATIME_FL); /* where it is not inherited */
	set(box, "small", FS_NODUMP_FL);
	set(box, "empty", FS_NODUMP_FL);
	set(box, "long", FS_NOATIME_FL);
}

static void check(struct box *box, const struct snapshot *s)
{
	assert_int_equal(chattr_of(box, s, ""), 0);
	assert_int_equal(chattr_of(box, s, "plain"), 0);
	assert_int_equal(chattr_of(box, s, "small"), FS_NODUMP_FL);
	assert_int_equal(chattr_of(box, s, "empty"), FS_NODUMP_FL);
	assert_int_equal(chattr_of(box, s, "long"), FS_NOATIME_FL);
	assert_int_equal(chattr_of(box, s, "d"), FS_NOATIME_FL);
	assert_int_equal(chattr_of(box, s, "d/in"), FS_NOATIME_FL);
}

static void flags_are_recorded_and_stay_while_nothing_changes(void **state)
{
	struct box *box = *state;
	AUTO(snapshot) struct snapshot s = {0}, first = {0};

	assume_stable = true;
	fill(box);
	take_cached(box, &first);
	check(box, &first);
	take_cached(box, &s);
	check(box, &s);
	assert_true(oid_equal(&s.root.content, &first.root.content));
	/* Both directories are stored again, from the entries of the cache. */
	put_file(box, "new", 7, 10);
	put_file(box, "d/new", 7, 10);
	take_cached(box, &s);
	check(box, &s);
	/* Files of a directory that passes its flags on are asked for theirs.
	 */
	set(box, "d/new", FS_NOATIME_FL);
	take_cached(box, &s);
	assert_int_equal(chattr_of(box, &s, "d/new"), FS_NOATIME_FL);
	assume_stable = false;
}

static void a_flag_that_goes_is_a_change(void **state)
{
	struct box *box = *state;
	AUTO(snapshot) struct snapshot s = {0};
	auto_close int fd = -1;

	fill(box);
	take_cached(box, &s);
	fd = open_it(box, "small");
	assert_return_code(chattr_write(fd, FS_NODUMP_FL, 0), errno);
	take_cached(box, &s);
	assert_int_equal(chattr_of(box, &s, "small"), 0);
	assert_int_equal(chattr_of(box, &s, "empty"), FS_NODUMP_FL);
}

static void the_root_has_flags_too(void **state)
{
	struct box *box = *state;
	AUTO(snapshot) struct snapshot s = {0}, loaded = {0};
	struct err err;

	set(box, ".", FS_NODUMP_FL);
	put_file(box, "a", 1, 10);
	take_cached(box, &s);
	ok(catalog_load(box->store, s.seq, &loaded, &err));
	assert_int_equal(loaded.root.chattr, FS_NODUMP_FL);
}

/* Trees without flags keep their old format. */
static void only_trees_with_flags_need_a_newer_guard(void **state)
{
	struct entry e = {.name = (char *)"a", .mode = S_IFREG | 0644};
	AUTO(tree) struct tree t = {0};
	AUTO(buf) struct buf b = {0};
	struct err err;

	(void)state;
	tree_encode(&e, 1, &b);
	assert_int_equal(b.data[0], 1);
	/* The flagged format without a flag is invalid. */
	b.data[0] = 2;
	assert_int_equal(tree_decode(b.data, b.len, &t, &err), -EBADMSG);
	buf_clear(&b);
	e.chattr = FS_NODUMP_FL | FS_DIRSYNC_FL;
	tree_encode(&e, 1, &b);
	assert_int_equal(b.data[0], 2);
	ok(tree_decode(b.data, b.len, &t, &err));
	assert_int_equal(t.entries[0].chattr, e.chattr);
	tree_free(&t);
	b.data[0] = 1;
	assert_int_equal(tree_decode(b.data, b.len, &t, &err), -EBADMSG);
}

static void they_are_written_as_lsattr_does(void **state)
{
	char text[CHATTR_TEXT_LEN];

	(void)state;
	assert_string_equal(chattr_text(0, text), "-");
	assert_string_equal(chattr_text(FS_IMMUTABLE_FL | FS_NOATIME_FL, text),
			    "iA");
	assert_int_equal(strlen(chattr_text(UINT32_MAX, text)), 16);
	assert_string_equal(chattr_text(CHATTR_STORED, text),
			    chattr_text(UINT32_MAX, text));
}

int main(void)
{
#define t(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		t(flags_are_recorded_and_stay_while_nothing_changes),
		t(a_flag_that_goes_is_a_change),
		t(the_root_has_flags_too),
		cmocka_unit_test(only_trees_with_flags_need_a_newer_guard),
		cmocka_unit_test(they_are_written_as_lsattr_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
