/* guard/timeline/contents.c, import.c: a content is found wherever it is, and
 * no import loses one, killed at any step. */
/* users: one */
#include "tests/unit/overlay_lab.h"

#include "guard/timeline/contents_private.h"
#include "guard/timeline/drop.h"
#include "guard/timeline/import.h"
#include "snapshot/store/content.h"
#include "base/lock.h"
#include "tests/unit/calls.h"

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

/* --- the importer --- */

#define PATHS 8
#define STEPS 60

/* The removal of a file of the spool is a step, too. */
int unlinkat(int dirfd, const char *name, int flags)
{
	if (call_fails("unlink", name))
		return -1;
	return (int)call_done(syscall(SYS_unlinkat, dirfd, name, flags));
}

/* What a random run did: the text of each content, NULL for one that no
 * process could keep. */
struct history {
	char *texts[8 * STEPS + 1];
	uint64_t last; /* the highest number */
	uint64_t has[PATHS]; /* the content that the path has, 0: none */
	unsigned int made;
};

static void keep_text(struct history *h, uint64_t number, char *text)
{
	assert_true(number < sizeof(h->texts) / sizeof(*h->texts));
	h->texts[number] = text;
	h->last = number;
}

/* The content of the path is about to be destroyed: it is saved, now and then
 * it is not. */
static void destroy(struct place *p, struct history *h, unsigned int path)
{
	uint64_t number = h->has[path];

	if (!number || !h->texts[number] || !*h->texts[number])
		return;
	if (rand() % 8) {
		spool(p, number, h->texts[number]);
		return;
	}
	free(h->texts[number]);
	h->texts[number] = NULL;
}

static void random_step(struct place *p, struct history *h)
{
	unsigned int path = (unsigned int)rand() % PATHS, other;
	char name[8], target[8];

	(void)snprintf(name, sizeof(name), "p%u", path);
	destroy(p, h, path);
	switch (rand() % 6) {
	case 0:
		(void)syscall(SYS_unlinkat, p->lab.upper_fd, name, 0);
		h->last = add(p, name, TIMELINE_GONE, 0);
		h->has[path] = 0;
		break;
	case 1:
		h->has[path] = put(p, name, "");
		keep_text(h, h->has[path], mem_strdup(""));
		break;
	case 2:
		if (h->has[path]) {
			other = (path + 1) % PATHS;
			destroy(p, h, other);
			(void)snprintf(target, sizeof(target), "p%u", other);
			assert_int_equal(renameat(p->lab.upper_fd, name,
						  p->lab.upper_fd, target),
					 0);
			(void)add(p, name, TIMELINE_NONE, 0);
			h->last = add(p, target, TIMELINE_ENTRY, h->has[path]);
			h->has[other] = h->has[path];
			h->has[path] = 0;
			break;
		}
		/* fall through */
	default:
		(void)snprintf(target, sizeof(target), "t%u", h->made++);
		h->has[path] = put(p, name, target);
		keep_text(h, h->has[path], mem_strdup(target));
	}
}

/* In a process, which is killed at a call (0: at none). True: it was not. */
static bool import_killed(struct place *p, bool ended, unsigned int at,
			  bool after)
{
	auto_free char *path = mem_printf("%s/store", p->lab.root);
	struct store *store = NULL;
	int status;
	struct err err;
	pid_t pid = fork();

	if (pid == 0) {
		if (store_open(&store, path, STORE_WRITE, &err) < 0)
			_exit(1);
		calls_reset();
		calls_unsynced = true;
		calls.at = at;
		calls.after = after;
		if (import_run(store, &p->lab.s, ended, ended, &err) < 0) {
			print_error("%s\n", err.text);
			_exit(1);
		}
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
	return !WIFSIGNALED(status);
}

static void assert_history(struct contents *c, const struct history *h)
{
	uint64_t i;

	for (i = 1; i <= h->last; i++)
		if (h->texts[i])
			assert_content(c, i, h->texts[i]);
}

static void assert_all_kept(struct place *p, const struct history *h,
			    bool stored)
{
	auto_free char *path = mem_printf("%s/store", p->lab.root);
	struct contents *c = NULL;
	struct store *store = NULL;
	struct err err;

	ok(store_open(&store, path, STORE_WRITE, &err));
	if (stored)
		ok(contents_open_stored(&c, store, p->lab.s.id, &err));
	else
		ok(contents_open(&c, store, &p->lab.s, &err));
	assert_history(c, h);
	contents_close(&c);
	store_free(&store);
}

static void test_killed_imports(void **state)
{
	struct place *p = *state;
	struct history h = {0};
	unsigned int i, at, killed = 0;

	srand(7);
	store_free(&p->store);
	for (at = 1; at <= STEPS; at++) {
		random_step(p, &h);
		random_step(p, &h);
		/* While it runs, then at its end. */
		killed += !import_killed(p, at > STEPS / 2, at % (STEPS / 2),
					 rand() % 2);
		assert_all_kept(p, &h, false);
	}
	assert_true(killed > STEPS / 2);
	assert_true(import_killed(p, true, 0, false));
	assert_false(import_is_due(p->lab.s.fd, 0));
	/* Without the run's directory. */
	assert_all_kept(p, &h, true);
	for (i = 0; i <= h.last; i++)
		free(h.texts[i]);
}

/* The second import of a live run does nothing; what it finds in the spool
 * twice is stored once. */
static void test_one_at_a_time(void **state)
{
	struct place *p = *state;
	struct err err;
	uint64_t number = put(p, "a", "one");
	int lock;

	spool(p, number, "one");
	lock = contents_lock(p->lab.s.fd, false, &err);
	assert_true(lock >= 0);
	assert_int_equal(import_run(p->store, &p->lab.s, false, false, &err),
			 -EWOULDBLOCK);
	assert_true(import_is_due(p->lab.s.fd, 0));
	lock_release(&lock);
	ok(import_run(p->store, &p->lab.s, false, false, &err));
	assert_false(import_is_due(p->lab.s.fd, 0));
	/* A copy that is still being written is no content. */
	assert_int_equal(lab_file(p->spool, "9.part", "half"), 0);
	ok(import_run(p->store, &p->lab.s, false, false, &err));
	assert_true(fd_exists(p->spool, "9.part"));
}

/* --- what goes --- */

#define FILE_AT(seconds, at, number)                                           \
	{                                                                      \
		.kind = TIMELINE_ENTRY, .time.sec = 6000 + (seconds),          \
		.boot_ns = (int64_t)(seconds)*1000000000, .path = (at),        \
		.mode = S_IFREG | 0644, .size = 1, .content = (number)         \
	}
#define OTHER_AT(seconds, at, what, type)                                      \
	{                                                                      \
		.kind = (what), .time.sec = 6000 + (seconds),                  \
		.boot_ns = (int64_t)(seconds)*1000000000, .path = (at),        \
		.mode = (type)                                                 \
	}
#define EMPTY_AT(seconds, at, number)                                          \
	{                                                                      \
		.kind = TIMELINE_ENTRY, .time.sec = 6000 + (seconds),          \
		.boot_ns = (int64_t)(seconds)*1000000000, .path = (at),        \
		.mode = S_IFREG | 0644, .content = (number)                    \
	}

struct thin_case {
	const char *what, *dropped;
	struct timeline_record records[12]; /* numbers from 1 */
};

static const struct thin_case thin_cases[] = {
	{"the longest of a minute and the last stay",
	 " 1 3",
	 {FILE_AT(0, "a", 1), FILE_AT(5, "a", 2), FILE_AT(30, "a", 3),
	  FILE_AT(31, "a", 4)}},
	{"one of each minute",
	 " 2 4",
	 {FILE_AT(0, "a", 1), FILE_AT(50, "a", 2), FILE_AT(60, "a", 3),
	  FILE_AT(115, "a", 4), FILE_AT(120, "a", 5)}},
	{"each path has its own",
	 "",
	 {FILE_AT(0, "a", 1), FILE_AT(1, "b", 2), FILE_AT(2, "c", 3)}},
	{"the last before an emptying",
	 "",
	 {FILE_AT(0, "a", 1), FILE_AT(20, "a", 2), EMPTY_AT(21, "a", 3),
	  FILE_AT(22, "a", 4)}},
	{"beside the longest of its minute",
	 " 1 4",
	 {FILE_AT(0, "a", 1), FILE_AT(2, "a", 2),
	  OTHER_AT(3, "a", TIMELINE_GONE, 0), FILE_AT(4, "a", 4),
	  FILE_AT(30, "a", 5), FILE_AT(70, "a", 6)}},
	{"the last before a deletion",
	 "",
	 {FILE_AT(0, "a", 1), FILE_AT(20, "a", 2),
	  OTHER_AT(21, "a", TIMELINE_GONE, 0), FILE_AT(22, "a", 4)}},
	{"of a directory above",
	 " 1",
	 {FILE_AT(0, "d/a", 1), FILE_AT(20, "d/a", 2),
	  OTHER_AT(21, "d", TIMELINE_GONE, 0),
	  OTHER_AT(22, "d", TIMELINE_OPAQUE, S_IFDIR | 0755),
	  FILE_AT(23, "d/a", 5), FILE_AT(59, "d/a", 6)}},
	{"by a link or a directory in its place",
	 "",
	 {FILE_AT(0, "a", 1), FILE_AT(20, "a", 2),
	  OTHER_AT(21, "a", TIMELINE_ENTRY, S_IFLNK | 0777),
	  FILE_AT(22, "b", 4), FILE_AT(42, "b", 5),
	  OTHER_AT(43, "b", TIMELINE_ENTRY, S_IFDIR | 0755)}},
	{"a rename is no deletion",
	 " 1",
	 {FILE_AT(0, "t", 1), OTHER_AT(1, "t", TIMELINE_NONE, 0),
	  FILE_AT(1, "a", 1), FILE_AT(2, "t", 4),
	  OTHER_AT(3, "t", TIMELINE_NONE, 0), FILE_AT(3, "a", 4),
	  FILE_AT(30, "t", 7), OTHER_AT(31, "t", TIMELINE_NONE, 0),
	  FILE_AT(31, "a", 7), FILE_AT(50, "a", 10)}},
	{"a chmod does not begin a version",
	 " 3",
	 {FILE_AT(0, "a", 1), FILE_AT(9, "a", 1), FILE_AT(18, "a", 3),
	  FILE_AT(28, "a", 4)}},
	{"a clock that is set back",
	 " 1",
	 {FILE_AT(0, "a", 1),
	  {.kind = TIMELINE_ENTRY,
	   .time.sec = 6001,
	   .boot_ns = 1000000000,
	   .path = "a",
	   .mode = S_IFREG | 0644,
	   .size = 1,
	   .content = 2},
	  {.kind = TIMELINE_ENTRY,
	   .time.sec = 5000,
	   .boot_ns = 30000000000,
	   .path = "a",
	   .mode = S_IFREG | 0644,
	   .size = 1,
	   .content = 3}}},
};

static void parse_case(const struct timeline_record *records, size_t count,
		       struct timeline *ret)
{
	struct buf bytes = {0};
	size_t i;

	for (i = 0; i < count && records[i].kind; i++) {
		struct timeline_record r = records[i];

		r.number = i + 1;
		r.text = "";
		timeline_encode(&bytes, &r);
	}
	timeline_parse(ret, &bytes);
}

static void test_thinned(void **state)
{
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof(thin_cases) / sizeof(*thin_cases); i++) {
		const struct thin_case *t = &thin_cases[i];
		AUTO(timeline) struct timeline timeline = {0};
		auto_free bool *gone = NULL;
		AUTO(buf) struct buf text = {0};

		parse_case(t->records, 12, &timeline);
		gone = drop_thin(&timeline);
		for (k = 0; k < timeline.count; k++)
			if (gone[k])
				buf_printf(&text, " %zu", k + 1);
		if (strcmp(buf_text(&text), t->dropped) != 0)
			print_error("%s:%s\n", t->what, buf_text(&text));
		assert_string_equal(buf_text(&text), t->dropped);
	}
}

static void test_dropped_path(void **state)
{
	static const struct timeline_record records[] = {
		FILE_AT(0, "secret", 1),
		FILE_AT(1, "secret", 2),
		OTHER_AT(2, "secret", TIMELINE_NONE, 0),
		FILE_AT(2, "dir/moved", 2),
		FILE_AT(3, "dir/moved", 5),
		FILE_AT(4, "secret2", 6),
		FILE_AT(5, "secret/x", 7),
		EMPTY_AT(6, "dir/moved", 8),
		{.kind = TIMELINE_ENTRY,
		 .root = 1,
		 .path = "secret",
		 .mode = S_IFREG | 0644,
		 .size = 1,
		 .content = 9},
	};
	static const bool expected[] = {true,  true, false, false, true,
					false, true, false, false};
	bool gone[10] = {false};
	AUTO(timeline) struct timeline t = {0};

	(void)state;
	parse_case(records, sizeof(records) / sizeof(*records), &t);
	drop_path(&t, 0, "secret", gone);
	assert_memory_equal(gone, expected, sizeof(expected));
}

static int drop(struct contents *c, uint64_t number, const char *message,
		bool dry)
{
	const struct timeline *t = contents_timeline(c);
	auto_free bool *gone = mem_zalloc(t->count);
	struct err err;

	gone[contents_record(c, number) - t->items] = true;
	return drop_contents(c, gone, TIMELINE_GAP, "purged", message, dry,
			     &err);
}

/* Dropped from the spool and from the store, with the run's directory and
 * without, once. */
static void test_dropped(void **state)
{
	struct place *p = *state;
	struct contents *c = NULL;
	uint64_t first = put(p, "a", "one"), second, third;
	struct err err;
	size_t count;

	spool(p, first, "one");
	second = put(p, "a", "two");
	spool(p, second, "two");
	third = put(p, "a", "three");
	/* Opened before: the import is another process's. */
	ok(contents_open(&c, p->store, &p->lab.s, &err));
	ok(import_run(p->store, &p->lab.s, true, true, &err));
	/* Again in the spool: an import was killed before the removal. */
	spool(p, first, "one");
	assert_int_equal(drop(c, first, "", true), 1);
	assert_content(c, first, "one");
	assert_int_equal(drop(c, first, "", false), 1);
	assert_content(c, first, NULL);
	assert_content(c, second, "two");
	contents_close(&c);
	ok(contents_open(&c, p->store, &p->lab.s, &err));
	assert_content(c, first, NULL);
	assert_content(c, second, "two");
	count = contents_timeline(c)->count;
	assert_string_equal(contents_timeline(c)->items[count - 1].text,
			    "purged");
	assert_true(contents_timeline(c)->items[count - 1].content == first);
	assert_int_equal(drop(c, first, "", false), 0);
	contents_close(&c);
	ok(contents_open_stored(&c, p->store, p->lab.s.id, &err));
	assert_int_equal(contents_timeline(c)->count, count);
	assert_content(c, first, NULL);
	assert_content(c, third, "three");
	assert_int_equal(drop(c, second, "thinned", false), 1);
	contents_close(&c);
	ok(contents_open_stored(&c, p->store, p->lab.s.id, &err));
	assert_int_equal(contents_timeline(c)->count, count + 1);
	assert_content(c, second, NULL);
	assert_content(c, third, "three");
	contents_close(&c);
	/* The number of the snapshot is still that of the run's directory. */
	ok(import_run(p->store, &p->lab.s, true, true, &err));
	ok(contents_open(&c, p->store, &p->lab.s, &err));
	assert_content(c, third, "three");
	contents_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_spooled_and_standing,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_places_of_the_run, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_one_at_a_time, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_killed_imports, set_up,
						tear_down),
		cmocka_unit_test(test_thinned),
		cmocka_unit_test(test_dropped_path),
		cmocka_unit_test_setup_teardown(test_dropped, set_up,
						tear_down),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("contents", tests, NULL, NULL);
}
