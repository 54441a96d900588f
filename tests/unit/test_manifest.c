/*
 * Manifests: their bytes, the items after each, and chains with hidden,
 * damaged, renamed and doubled ones.
 */
/* link: -Wl,--wrap=read */
#include "snapshot/backup/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"
#include "tests/unit/directory_fixture.h"

/* --- reads that return few bytes --- */

static size_t read_at_most; /* 0: no limit */

ssize_t __real_read(int fd, void *to, size_t len);
ssize_t __wrap_read(int fd, void *to, size_t len);

ssize_t __wrap_read(int fd, void *to, size_t len)
{
	return __real_read(fd, to,
			   read_at_most && len > read_at_most ? read_at_most
							      : len);
}

/* --- bytes --- */

static void add(struct manifest_items *to, enum manifest_kind kind,
		const char *name, uint64_t check)
{
	const struct manifest_item item = {
		.kind = (uint8_t)kind,
		.name = (char *)(uintptr_t)name,
		.object = {1, 2, (unsigned char)check},
		.offset = 300,
		.len = (uint64_t)1 << 40,
		.check = check,
	};

	manifest_items_add(to, &item);
	manifest_items_sort(to);
}

static struct manifest make(uint64_t number)
{
	return (struct manifest){
		.number = number,
		.time = -5,
		.host = mem_strdup("host"),
		.home = mem_strdup("/home/user"),
		.newest = number * 10,
	};
}

static struct manifest make_full(void)
{
	struct manifest m = make(1234567);

	memset(m.previous, 7, sizeof(m.previous));
	m.complete = true;
	add(&m.adds, MANIFEST_SNAPSHOT, "0000000002.gsn", UINT64_MAX);
	add(&m.adds, MANIFEST_SNAPSHOT, "0000000001.gsn", 1);
	add(&m.adds, MANIFEST_RECORDS, "pack", 2);
	add(&m.drops, MANIFEST_FILE, "gone", 0);
	add(&m.drops, MANIFEST_INDEX, "pack", 0);
	return m;
}

static void a_manifest_is_read_as_it_was_written(void **state)
{
	AUTO(manifest) struct manifest m = make_full(), got = {0};
	AUTO(buf) struct buf bytes = {0}, again = {0};
	struct err err;

	(void)state;
	manifest_encode(&m, &bytes);
	ok(manifest_decode(bytes.data, bytes.len, &got, &err));
	manifest_encode(&got, &again);
	assert_true(buf_same(&bytes, &again));
	assert_int_equal(got.number, 1234567);
	assert_int_equal(got.previous[31], 7);
	assert_true(got.complete);
	assert_int_equal(got.time, -5);
	assert_string_equal(got.host, "host");
	assert_string_equal(got.home, "/home/user");
	assert_int_equal(got.newest, 12345670);
	assert_int_equal(got.adds.count, 3);
	assert_string_equal(got.adds.items[0].name, "pack");
	assert_int_equal(got.adds.items[1].kind, MANIFEST_SNAPSHOT);
	assert_string_equal(got.adds.items[1].name, "0000000001.gsn");
	assert_int_equal(got.adds.items[2].offset, 300);
	assert_int_equal(got.adds.items[2].len, (uint64_t)1 << 40);
	assert_true(got.adds.items[2].check == UINT64_MAX);
	assert_int_equal(got.drops.count, 2);
	assert_string_equal(got.drops.items[1].name, "gone");
}

static void each_cut_and_each_flip_is_survived(void **state)
{
	AUTO(manifest) struct manifest m = make_full();
	AUTO(buf) struct buf bytes = {0};
	struct err err;
	size_t at;
	int bit;

	(void)state;
	manifest_encode(&m, &bytes);
	for (at = 0; at < bytes.len; at++) {
		auto_free unsigned char *part = mem_dup(bytes.data, at);
		AUTO(manifest) struct manifest got = {0};

		assert_int_equal(manifest_decode(part, at, &got, &err),
				 -EBADMSG);
	}
	for (at = 0; at < bytes.len; at++)
		for (bit = 0; bit < 8; bit++) {
			AUTO(manifest) struct manifest got = {0};
			AUTO(buf) struct buf again = {0};

			bytes.data[at] ^= (unsigned char)(1 << bit);
			if (manifest_decode(bytes.data, bytes.len, &got,
					    &err) == 0)
				manifest_encode(&got, &again);
			else
				buf_add(&again, bytes.data, bytes.len);
			assert_true(buf_same(&bytes, &again));
			bytes.data[at] ^= (unsigned char)(1 << bit);
		}
	buf_add_char(&bytes, '\0');
	assert_int_equal(manifest_decode(bytes.data, bytes.len, &m, &err),
			 -EBADMSG);
}

static void wrong_values_are_refused(void **state)
{
	static const struct {
		int kind;
		const char *name;
		uint64_t len;
		int want;
	} rows[] = {
		{MANIFEST_ROOT, "x", 1, 0},
		{MANIFEST_RECORDS, "x", UINT64_MAX - 300, 0},
		{MANIFEST_RECORDS, "x", UINT64_MAX - 299, -EBADMSG},
		{0, "x", 1, -EBADMSG},
		{MANIFEST_ROOT + 1, "x", 1, -EBADMSG},
		{MANIFEST_FILE, "", 1, -EBADMSG},
		{MANIFEST_FILE, "..", 1, -EBADMSG},
		{MANIFEST_FILE, "a/b", 1, -EBADMSG},
	};
	struct err err;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(manifest) struct manifest m = make(1), got = {0};
		AUTO(buf) struct buf bytes = {0};

		add(&m.adds, (enum manifest_kind)rows[i].kind, rows[i].name, 1);
		m.adds.items[0].len = rows[i].len;
		manifest_encode(&m, &bytes);
		assert_int_equal(
			manifest_decode(bytes.data, bytes.len, &got, &err),
			rows[i].want);
	}
	for (i = 0; i < 3; i++) {
		AUTO(manifest) struct manifest m = make(i), got = {0};
		AUTO(buf) struct buf bytes = {0};

		/* Number 0, a name twice, a newer version. */
		add(&m.drops, MANIFEST_FILE, "gone", 1);
		if (i == 1)
			add(&m.drops, MANIFEST_FILE, "gone", 1);
		manifest_encode(&m, &bytes);
		bytes.data[8] = (unsigned char)(i == 2 ? 2 : 1);
		assert_int_equal(
			manifest_decode(bytes.data, bytes.len, &got, &err),
			i == 2 ? -EPROTO : -EBADMSG);
	}
}

/* --- items --- */

static char *describe(const struct manifest_items *items)
{
	AUTO(buf) struct buf text = {0};
	size_t i;

	for (i = 0; i < items->count; i++)
		buf_printf(&text, "%d%s=%d ", items->items[i].kind,
			   items->items[i].name, (int)items->items[i].check);
	return buf_take_text(&text);
}

static void check_items(const struct manifest_items *items, const char *want)
{
	auto_free char *text = describe(items);

	assert_string_equal(text, want);
}

static void items_are_added_replaced_and_dropped(void **state)
{
	AUTO(manifest_items) struct manifest_items items = {0};
	AUTO(manifest) struct manifest a = make(1), b = make(2), c = make(3);

	(void)state;
	manifest_items_advance(&items, &a);
	check_items(&items, "");
	add(&a.adds, MANIFEST_TREES, "m", 1);
	add(&a.adds, MANIFEST_SNAPSHOT, "a", 1);
	add(&a.adds, MANIFEST_SNAPSHOT, "b", 1);
	add(&a.adds, MANIFEST_SNAPSHOT, "c", 1);
	manifest_items_advance(&items, &a);
	check_items(&items, "3m=1 4a=1 4b=1 4c=1 ");

	add(&b.adds, MANIFEST_RECORDS, "z", 2);
	add(&b.adds, MANIFEST_SNAPSHOT, "b", 2);
	add(&b.adds, MANIFEST_SNAPSHOT, "d", 2);
	add(&b.drops, MANIFEST_TREES, "m", 0);
	add(&b.drops, MANIFEST_SNAPSHOT, "c", 0);
	add(&b.drops, MANIFEST_SNAPSHOT, "d", 0); /* added as well: stays */
	add(&b.drops, MANIFEST_SNAPSHOT, "never", 0);
	manifest_items_advance(&items, &b);
	check_items(&items, "1z=2 4a=1 4b=2 4d=2 ");
	assert_int_equal(
		manifest_items_find(&items, MANIFEST_SNAPSHOT, "b")->check, 2);
	assert_null(manifest_items_find(&items, MANIFEST_TREES, "b"));
	assert_null(manifest_items_find(&items, MANIFEST_SNAPSHOT, "c"));

	c.complete = true;
	add(&c.adds, MANIFEST_SNAPSHOT, "b", 3);
	manifest_items_advance(&items, &c);
	check_items(&items, "4b=3 ");
	assert_null(manifest_items_find(&c.drops, MANIFEST_SNAPSHOT, "b"));
}

/* --- names --- */

static void names_of_files_and_namespaces_are_strict(void **state)
{
	static const char space_text[] = "000102030405060708090a0b0c0d0e0f-"
					 "101112131415161718191a1b1c1d1e1f";
	unsigned char space[SEAL_SPACE_LEN], got[SEAL_SPACE_LEN];
	struct manifest_item item = {.kind = MANIFEST_ROOT};
	struct manifest_name name = {.number = 12345678901};
	const char *text;
	auto_free char *path = NULL, *cut = NULL;
	int i;

	(void)state;
	for (i = 0; i < SEAL_SPACE_LEN; i++)
		space[i] = (unsigned char)i;
	path = manifest_space_path(space, SEAL_MANIFEST);
	assert_memory_equal(path, space_text, sizeof(space_text) - 1);
	assert_string_equal(path + sizeof(space_text) - 1, "/c");
	assert_true(manifest_space_parse(space_text, got));
	assert_memory_equal(got, space, sizeof(space));
	assert_false(manifest_space_parse("", got));
	assert_false(manifest_space_parse("guard-copy", got));
	assert_false(manifest_space_parse(path, got));
	cut = mem_strndup(space_text, sizeof(space_text) - 2);
	assert_false(manifest_space_parse(cut, got));
	cut[0] = 'A';
	assert_false(manifest_space_parse(cut, got));

	text = manifest_object_name(&item);
	assert_memory_equal(text, "root-0000", 9);
	item.kind = MANIFEST_TREES;
	text = manifest_object_name(&item);
	assert_int_equal(strlen(text), 64);
	text = manifest_file_name(&name);
	assert_memory_equal(text, "12345678901-0000", 16);
	name.number = 5;
	text = manifest_file_name(&name);
	assert_memory_equal(text, "0000000005-0000", 15);
	name.number = UINT64_MAX;
	text = manifest_file_name(&name);
	assert_int_equal(strlen(text), 20 + 1 + 64);
}

/* --- chains --- */

struct lab {
	struct folder_box box;
	struct destination d;
	struct manifest_place place;
	char *dir; /* of the manifests */
	struct manifest_name names[9]; /* by number, from 1 */
};

static int setup(void **state)
{
	struct lab *lab = mem_zalloc(sizeof(*lab));
	struct err err;

	read_at_most = 0;
	ok(seal_init(&err));
	folder_box_make(&lab->box);
	ok(destination_open(lab->box.path, &lab->d, &err));
	lab->place = (struct manifest_place){.destination = &lab->d,
					     .space = {9, 9}};
	lab->d.key[0] = 1;
	lab->dir = manifest_space_path(lab->place.space, SEAL_MANIFEST);
	*state = lab;
	return 0;
}

static int teardown(void **state)
{
	struct lab *lab = *state;

	destination_free(&lab->d);
	folder_box_remove(&lab->box);
	free(lab->dir);
	free(lab);
	return 0;
}

/* Writes a manifest that adds the file "f<number>" and replaces "same". */
static struct manifest_name put(struct lab *lab, uint64_t number, bool complete,
				const struct manifest_name *previous,
				const char *mark)
{
	AUTO(manifest) struct manifest m = make(number);
	struct manifest_name ret;
	struct err err;

	m.complete = complete;
	if (previous)
		memcpy(m.previous, previous->hash, sizeof(m.previous));
	add(&m.adds, MANIFEST_FILE, text_printf("f%d%s", (int)number, mark),
	    number);
	add(&m.adds, MANIFEST_FILE, "same", number);
	if (!complete && number > 1)
		add(&m.drops, MANIFEST_FILE,
		    text_printf("f%d%s", (int)number - 2, mark), 0);
	ok(manifest_write(&lab->place, &m, &ret, &err));
	return ret;
}

/* Numbers 1 to 6; 3 is complete. */
static void put_chain(struct lab *lab)
{
	uint64_t n;

	for (n = 1; n <= 6; n++)
		lab->names[n] = put(lab, n, n == 3,
				    n > 1 ? &lab->names[n - 1] : NULL, "");
}

static void hide(struct lab *lab, const struct manifest_name *name)
{
	auto_free char *path = path_join(lab->dir, manifest_file_name(name));
	struct err err;

	ok(destination_delete(&lab->d, path, &err));
}

static char *path_of(struct lab *lab, const struct manifest_name *name)
{
	return mem_printf("%s/%s/%s", lab->box.path, lab->dir,
			  manifest_file_name(name));
}

/* For a number in the chain that ends with the newest: "number: items; missing
 * numbers", or "error N". */
static void check_state(struct lab *lab, const struct manifest_name *newest,
			uint64_t number, const char *want)
{
	AUTO(manifest_state) struct manifest_state s = {0};
	struct manifest_names all = {0};
	auto_free char *items = NULL;
	AUTO(buf) struct buf text = {0};
	struct err err;
	size_t i;
	int got;

	ok(manifest_list(&lab->place, &all, &err));
	got = manifest_load(&lab->place, &all, newest, number, &s, &err);
	manifest_names_free(&all);
	items = describe(&s.items);
	if (got < 0) {
		buf_printf(&text, "error %d", -got);
	} else {
		buf_printf(&text, "%d: %s;", (int)s.last.number, items);
		assert_string_equal(s.last.home, "/home/user");
		assert_int_equal(s.last.adds.count + s.last.drops.count, 0);
	}
	for (i = 0; i < s.missing.count; i++)
		buf_printf(&text, " %d", (int)s.missing.items[i]);
	assert_string_equal(buf_text(&text), want);
}

static void check_load(struct lab *lab, const struct manifest_name *from,
		       const char *want)
{
	auto_free char *text = mem_printf("%d: %s", (int)from->number, want);

	check_state(lab, from, from->number, text);
}

static void check_refused(struct lab *lab, const struct manifest_name *name,
			  int want, const char *why)
{
	AUTO(manifest) struct manifest m = {0};
	struct err err;

	assert_int_equal(manifest_read(&lab->place, name, &m, &err), want);
	if (!strstr(err.text, why) || !strstr(err.text, lab->box.path))
		fail_msg("%s", err.text);
}

static void a_chain_is_read_back_to_the_complete_one(void **state)
{
	struct lab *lab = *state;
	struct manifest_names all = {0};
	struct err err;
	size_t i;

	ok(manifest_list(&lab->place, &all, &err));
	assert_int_equal(all.count, 0);
	put_chain(lab);
	check_load(lab, &lab->names[1], "5f1=1 5same=1 ;");
	check_load(lab, &lab->names[2], "5f1=1 5f2=2 5same=2 ;");
	check_load(lab, &lab->names[3], "5f3=3 5same=3 ;");
	check_load(lab, &lab->names[6], "5f5=5 5f6=6 5same=6 ;");
	/* Manifests in front of the complete one are not read. */
	hide(lab, &lab->names[1]);
	hide(lab, &lab->names[2]);
	check_load(lab, &lab->names[6], "5f5=5 5f6=6 5same=6 ;");
	ok(manifest_list(&lab->place, &all, &err));
	assert_int_equal(all.count, 4);
	for (i = 0; i < all.count; i++)
		assert_memory_equal(&all.items[i], &lab->names[i + 3],
				    sizeof(all.items[i]));
	manifest_names_free(&all);
}

static void hidden_manifests_are_skipped_by_their_numbers(void **state)
{
	struct lab *lab = *state;

	put_chain(lab);
	hide(lab, &lab->names[5]);
	check_load(lab, &lab->names[6], "5f3=3 5f6=6 5same=6 ; 5");
	hide(lab, &lab->names[3]);
	check_load(lab, &lab->names[6], "5f1=1 5f6=6 5same=6 ; 3 5");
	hide(lab, &lab->names[1]);
	hide(lab, &lab->names[2]);
	hide(lab, &lab->names[4]);
	check_load(lab, &lab->names[6], "5f6=6 5same=6 ; 1 2 3 4 5");
	hide(lab, &lab->names[6]);
	check_refused(lab, &lab->names[6], -ENOENT, "No such file");
}

static void damaged_manifests_are_skipped_by_their_numbers(void **state)
{
	struct lab *lab = *state;
	struct stat st;
	off_t at;

	put_chain(lab);
	for (at = 0;; at++) {
		auto_free char *path = path_of(lab, &lab->names[5]);
		auto_close int fd = -1;
		unsigned char byte;

		assert_return_code(chmod(path, 0600), errno);
		fd = open(path, O_RDWR | O_CLOEXEC);
		assert_return_code(fd, errno);
		assert_return_code(fstat(fd, &st), errno);
		if (at == st.st_size)
			break;
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 1;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		check_load(lab, &lab->names[6], "5f3=3 5f6=6 5same=6 ; 5");
		check_refused(lab, &lab->names[5], -EBADMSG,
			      "do not match its name");
		byte ^= 1;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	check_load(lab, &lab->names[6], "5f5=5 5f6=6 5same=6 ;");
	for (; at--;) {
		auto_free char *path = path_of(lab, &lab->names[5]);

		assert_return_code(truncate(path, at), errno);
		check_load(lab, &lab->names[6], "5f3=3 5f6=6 5same=6 ; 5");
	}
}

static void an_older_manifest_under_another_name_is_refused(void **state)
{
	struct lab *lab = *state;
	auto_free char *old = NULL, *new = NULL, *same_hash = NULL;
	struct manifest_name renamed;

	put_chain(lab);
	old = path_of(lab, &lab->names[4]);
	new = path_of(lab, &lab->names[6]);
	assert_return_code(rename(old, new), errno);
	check_refused(lab, &lab->names[6], -EBADMSG, "do not match its name");
	renamed = lab->names[4];
	renamed.number = 7;
	same_hash = path_of(lab, &renamed);
	assert_return_code(rename(new, same_hash), errno);
	check_refused(lab, &renamed, -EBADMSG, "it is manifest 4");
}

static void other_keys_and_namespaces_open_nothing(void **state)
{
	struct lab *lab = *state;
	auto_free char *from = NULL, *to = NULL, *dir = NULL;

	put_chain(lab);
	lab->d.key[0] = 4;
	check_refused(lab, &lab->names[6], -EBADMSG, "manifest '0000000006-");
	lab->d.key[0] = 1;
	lab->place.space[0] = 8;
	check_refused(lab, &lab->names[6], -ENOENT, "No such file");
	/* The files of one namespace in another one. */
	dir = manifest_space_path(lab->place.space, SEAL_ROOT);
	to = mem_printf("%s/%s", lab->box.path, dir);
	from = mem_printf("%s/%.65s", lab->box.path, lab->dir);
	assert_return_code(rename(from, to), errno);
	check_refused(lab, &lab->names[6], -EBADMSG, "manifest '0000000006-");
}

static void of_a_fork_the_chain_takes_its_own(void **state)
{
	struct lab *lab = *state;
	struct manifest_name b5, b6;

	put_chain(lab);
	b5 = put(lab, 5, false, &lab->names[4], "b");
	b6 = put(lab, 6, false, &b5, "b");
	check_load(lab, &lab->names[6], "5f5=5 5f6=6 5same=6 ;");
	check_load(lab, &b6, "5f3=3 5f4=4 5f5b=5 5f6b=6 5same=6 ;");
	/* Behind a gap both add, and neither drops. */
	lab->names[7] = put(lab, 7, false, &lab->names[6], "");
	hide(lab, &lab->names[6]);
	hide(lab, &b6);
	check_load(lab, &lab->names[7], "5f3=3 5f4=4 5f5b=5 5f7=7 5same=7 ; 6");
	/* The gap is on one side only. */
	hide(lab, &b5);
	check_load(lab, &lab->names[7], "5f4=4 5f7=7 5same=7 ; 6");
}

static void the_newest_that_can_be_read_is_taken(void **state)
{
	struct lab *lab = *state;
	auto_free char *none = mem_printf("error %d", EBADMSG);
	uint64_t n;

	put_chain(lab);
	hide(lab, &lab->names[6]);
	hide(lab, &lab->names[5]);
	check_state(lab, &lab->names[6], 0, "4: 5f3=3 5f4=4 5same=4 ; 5 6");
	for (n = 1; n <= 4; n++)
		hide(lab, &lab->names[n]);
	check_state(lab, &lab->names[6], 0, none);
}

static void a_number_selects_the_manifest_of_the_own_chain(void **state)
{
	struct lab *lab = *state;
	auto_free char *none = mem_printf("error %d", ENOENT);
	struct manifest_name b5, b6;

	put_chain(lab);
	b5 = put(lab, 5, false, &lab->names[4], "b");
	b6 = put(lab, 6, false, &b5, "b");
	check_state(lab, &lab->names[6], 5, "5: 5f4=4 5f5=5 5same=5 ;");
	check_state(lab, &b6, 5, "5: 5f3=3 5f4=4 5f5b=5 5same=5 ;");
	check_state(lab, &b6, 4, "4: 5f3=3 5f4=4 5same=4 ;");
	check_state(lab, &b6, 7, none);
	/* The way to it is lost: both. */
	hide(lab, &lab->names[6]);
	check_state(lab, &lab->names[6], 5,
		    "5: 5f3=3 5f4=4 5f5=5 5f5b=5 5same=5 ;");
	hide(lab, &lab->names[2]);
	check_state(lab, &b6, 2, none);
	check_state(lab, &b6, 1, "1: 5f1=1 5same=1 ;");
}

static void a_fork_of_complete_ones_behind_a_gap_keeps_both(void **state)
{
	struct lab *lab = *state;

	lab->names[1] = put(lab, 1, false, NULL, "");
	lab->names[2] = put(lab, 2, true, &lab->names[1], "");
	(void)put(lab, 2, true, &lab->names[1], "b");
	lab->names[3] = put(lab, 3, false, &lab->names[2], "");
	lab->names[4] = put(lab, 4, false, &lab->names[3], "x");
	hide(lab, &lab->names[3]);
	check_load(lab, &lab->names[4],
		   "5f1=1 5f2=2 5f2b=2 5f4x=4 5same=4 ; 3");
}

static void other_files_beside_manifests_are_ignored(void **state)
{
	static const char *const names[] = {"x", "1-2", "0000000006",
					    "0000000006-", ".tmp-1"};
	struct lab *lab = *state;
	auto_free char *dir = mem_printf("%s/%s", lab->box.path, lab->dir);
	struct manifest_names all = {0};
	auto_free char *zeros = NULL;
	struct err err;
	size_t i;

	put_chain(lab);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *path = path_join(dir, names[i]);

		assert_return_code(close(creat(path, 0600)), errno);
	}
	/* Another spelling of a number. */
	zeros = mem_printf("%s/0%s", dir, manifest_file_name(&lab->names[6]));
	assert_return_code(close(creat(zeros, 0600)), errno);
	ok(manifest_list(&lab->place, &all, &err));
	assert_int_equal(all.count, 6);
	manifest_names_free(&all);
}

static void short_reads_change_nothing(void **state)
{
	struct lab *lab = *state;

	put_chain(lab);
	read_at_most = 7;
	check_load(lab, &lab->names[6], "5f5=5 5f6=6 5same=6 ;");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_manifest_is_read_as_it_was_written),
		cmocka_unit_test(each_cut_and_each_flip_is_survived),
		cmocka_unit_test(wrong_values_are_refused),
		cmocka_unit_test(items_are_added_replaced_and_dropped),
		cmocka_unit_test(names_of_files_and_namespaces_are_strict),
		TEST(a_chain_is_read_back_to_the_complete_one),
		TEST(hidden_manifests_are_skipped_by_their_numbers),
		TEST(damaged_manifests_are_skipped_by_their_numbers),
		TEST(an_older_manifest_under_another_name_is_refused),
		TEST(other_keys_and_namespaces_open_nothing),
		TEST(of_a_fork_the_chain_takes_its_own),
		TEST(the_newest_that_can_be_read_is_taken),
		TEST(a_number_selects_the_manifest_of_the_own_chain),
		TEST(a_fork_of_complete_ones_behind_a_gap_keeps_both),
		TEST(other_files_beside_manifests_are_ignored),
		TEST(short_reads_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
