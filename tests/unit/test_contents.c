/* guard/timeline/contents.c: a content is found wherever it is. */
/* users: one */
#include "tests/unit/overlay_lab.h"

#include "guard/timeline/contents_private.h"
#include "snapshot/store/content.h"

/* Asserts a call that explains its failure in `err`. */
#define ok(call)                                                               \
	do {                                                                   \
		if ((call) < 0)                                                \
			lab_fail(&err);                                        \
	} while (0)

struct place {
	struct lab lab;
	struct store *store;
	struct timeline_writer w;
	int spool;
};

static int set_up(void **state)
{
	struct place *p = mem_zalloc(sizeof(*p));
	auto_free char *store = NULL;
	struct err err;

	lab_open(&p->lab, "project");
	store = mem_printf("%s/store", p->lab.root);
	ok(store_open(&p->store, store, STORE_WRITE, &err));
	ok(timeline_open(&p->w, p->lab.s.fd, &err));
	p->spool = fd_open_dir(p->lab.s.fd, TIMELINE_SPOOL);
	assert_true(p->spool >= 0);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;

	(void)close(p->spool);
	timeline_close(&p->w);
	store_free(&p->store);
	lab_close(&p->lab);
	free(p);
	return 0;
}

/* A record of what the layer has at the path. */
static uint64_t add(struct place *p, const char *path, enum timeline_kind kind,
		    uint64_t content)
{
	struct timeline_record r = {.kind = kind, .path = path, .text = ""};
	struct err err;
	struct meta m;

	if (kind == TIMELINE_ENTRY) {
		assert_int_equal(meta_get(p->lab.upper_fd, path, &m), 0);
		r.mode = m.mode;
		r.uid = m.uid;
		r.gid = m.gid;
		r.size = m.size;
		r.mtime = m.mtime;
		r.ino = m.ino;
		r.content = content;
	}
	(void)timeline_add(&p->w, &r);
	ok(timeline_flush(&p->w, &err));
	return r.number;
}

/* A file of the layer, with its record. */
static uint64_t put(struct place *p, const char *path, const char *text)
{
	(void)unlinkat(p->lab.upper_fd, path, 0);
	assert_int_equal(lab_file(p->lab.upper_fd, path, text), 0);
	return add(p, path, TIMELINE_ENTRY, 0);
}

static void spool(struct place *p, uint64_t number, const char *text)
{
	auto_free char *name = mem_printf("%llu", (unsigned long long)number);

	assert_int_equal(lab_file(p->spool, name, text), 0);
}

static void assert_content(struct contents *c, uint64_t number,
			   const char *text)
{
	AUTO(entry) struct entry e = {0};
	AUTO(buf) struct buf bytes = {0};
	struct err err = {0};
	int got = contents_entry(c, number, &e, &err);

	if (got < 0)
		lab_fail(&err);
	assert_int_equal(got, text != NULL);
	if (!text)
		return;
	assert_true(S_ISREG(e.mode));
	assert_int_equal(e.size, strlen(text));
	if (e.size)
		ok(content_append(c->store, &e.content, &bytes, &err));
	assert_string_equal(buf_text(&bytes), text);
	assert_int_equal(e.mtime.sec, contents_record(c, number)->mtime.sec);
	assert_int_equal(e.mode & 07777, 0644);
}

static void test_spooled_and_standing(void **state)
{
	struct place *p = *state;
	struct contents *c = NULL;
	uint64_t first, second, empty, gone, moved, lost;
	struct err err;

	first = put(p, "a", "one");
	spool(p, first, "one");
	second = put(p, "a", "two two");
	empty = put(p, "b", "");
	gone = put(p, "c", "deleted");
	spool(p, gone, "deleted");
	assert_int_equal(unlinkat(p->lab.upper_fd, "c", 0), 0);
	(void)add(p, "c", TIMELINE_GONE, 0);
	moved = put(p, "d", "moved");
	assert_int_equal(renameat(p->lab.upper_fd, "d", p->lab.upper_fd, "e"),
			 0);
	(void)add(p, "d", TIMELINE_NONE, 0);
	(void)add(p, "e", TIMELINE_ENTRY, moved);
	lost = put(p, "f", "not saved");
	(void)put(p, "f", "the next one");
	ok(contents_open(&c, p->store, &p->lab.s, &err));
	assert_content(c, first, "one");
	assert_content(c, second, "two two");
	assert_content(c, empty, "");
	assert_content(c, gone, "deleted");
	assert_content(c, moved, "moved");
	assert_content(c, lost, NULL);
	assert_content(c, 1000, NULL);
	/* What the layer has now has no record yet. */
	assert_int_equal(unlinkat(p->lab.upper_fd, "a", 0), 0);
	assert_int_equal(lab_file(p->lab.upper_fd, "a", "TWO TWO"), 0);
	assert_content(c, second, NULL);
	contents_close(&c);
}

/* Links and directories that the run put in the place of the layer's. */
static void test_places_of_the_run(void **state)
{
	struct place *p = *state;
	struct contents *c = NULL;
	uint64_t in_dir, linked;
	struct err err;

	assert_int_equal(mkdirat(p->lab.upper_fd, "dir", 0755), 0);
	in_dir = put(p, "dir/x", "inside");
	linked = put(p, "y", "inside");
	ok(contents_open(&c, p->store, &p->lab.s, &err));
	assert_content(c, in_dir, "inside");
	assert_int_equal(
		renameat(p->lab.upper_fd, "dir", p->lab.root_fd, "dir"), 0);
	assert_int_equal(symlinkat("../../../dir", p->lab.upper_fd, "dir"), 0);
	assert_int_equal(unlinkat(p->lab.upper_fd, "y", 0), 0);
	assert_int_equal(symlinkat("../../../dir/x", p->lab.upper_fd, "y"), 0);
	assert_content(c, in_dir, NULL);
	assert_content(c, linked, NULL);
	contents_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_spooled_and_standing,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_places_of_the_run, set_up,
						tear_down),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("contents", tests, NULL, NULL);
}
