/* Trees: a decoded tree equals the encoded one, and invalid bytes are refused.
 */
/* users: one */

#include "tests/unit/tree_bytes.h"
#include "tests/unit/snap_fixture.h"

static struct entry make(const char *name, uint32_t mode)
{
	return (struct entry){
		.name = mem_strdup(name),
		.mode = mode,
		.uid = 1000,
		.gid = 1001,
		.mtime = {.sec = 1700000000, .nsec = 123456789},
	};
}

static struct oid put(struct box *box, enum object_type type, const char *text)
{
	struct oid id;
	struct err err;

	ok(store_put(box->store, type, text, strlen(text), &id, &err));
	return id;
}

static struct entry make_file(struct box *box, const char *name,
			      const char *text)
{
	struct entry e = make(name, S_IFREG | 0644);

	e.size = strlen(text);
	if (e.size)
		e.content = put(box, OBJECT_DATA, text);
	return e;
}

static struct entry folder_of(struct box *box, const char *name, struct tree *t)
{
	struct entry e = make(name, S_IFDIR | 0755);
	struct err err;

	ok(tree_save(box->store, t, &e.content, &err));
	tree_free(t);
	return e;
}

/* An entry of each kind, with unusual names. */
static void fill(struct box *box, struct tree *t)
{
	char longest[256];
	struct entry e;

	memset(longest, 'n', 255);
	longest[255] = '\0';
	e = make_file(box, "plain", "hello");
	tree_add(t, &e);
	e = make_file(box, "two\nlines", "");
	e.mtime.sec = -5;
	tree_add(t, &e);
	e = make_file(box, "\xff\xfe", "x");
	e.flags = ENTRY_INCOMPLETE;
	e.link_group = UINT64_MAX;
	tree_add(t, &e);
	e = make(longest, S_IFDIR | 01777);
	tree_add(t, &e);
	e = make("link", S_IFLNK | 0777);
	e.link = mem_strdup("../\xff target\n");
	tree_add(t, &e);
	e = make("fifo", S_IFIFO | 0600);
	tree_add(t, &e);
	e = make("sock", S_IFSOCK | 0);
	e.attrs = put(box, OBJECT_ATTRSET, "attrs");
	tree_add(t, &e);
	e = make("dev", S_IFCHR | 0666);
	e.rdev = 0x103;
	tree_add(t, &e);
	e = make("set", S_IFREG | 06755);
	tree_add(t, &e);
}

static void test_round_trip(void **state)
{
	struct box *box = *state;
	AUTO(tree) struct tree in = {0}, out = {0};
	struct oid id, again;
	struct err err;
	size_t i;

	fill(box, &in);
	ok(tree_save(box->store, &in, &id, &err));
	ok(tree_load(box->store, &id, &out, &err));
	assert_int_equal(out.count, in.count);
	for (i = 0; i < in.count; i++) {
		assert_string_equal(out.entries[i].name, in.entries[i].name);
		assert_true(entry_equal(&out.entries[i], &in.entries[i]));
		assert_int_equal(out.entries[i].link_group,
				 in.entries[i].link_group);
		assert_true(i == 0 || strcmp(out.entries[i - 1].name,
					     out.entries[i].name) < 0);
	}
	assert_int_equal(tree_find(&out, "two\nlines")->mtime.sec, -5);
	assert_null(tree_find(&out, "two"));
	ok(tree_save(box->store, &out, &again, &err));
	assert_true(oid_equal(&id, &again));
}

static void refused(struct box *box, struct entry e)
{
	AUTO(tree) struct tree t = {0};
	struct oid id;
	struct err err;

	tree_add(&t, &e);
	assert_int_equal(tree_save(box->store, &t, &id, &err), -EINVAL);
}

static void test_bad_entries_are_refused(void **state)
{
	static const char *const names[] = {"", ".", "..", "a/b", "/"};
	struct box *box = *state;
	AUTO(tree) struct tree t = {0};
	char long_name[257];
	struct entry e;
	struct oid id;
	struct err err;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		refused(box, make(names[i], S_IFREG | 0644));
	memset(long_name, 'n', 256);
	long_name[256] = '\0';
	refused(box, make(long_name, S_IFREG | 0644));
	refused(box, make("kind", 0150000 | 0644));
	refused(box, make("nothing", 0));
	refused(box, make("no-target", S_IFLNK | 0777));
	e = make("bytes lost", S_IFREG | 0644);
	e.size = 5;
	refused(box, e);
	e = make_file(box, "size", "12345");
	e.size = 4;
	refused(box, e);
	e = make("folder of data", S_IFDIR | 0755);
	e.content = put(box, OBJECT_DATA, "data");
	refused(box, e);
	e = make_file(box, "twice", "1");
	tree_add(&t, &e);
	e = make_file(box, "twice", "2");
	tree_add(&t, &e);
	assert_int_equal(tree_save(box->store, &t, &id, &err), -EEXIST);
}

static void test_hostile_names_are_refused_when_read(void **state)
{
	static const char *const names[] = {"", ".", "..", "a/b", "../x"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		AUTO(buf) struct buf bytes = {0};
		AUTO(entry) struct entry e = make(names[i], S_IFREG | 0644);
		struct tree t;
		struct err err;

		tree_encode(&e, 1, &bytes);
		assert_int_equal(tree_decode(bytes.data, bytes.len, &t, &err),
				 -EBADMSG);
	}
}

static void test_unsorted_and_doubled_names_are_refused(void **state)
{
	static const char *const names[][2] = {{"b", "a"}, {"a", "a"}};
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		AUTO(buf) struct buf bytes = {0};
		struct entry e[2] = {make(names[i][0], S_IFREG | 0644),
				     make(names[i][1], S_IFREG | 0644)};
		struct tree t;
		struct err err;

		tree_encode(e, 2, &bytes);
		assert_int_equal(tree_decode(bytes.data, bytes.len, &t, &err),
				 -EBADMSG);
		entry_free(&e[0]);
		entry_free(&e[1]);
	}
}

/* The entries left in each tree after the removal of equal ones, as a text. */
static void tell_apart(const struct tree *a, const struct tree *b,
		       struct buf *to)
{
	size_t i = 0, j = 0;

	while (i < a->count || j < b->count) {
		int order = i == a->count   ? 1
			    : j == b->count ? -1
					    : strcmp(a->entries[i].name,
						     b->entries[j].name);
		const struct entry *x = order <= 0 ? &a->entries[i++] : NULL;
		const struct entry *y = order >= 0 ? &b->entries[j++] : NULL;

		if (x && y && entry_equal(x, y))
			continue;
		buf_printf(to, "%s%s%s %u ", x ? "-" : "", y ? "+" : "",
			   x ? x->name : y->name, (x ? x : y)->uid);
	}
}

static unsigned int draw(uint64_t *seed, unsigned int below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(*seed >> 33) % below;
}

static void add_drawn(struct tree *t, size_t i, uint32_t uid, uint32_t chattr)
{
	char name[16];
	struct entry e;

	(void)snprintf(name, sizeof(name), "%.*s%zu", (int)(i % 4), "yyy",
		       100 + i);
	e = make(name, i % 3 ? S_IFREG | 0644 : S_IFLNK | 0777);
	e.uid = uid;
	if (i % 3 == 0)
		e.link = mem_strdup(name);
	else
		e.chattr = chattr;
	tree_add(t, &e);
}

static int note_difference(void *arg, const char *path, const struct entry *a,
			   const struct entry *b, struct err *err)
{
	(void)err;
	if (*path)
		buf_printf(arg, "%s%s%s %u ", a ? "-" : "", b ? "+" : "", path,
			   (a ? a : b)->uid);
	return 0;
}

static void test_differences_are_what_two_folders_do_not_share(void **state)
{
	struct box *box = *state;
	uint64_t seed = 1;
	size_t round, i;

	for (round = 0; round < 500; round++) {
		AUTO(tree) struct tree a = {0}, b = {0};
		AUTO(buf) struct buf should = {0}, is = {0};
		struct entry of_a = {.mode = S_IFDIR}, of_b = {.mode = S_IFDIR};
		unsigned int same = draw(&seed, 20), way;
		struct err err;

		for (i = 0; i < 60; i++) {
			way = draw(&seed, 3 + same);
			if (way != 0)
				add_drawn(&a, i, 1, way == 1 ? 16 : 0);
			if (way != 1)
				add_drawn(&b, i, way == 2 ? 300 : 1, 0);
		}
		ok(tree_save(box->store, &a, &of_a.content, &err));
		ok(tree_save(box->store, &b, &of_b.content, &err));
		tell_apart(&a, &b, &should);
		ok(tree_diff(box->store, &of_a, &of_b, note_difference, &is,
			     &err));
		assert_string_equal(buf_text(&is), buf_text(&should));
	}
}

static void test_newer_version_is_told_apart(void **state)
{
	static const unsigned char bytes[] = {4, 0};
	struct tree t;
	struct err err;

	(void)state;
	assert_int_equal(tree_decode(bytes, 2, &t, &err), -EPROTO);
}

/* Decodes; a decoded tree obeys the rules. A sanitizer finds memory errors. */
static bool decodes(const void *data, size_t len)
{
	AUTO(tree) struct tree t = {0};
	struct err err;
	size_t i;
	int got = tree_decode(data, len, &t, &err);

	if (got < 0) {
		assert_true(got == -EBADMSG || got == -EPROTO);
		return false;
	}
	for (i = 0; i < t.count; i++)
		assert_true(entry_ok(&t.entries[i], false));
	return true;
}

static void test_damaged_bytes_never_crash(void **state)
{
	struct box *box = *state;
	AUTO(tree) struct tree t = {0};
	AUTO(buf) struct buf bytes = {0};
	size_t i, bit, accepted = 0;
	struct oid id;
	struct err err;

	fill(box, &t);
	ok(tree_save(box->store, &t, &id, &err));
	tree_encode(t.entries, t.count, &bytes);
	assert_true(decodes(bytes.data, bytes.len));
	for (i = 0; i < bytes.len; i++) {
		auto_free unsigned char *cut = mem_dup(bytes.data, i);

		assert_false(decodes(cut, i));
		for (bit = 0; bit < 8; bit++) {
			bytes.data[i] ^= (unsigned char)(1 << bit);
			accepted += decodes(bytes.data, bytes.len);
			bytes.data[i] ^= (unsigned char)(1 << bit);
		}
	}
	/* A changed hash or time is noticed by the store's own checksum. */
	assert_true(accepted < bytes.len * 8);
}

static void test_random_bytes_never_crash(void **state)
{
	unsigned char bytes[64];
	uint64_t v = 88172645463325252u;
	size_t i, round;

	(void)state;
	for (round = 0; round < 200000; round++) {
		for (i = 0; i < sizeof(bytes); i++) {
			v ^= v << 13;
			v ^= v >> 7;
			v ^= v << 17;
			bytes[i] = (unsigned char)(v >> 24);
		}
		bytes[0] = 1;
		bytes[1] &= 7;
		(void)decodes(bytes, 2 + bytes[2] % 62);
	}
}

/* root/{a, d/{x, y}, z} */
static struct entry small_root(struct box *box)
{
	struct tree t = {0};
	struct entry e, d;

	e = make_file(box, "x", "in x");
	tree_add(&t, &e);
	e = make_file(box, "y", "in y");
	tree_add(&t, &e);
	d = folder_of(box, "d", &t);
	e = make_file(box, "a", "in a");
	tree_add(&t, &e);
	tree_add(&t, &d);
	e = make_file(box, "z", "in z");
	tree_add(&t, &e);
	return folder_of(box, "", &t);
}

static void test_lookup(void **state)
{
	struct box *box = *state;
	AUTO(entry) struct entry root = small_root(box);
	AUTO(entry) struct entry found = {0}, whole = {0};
	struct entry none;
	struct err err;

	assert_int_equal(tree_lookup(box->store, &root, "d/y", &found, &err),
			 1);
	assert_string_equal(found.name, "y");
	assert_int_equal(found.size, 4);
	assert_int_equal(tree_lookup(box->store, &root, "", &whole, &err), 1);
	assert_true(entry_equal(&whole, &root));
	assert_int_equal(tree_lookup(box->store, &root, "d/q", &none, &err), 0);
	assert_int_equal(tree_lookup(box->store, &root, "a/b", &none, &err), 0);
	assert_int_equal(tree_lookup(box->store, &root, "d/../a", &none, &err),
			 0);
}

static int collect(void *arg, const char *path, const struct entry *a,
		   const struct entry *b, struct err *err)
{
	struct buf *to = arg;

	(void)err;
	buf_printf(to, "%s%s%s ", a ? "-" : "", b ? "+" : "", path);
	return 0;
}

static int collect_one(void *arg, const char *path, const struct entry *e,
		       struct err *err)
{
	return collect(arg, path, e, NULL, err);
}

static void test_each_names_all_in_order(void **state)
{
	struct box *box = *state;
	AUTO(entry) struct entry root = small_root(box);
	AUTO(buf) struct buf seen = {0};
	struct err err;

	ok(tree_each(box->store, &root, collect_one, &seen, &err));
	assert_string_equal(buf_text(&seen), "- -a -d -d/x -d/y -z ");
}

static void test_diff_names_what_differs(void **state)
{
	struct box *box = *state;
	AUTO(entry) struct entry a = small_root(box), b = {0}, e = {0};
	struct tree_editor *ed = tree_editor_new(box->store, &a);
	AUTO(buf) struct buf seen = {0};
	struct entry nothing = {0};
	struct err err;

	ok(tree_diff(box->store, &a, &a, collect, &seen, &err));
	assert_string_equal(buf_text(&seen), "");
	e = make_file(box, "", "other");
	ok(tree_editor_put(ed, "d/x", &e, &err));
	ok(tree_editor_put(ed, "d/new", &e, &err));
	ok(tree_editor_remove(ed, "z", &err));
	ok(tree_editor_save(ed, &b, &err));
	tree_editor_free(&ed);
	ok(tree_diff(box->store, &a, &b, collect, &seen, &err));
	assert_string_equal(buf_text(&seen), "-+ -+d +d/new -+d/x -z ");
	buf_clear(&seen);
	ok(tree_diff(box->store, &nothing, &b, collect, &seen, &err));
	assert_string_equal(buf_text(&seen), "+ +a +d +d/new +d/x +d/y ");
}

static void test_diff_enters_what_became_a_folder(void **state)
{
	struct box *box = *state;
	AUTO(entry) struct entry a = small_root(box), b = {0}, d = {0};
	struct tree_editor *ed = tree_editor_new(box->store, &a);
	AUTO(buf) struct buf seen = {0};
	struct err err;

	assert_int_equal(tree_lookup(box->store, &a, "d", &d, &err), 1);
	ok(tree_editor_put(ed, "a", &d, &err));
	ok(tree_editor_save(ed, &b, &err));
	tree_editor_free(&ed);
	ok(tree_diff(box->store, &a, &b, collect, &seen, &err));
	assert_string_equal(buf_text(&seen), "-+ -+a +a/x +a/y ");
}

static int stop(void *arg, const char *path, const struct entry *a,
		const struct entry *b, struct err *err)
{
	(void)arg;
	(void)a;
	(void)b;
	return *path ? fail_num(err, EINTR, "enough") : 0;
}

static void test_a_negative_answer_ends_a_diff(void **state)
{
	struct box *box = *state;
	AUTO(entry) struct entry root = small_root(box);
	struct err err;

	assert_int_equal(tree_diff(box->store, &root, NULL, stop, NULL, &err),
			 -EINTR);
}

static void test_editor_keeps_what_it_does_not_touch(void **state)
{
	struct box *box = *state;
	AUTO(entry) struct entry root = small_root(box), same = {0}, d = {0};
	AUTO(entry) struct entry after = {0}, meta = {0};
	struct tree_editor *ed = tree_editor_new(box->store, &root);
	struct err err;

	ok(tree_editor_save(ed, &same, &err));
	assert_true(entry_equal(&same, &root));
	assert_int_equal(tree_lookup(box->store, &root, "d", &d, &err), 1);
	meta = make("", S_IFDIR | 0700);
	ok(tree_editor_put_dir(ed, "d", &meta, &err));
	ok(tree_editor_save(ed, &after, &err));
	tree_editor_free(&ed);
	entry_free(&meta);
	assert_int_equal(tree_lookup(box->store, &after, "d", &meta, &err), 1);
	assert_int_equal(meta.mode, S_IFDIR | 0700);
	assert_true(oid_equal(&meta.content, &d.content));
}

static void test_editor_makes_folders_and_refuses_files_above(void **state)
{
	struct box *box = *state;
	AUTO(entry) struct entry root = small_root(box), after = {0};
	AUTO(entry) struct entry e = make_file(box, "", "n"), found = {0};
	AUTO(entry) struct entry dir = make("", S_IFDIR | 0755);
	struct tree_editor *ed = tree_editor_new(box->store, &root);
	struct err err;

	assert_int_equal(tree_editor_put(ed, "no/x", &e, &err), -ENOTDIR);
	assert_int_equal(tree_editor_put(ed, "a/x", &e, &err), -ENOTDIR);
	ok(tree_editor_put_dir(ed, "no", &dir, &err));
	ok(tree_editor_put(ed, "no/x", &e, &err));
	ok(tree_editor_remove(ed, "not/there", &err));
	ok(tree_editor_remove(ed, "a", &err));
	ok(tree_editor_put_dir(ed, "a", &dir, &err));
	ok(tree_editor_save(ed, &after, &err));
	tree_editor_free(&ed);
	assert_int_equal(tree_lookup(box->store, &after, "no/x", &found, &err),
			 1);
	entry_free(&found);
	assert_int_equal(tree_lookup(box->store, &after, "a", &found, &err), 1);
	assert_true(S_ISDIR(found.mode));
}

static void test_editor_starts_from_nothing(void **state)
{
	struct box *box = *state;
	struct entry nothing = {0};
	AUTO(entry) struct entry dir = make("", S_IFDIR | 0755), root = {0};
	AUTO(entry) struct entry e = make_file(box, "", "n"), found = {0};
	struct tree_editor *ed = tree_editor_new(box->store, &nothing);
	struct err err;

	assert_int_equal(tree_editor_put(ed, "x", &e, &err), -ENOTDIR);
	ok(tree_editor_put_dir(ed, "", &dir, &err));
	ok(tree_editor_put(ed, "x", &e, &err));
	ok(tree_editor_save(ed, &root, &err));
	assert_int_equal(tree_lookup(box->store, &root, "x", &found, &err), 1);
	ok(tree_editor_remove(ed, "", &err));
	entry_free(&root);
	ok(tree_editor_save(ed, &root, &err));
	tree_editor_free(&ed);
	assert_int_equal(root.mode, 0);
}

#define DEEP 3000

static int count_deep(void *arg, const char *path, const struct entry *a,
		      const struct entry *b, struct err *err)
{
	(void)path;
	(void)a;
	(void)b;
	(void)err;
	++*(size_t *)arg;
	return 0;
}

static void test_three_thousand_levels(void **state)
{
	struct box *box = *state;
	AUTO(entry) struct entry e = make_file(box, "leaf", "deep");
	AUTO(entry) struct entry root = {0}, found = {0}, other = {0};
	AUTO(buf) struct buf path = {0};
	struct tree_editor *ed;
	struct err err;
	size_t count = 0;
	int i;

	for (i = 0; i < DEEP; i++) {
		struct tree t = {0};

		tree_add(&t, &e);
		e = folder_of(box, i == DEEP - 1 ? "" : "dir", &t);
		buf_add_text(&path, i ? "dir/" : "");
	}
	entry_copy(&root, &e);
	buf_add_text(&path, "leaf");
	assert_int_equal(
		tree_lookup(box->store, &root, buf_text(&path), &found, &err),
		1);
	ok(tree_diff(box->store, &root, NULL, count_deep, &count, &err));
	assert_int_equal(count, DEEP + 1);
	ed = tree_editor_new(box->store, &root);
	ok(tree_editor_remove(ed, buf_text(&path), &err));
	ok(tree_editor_save(ed, &other, &err));
	tree_editor_free(&ed);
	count = 0;
	ok(tree_diff(box->store, &root, &other, count_deep, &count, &err));
	assert_int_equal(count, DEEP + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(test_round_trip),
		T(test_bad_entries_are_refused),
		T(test_hostile_names_are_refused_when_read),
		T(test_unsorted_and_doubled_names_are_refused),
		T(test_differences_are_what_two_folders_do_not_share),
		T(test_newer_version_is_told_apart),
		T(test_damaged_bytes_never_crash),
		T(test_random_bytes_never_crash),
		T(test_lookup),
		T(test_each_names_all_in_order),
		T(test_diff_names_what_differs),
		T(test_diff_enters_what_became_a_folder),
		T(test_a_negative_answer_ends_a_diff),
		T(test_editor_keeps_what_it_does_not_touch),
		T(test_editor_makes_folders_and_refuses_files_above),
		T(test_editor_starts_from_nothing),
		T(test_three_thousand_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
