/* The stat cache: what fits is used, all else is as if it was not there. */
#include "tests/unit/snap_fixture.h"

#include "snapshot/walk/statcache.h"

static const struct cache_key key = {1, 2, 3, 4};

static struct meta make_meta(uint32_t mode, uint64_t number)
{
	return (struct meta){
		.mode = mode,
		.uid = 1000,
		.gid = 1001,
		.nlink = 1,
		.size = number * 10,
		.dev = key.dev,
		.ino = number,
		.mtime = {.sec = -3, .nsec = 999999999},
		.ctime = {.sec = 1700000000, .nsec = (uint32_t)number},
	};
}

static struct oid make_oid(enum object_type type, unsigned char fill)
{
	struct oid id = {.len = 77, .ord = 3, .type = (uint8_t)type};

	memset(id.hash, fill, sizeof(id.hash));
	return id;
}

static uint32_t add_folder(struct cache_builder *b, const struct oid *tree,
			   const struct cache_item *items, size_t count,
			   const struct statcache *old)
{
	size_t i;

	for (i = 0; i < count; i++)
		cache_builder_add(b, &items[i]);
	return cache_builder_end_dir(b, tree, old);
}

/* root/{d/{x}, f, l -> to}; d's tree is filled with 'd', root's with 'r'. */
static void save(struct box *box, uint64_t seq)
{
	struct cache_builder *b = cache_builder_new();
	struct meta d = make_meta(S_IFDIR | 0755, 1), x, f, l, r;
	struct oid tree_d = make_oid(OBJECT_TREE, 'd');
	struct oid tree_r = make_oid(OBJECT_TREE, 'r');
	struct cache_item in_d[1], in_r[3], root;
	struct err err;
	uint32_t number;

	x = make_meta(S_IFREG | 0644, 2);
	f = make_meta(S_IFREG | 0600, 3);
	l = make_meta(S_IFLNK | 0777, 4);
	r = make_meta(S_IFDIR | 0700, 5);
	in_d[0] = (struct cache_item){.name = "x",
				      .meta = &x,
				      .content = make_oid(OBJECT_DATA, 'x'),
				      .flags = CACHE_UNTRUSTED};
	number = add_folder(b, &tree_d, in_d, 1, NULL);
	in_r[0] =
		(struct cache_item){.name = "d", .meta = &d, .dir = number + 1};
	in_r[1] =
		(struct cache_item){.name = "f",
				    .meta = &f,
				    .content = make_oid(OBJECT_CHUNKLIST, 'f'),
				    .attrs = make_oid(OBJECT_ATTRSET, 'a')};
	in_r[2] = (struct cache_item){.name = "l", .link = "to", .meta = &l};
	number = add_folder(b, &tree_r, in_r, 3, NULL);
	root = (struct cache_item){.name = "", .meta = &r, .dir = number + 1};
	ok(cache_builder_save(b, box->cache, &key, seq, &root, &err));
	cache_builder_free(&b);
}

static void check_subtree(struct statcache *c, const struct cache_entry *root)
{
	const struct cache_dir *r = statcache_dir(c, root), *d;
	const struct cache_entry *e, *x;
	struct meta f = make_meta(S_IFREG | 0600, 3);
	struct oid id = make_oid(OBJECT_CHUNKLIST, 'f'), got;
	size_t count;

	assert_non_null(r);
	id = make_oid(OBJECT_TREE, 'r');
	assert_true(oid_equal(&r->tree, &id));
	e = statcache_entries(c, r, &count);
	assert_int_equal(count, 3);
	assert_string_equal(statcache_name(c, &e[0]), "d");
	assert_string_equal(statcache_name(c, &e[1]), "f");
	assert_true(statcache_same(c, &e[1], &f));
	id = make_oid(OBJECT_CHUNKLIST, 'f');
	got = statcache_content(&e[1]);
	assert_true(oid_equal(&got, &id));
	id = make_oid(OBJECT_ATTRSET, 'a');
	got = statcache_attrs(c, &e[1]);
	assert_true(oid_equal(&got, &id));
	assert_null(statcache_dir(c, &e[1]));
	assert_string_equal(statcache_link(c, &e[2]), "to");
	d = statcache_dir(c, &e[0]);
	assert_non_null(d);
	x = statcache_entries(c, d, &count);
	assert_int_equal(count, 1);
	assert_int_equal(x->flags, CACHE_UNTRUSTED);
	assert_string_equal(statcache_name(c, x), "x");
}

static void test_round_trip(void **state)
{
	struct box *box = *state;
	struct statcache *c;

	assert_null(statcache_open(box->cache, &key));
	save(box, 9);
	c = statcache_open(box->cache, &key);
	assert_non_null(c);
	assert_int_equal(statcache_seq(c), 9);
	check_subtree(c, statcache_root(c));
	statcache_free(&c);
}

static void test_any_difference_counts(void **state)
{
	struct box *box = *state;
	const struct cache_entry *e;
	struct statcache *c;
	struct meta m;
	size_t count;

	save(box, 9);
	c = statcache_open(box->cache, &key);
	e = statcache_entries(c, statcache_dir(c, statcache_root(c)), &count);
#define DIFFERS(change)                                                        \
	do {                                                                   \
		m = make_meta(S_IFREG | 0600, 3);                              \
		assert_true(statcache_same(c, &e[1], &m));                     \
		change;                                                        \
		assert_false(statcache_same(c, &e[1], &m));                    \
	} while (0)
	DIFFERS(m.dev++);
	DIFFERS(m.ino++);
	DIFFERS(m.mode = S_IFLNK | 0600);
	DIFFERS(m.mode = S_IFREG | 0601);
	DIFFERS(m.uid++);
	DIFFERS(m.gid++);
	DIFFERS(m.nlink++);
	DIFFERS(m.size++);
	DIFFERS(m.mtime.sec++);
	DIFFERS(m.mtime.nsec--);
	DIFFERS(m.ctime.sec++);
	DIFFERS(m.ctime.nsec++);
	statcache_free(&c);
}

static void test_a_foreign_cache_is_ignored(void **state)
{
	struct box *box = *state;
	struct cache_key other;
	struct statcache *c;

	save(box, 9);
#define FOREIGN(change)                                                        \
	do {                                                                   \
		other = key;                                                   \
		change;                                                        \
		assert_null(statcache_open(box->cache, &other));               \
	} while (0)
	FOREIGN(other.store++);
	FOREIGN(other.path++);
	FOREIGN(other.dev++);
	FOREIGN(other.ino++);
	c = statcache_open(box->cache, &key);
	assert_non_null(c);
	statcache_free(&c);
}

static void test_a_torn_or_damaged_cache_is_ignored(void **state)
{
	struct box *box = *state;
	AUTO(buf) struct buf bytes = {0};
	auto_close int fd = -1;
	struct err err;
	size_t i;

	save(box, 9);
	ok(fd_slurp_at(AT_FDCWD, box->cache, 1 << 20, &bytes, &err));
	fd = open(box->cache, O_RDWR | O_CLOEXEC);
	assert_return_code(fd, errno);
	for (i = 0; i < bytes.len; i++) {
		unsigned char flipped = bytes.data[i] ^ (1 << (i % 8));

		assert_return_code(fd_pwrite(fd, &flipped, 1, i), errno);
		assert_null(statcache_open(box->cache, &key));
		assert_return_code(fd_pwrite(fd, &bytes.data[i], 1, i), errno);
	}
	for (i = bytes.len; i-- > 0;) {
		assert_return_code(ftruncate(fd, (off_t)i), errno);
		assert_null(statcache_open(box->cache, &key));
	}
}

static void test_a_subtree_is_taken_over(void **state)
{
	struct box *box = *state;
	struct cache_builder *b = cache_builder_new();
	struct meta top = make_meta(S_IFDIR | 0755, 8);
	struct oid tree = make_oid(OBJECT_TREE, 't');
	const struct cache_entry *e;
	struct cache_item items[2], root;
	struct statcache *old, *c;
	struct err err;
	size_t count;

	save(box, 9);
	old = statcache_open(box->cache, &key);
	items[0] = (struct cache_item){
		.name = "sub", .meta = &top, .old = statcache_root(old)};
	items[1] = (struct cache_item){
		.name = "sub2", .meta = &top, .old = statcache_root(old)};
	root = (struct cache_item){.name = "",
				   .meta = &top,
				   .dir = add_folder(b, &tree, items, 2, old) +
					  1};
	ok(cache_builder_save(b, box->cache, &key, 10, &root, &err));
	cache_builder_free(&b);
	statcache_free(&old);
	c = statcache_open(box->cache, &key);
	assert_non_null(c);
	e = statcache_entries(c, statcache_dir(c, statcache_root(c)), &count);
	assert_int_equal(count, 2);
	check_subtree(c, &e[0]);
	check_subtree(c, &e[1]);
	statcache_free(&c);
}

static void test_a_cache_that_cannot_be_written_is_an_error(void **state)
{
	struct cache_builder *b = cache_builder_new();
	struct meta top = make_meta(S_IFDIR | 0755, 8);
	struct cache_item root = {.name = "", .meta = &top};
	struct err err;

	(void)state;
	assert_int_equal(cache_builder_save(b, "/var/tmp/no-such-folder/c",
					    &key, 1, &root, &err),
			 -ENOENT);
	cache_builder_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(test_round_trip),
		T(test_any_difference_counts),
		T(test_a_foreign_cache_is_ignored),
		T(test_a_torn_or_damaged_cache_is_ignored),
		T(test_a_subtree_is_taken_over),
		T(test_a_cache_that_cannot_be_written_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
