/* guard/timeline/moment.c: the state at random moments of a random timeline is
 * that of a model; texts of moments find the right record. */
/* users: one */
#include "tests/unit/overlay_lab.h"

#include <time.h>

#include "guard/timeline/contents.h"
#include "guard/timeline/moment.h"
#include "snapshot/store/content.h"
#include "snapshot/tree/catalog.h"
#include "snapshot/tree/tree.h"

/* Asserts a call that explains its failure in `err`. */
#define ok(call)                                                               \
	do {                                                                   \
		if ((call) < 0)                                                \
			lab_fail(&err);                                        \
	} while (0)

#define ROOTS 2
#define NAMES 4 /* names in each directory of three levels */
#define PATHS (NAMES + NAMES * NAMES + NAMES * NAMES * NAMES)
#define STEPS 1500
#define MOMENTS 1000
#define TEXT_MAX_LEN 24

/* A path of a tree or of a layer. */
struct node {
	char type; /* 'f', 'd', 'l'; of a layer also 'o': opaque, 'w': a
		      whiteout; 0: nothing */
	mode_t mode;
	uint64_t content; /* number of a record, for a layer's file */
	char text[TEXT_MAX_LEN]; /* content or target; "lost" */
};

struct world {
	struct lab lab;
	struct store *store;
	struct timeline_writer w;
	int spool;
	char *paths[PATHS]; /* parents first */
	struct node base[ROOTS][PATHS], layer[ROOTS][PATHS];
	/* The state after each step, and its last record. */
	char *states[STEPS][ROOTS];
	uint64_t records[STEPS];
};

static unsigned int seed = 20261128;

static unsigned int draw(unsigned int below)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % below;
}

static int parent_of(int at)
{
	return at < NAMES ? -1 : at / NAMES - 1;
}

static bool is_below(int at, int dir)
{
	while (at >= 0 && at != dir)
		at = parent_of(at);
	return at == dir;
}

/* The rules of overlayfs. */
static struct node find_node(const struct world *w, int root, int at)
{
	const struct node *n = &w->layer[root][at];
	int up = at;

	if (n->type)
		return n->type == 'w' ? (struct node){0} : *n;
	while ((up = parent_of(up)) >= 0)
		if (w->layer[root][up].type && w->layer[root][up].type != 'd')
			return (struct node){0};
	return w->base[root][at];
}

static bool is_dir(const struct node *n)
{
	return n->type == 'd' || n->type == 'o';
}

static void describe(struct buf *to, const char *path, char type, mode_t mode,
		     const char *text)
{
	buf_printf(to, "%s %c %o %s\n", path, type,
		   type == 'l' ? 0 : (unsigned int)mode, text);
}

/* --- steps --- */

static void record(struct world *w, int root, int at, enum timeline_kind kind)
{
	struct node *n = &w->layer[root][at];
	struct timeline_record r = {
		.kind = kind,
		.root = (size_t)root,
		.path = w->paths[at],
		.text = n->type == 'l' ? n->text : "",
		.mode = n->mode | (n->type == 'f'   ? S_IFREG
				   : n->type == 'l' ? S_IFLNK
				   : is_dir(n)	    ? S_IFDIR
						    : 0),
		.size = strlen(n->text),
		.uid = geteuid(),
		.gid = getegid(),
		.content = n->content,
	};

	(void)timeline_add(&w->w, &r);
	if (n->type == 'f')
		n->content = r.content;
}

static void set_node(struct world *w, int root, int at, char type, mode_t mode,
		     const char *text, uint64_t content)
{
	struct node *n = &w->layer[root][at];

	*n = (struct node){.type = type, .mode = mode, .content = content};
	(void)snprintf(n->text, sizeof(n->text), "%s", text);
	record(w, root, at,
	       type == 'w'   ? TIMELINE_GONE
	       : type == 'o' ? TIMELINE_OPAQUE
			     : TIMELINE_ENTRY);
}

/* A file with a new content: in the spool, unless it is lost. */
static void set_file(struct world *w, int root, int at, mode_t mode)
{
	char text[TEXT_MAX_LEN], name[32];

	(void)snprintf(text, sizeof(text), "text %u", draw(1u << 20));
	set_node(w, root, at, 'f', mode, text, 0);
	(void)snprintf(name, sizeof(name), "%llu",
		       (unsigned long long)w->layer[root][at].content);
	if (draw(12))
		assert_int_equal(lab_file(w->spool, name, text), 0);
	else
		(void)strcpy(w->layer[root][at].text, "lost");
}

/* Directories of the base that the layer lacks are copied up first. */
static bool copy_parents_up(struct world *w, int root, int at)
{
	int up = parent_of(at);
	struct node n;

	if (up < 0)
		return true;
	n = find_node(w, root, up);
	if (!is_dir(&n) || !copy_parents_up(w, root, up))
		return false;
	if (!w->layer[root][up].type)
		set_node(w, root, up, 'd', n.mode, "", 0);
	return true;
}

/* Whether the base would show at the path without an entry of the layer. */
static bool base_shows(const struct world *w, int root, int at)
{
	int up = at;

	while ((up = parent_of(up)) >= 0)
		if (w->layer[root][up].type && w->layer[root][up].type != 'd')
			return false;
	return w->base[root][at].type != 0;
}

static void make_dir(struct world *w, int root, int at, mode_t mode)
{
	set_node(w, root, at, w->layer[root][at].type == 'w' ? 'o' : 'd', mode,
		 "", 0);
}

static void delete_path(struct world *w, int root, int at)
{
	int i;

	for (i = PATHS; i-- > 0;)
		if (w->layer[root][i].type && is_below(i, at)) {
			w->layer[root][i] = (struct node){0};
			record(w, root, i, TIMELINE_NONE);
		}
	if (base_shows(w, root, at))
		set_node(w, root, at, 'w', 0, "", 0);
}

/* Copies a tree to a free path, by names of the same depth. */
static void rename_path(struct world *w, int root, int from, int to)
{
	struct node copy[PATHS];
	int map[PATHS], i;

	for (i = 0; i < PATHS; i++) {
		copy[i] = find_node(w, root, i);
		map[i] = i == from ? to : -1;
		if (i != from && parent_of(i) >= 0 && map[parent_of(i)] >= 0)
			map[i] = (map[parent_of(i)] + 1) * NAMES + i % NAMES;
	}
	for (i = 0; i < PATHS; i++) {
		if (map[i] < 0 || !copy[i].type)
			continue;
		if (is_dir(&copy[i]))
			set_node(w, root, map[i], 'o', copy[i].mode, "", 0);
		else if (copy[i].type == 'f' && !w->layer[root][i].type)
			set_file(w, root, map[i], copy[i].mode);
		else
			set_node(w, root, map[i], copy[i].type, copy[i].mode,
				 copy[i].text, copy[i].content);
	}
	delete_path(w, root, from);
}

static void do_step(struct world *w)
{
	static const mode_t modes[] = {0644, 0600, 0755, 0444};
	int root = (int)draw(ROOTS), at = (int)draw(PATHS), to;
	struct node n = find_node(w, root, at), other;
	mode_t mode = modes[draw(4)];
	unsigned int what = draw(10);

	if (!copy_parents_up(w, root, at))
		return;
	if (!n.type && what < 4) {
		make_dir(w, root, at, mode | 0700);
	} else if (!n.type) {
		if (what < 9)
			set_file(w, root, at, mode);
		else
			set_node(w, root, at, 'l', 0777, "target", 0);
	} else if (what < 2) {
		delete_path(w, root, at);
	} else if (what < 4 && n.type != 'l') {
		/* chmod: a copy of the base's file has a new content. */
		if (n.type == 'f' && !w->layer[root][at].type)
			set_file(w, root, at, mode);
		else
			set_node(w, root, at, n.type,
				 is_dir(&n) ? mode | 0700 : mode, n.text,
				 n.content);
	} else if (what < 7) {
		/* To another name in the same directory, or beside it. */
		to = at / NAMES * NAMES + (int)draw(NAMES);
		other = find_node(w, root, to);
		if (!other.type && to != at)
			rename_path(w, root, at, to);
	} else if (n.type == 'f') {
		set_file(w, root, at, n.mode);
	} else if (what == 9 && is_dir(&n)) {
		/* rm -r, then a new directory of the name. */
		delete_path(w, root, at);
		make_dir(w, root, at, mode | 0700);
	}
}

/* --- the world --- */

static char *state_text(const struct world *w, int root)
{
	struct buf b = {0};
	int i;

	for (i = 0; i < PATHS; i++) {
		struct node n = find_node(w, root, i);

		if (n.type)
			describe(&b, w->paths[i], is_dir(&n) ? 'd' : n.type,
				 n.mode, n.text);
	}
	return buf_take_text(&b);
}

static void store_base(struct world *w, int root)
{
	struct entry top = {.name = mem_strdup(""), .mode = S_IFDIR | 0755};
	AUTO(snapshot)
	struct snapshot s = {
		.reason = mem_strdup("pre-run"),
		.run_id = mem_strdup(w->lab.s.id),
		.command = mem_strdup(""),
		.message = mem_strdup(""),
		.root_path = mem_strdup(w->lab.s.roots[root].path),
	};
	struct tree_editor *editor = tree_editor_new(w->store, &top);
	struct err err;
	int i;

	for (i = 0; i < PATHS; i++) {
		struct node *n = &w->base[root][i];
		int up = parent_of(i);
		struct entry e = {0};

		if ((up >= 0 && w->base[root][up].type != 'd') || !draw(3))
			continue;
		n->type = draw(2) || i >= PATHS - NAMES * NAMES * NAMES ? 'f'
									: 'd';
		n->mode = n->type == 'd' ? 0755 : 0644;
		e.mode = n->mode | (n->type == 'd' ? S_IFDIR : S_IFREG);
		if (n->type == 'f') {
			(void)snprintf(n->text, sizeof(n->text), "base %d", i);
			e.size = strlen(n->text);
			ok(store_put(w->store, OBJECT_DATA, n->text, e.size,
				     &e.content, &err));
			ok(tree_editor_put(editor, w->paths[i], &e, &err));
		} else {
			ok(tree_editor_put_dir(editor, w->paths[i], &e, &err));
		}
	}
	ok(tree_editor_end(&editor, 0, &top, &err));
	entry_copy(&s.root, &top);
	entry_free(&top);
	ok(catalog_add(w->store, &s, &err));
	w->lab.s.roots[root].base = s.seq;
}

static int set_up(void **state)
{
	struct world *w = mem_zalloc(sizeof(*w));
	auto_free char *store = NULL, *side = NULL;
	auto_close int side_fd = -1;
	struct err err;
	int i, root;

	lab_open(&w->lab, "project");
	side_fd = lab_mkdir(w->lab.root_fd, "side");
	side = mem_printf("%s/side", w->lab.root);
	ok(session_add_root(&w->lab.s, side, side_fd, &err));
	store = mem_printf("%s/store", w->lab.root);
	ok(store_open(&w->store, store, STORE_WRITE, &err));
	ok(timeline_open(&w->w, w->lab.s.fd, &err));
	w->spool = fd_open_dir(w->lab.s.fd, TIMELINE_SPOOL);
	for (i = 0; i < PATHS; i++) {
		int up = parent_of(i);

		w->paths[i] = mem_printf("%s%s%c", up < 0 ? "" : w->paths[up],
					 up < 0 ? "" : "/", 'a' + i % NAMES);
	}
	for (root = 0; root < ROOTS; root++)
		store_base(w, root);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;
	int i, root;

	for (i = 0; i < PATHS; i++)
		free(w->paths[i]);
	for (i = 0; i < STEPS; i++)
		for (root = 0; root < ROOTS; root++)
			free(w->states[i][root]);
	(void)close(w->spool);
	timeline_close(&w->w);
	store_free(&w->store);
	lab_close(&w->lab);
	free(w);
	return 0;
}

/* --- random moments --- */

struct flattening {
	struct store *store;
	char *lines[PATHS]; /* by path */
	char *const *paths;
};

static int add_entry(void *arg, const char *path, const struct entry *e,
		     struct err *err)
{
	struct flattening *f = arg;
	AUTO(buf) struct buf bytes = {0}, line = {0};
	int i;

	if (!*path)
		return 0;
	if (S_ISREG(e->mode) && e->size && !(e->flags & ENTRY_INCOMPLETE) &&
	    content_append(f->store, &e->content, &bytes, err) < 0)
		return -err->num;
	describe(&line, path,
		 S_ISDIR(e->mode)   ? 'd'
		 : S_ISLNK(e->mode) ? 'l'
				    : 'f',
		 e->mode & 07777,
		 e->flags & ENTRY_INCOMPLETE ? "lost"
		 : S_ISLNK(e->mode)	     ? e->link
					     : buf_text(&bytes));
	for (i = 0; strcmp(f->paths[i], path) != 0; i++)
		assert_true(i + 1 < PATHS);
	f->lines[i] = buf_take_text(&line);
	return 0;
}

static void test_random_moments(void **state)
{
	struct world *w = *state;
	struct contents *c = NULL;
	struct err err;
	int i, k, root;

	for (i = 0; i < STEPS; i++) {
		do_step(w);
		w->records[i] = w->w.next - 1;
		for (root = 0; root < ROOTS; root++)
			w->states[i][root] = state_text(w, root);
	}
	ok(timeline_flush(&w->w, &err));
	ok(contents_open(&c, w->store, &w->lab.s, &err));
	for (i = 0; i < MOMENTS; i++) {
		int step = (int)draw(STEPS);
		AUTO(moment_losses) struct moment_losses lost = {0};
		AUTO(entry) struct entry tree = {0};
		AUTO(buf) struct buf text = {0};
		struct flattening f = {.store = w->store, .paths = w->paths};
		size_t expected = 0;
		const char *at;

		root = (int)draw(ROOTS);
		ok(moment_state(w->store, c, (size_t)root, w->records[step],
				&tree, &lost, &err));
		ok(tree_each(w->store, &tree, add_entry, &f, &err));
		for (k = 0; k < PATHS; k++) {
			if (f.lines[k])
				buf_add_text(&text, f.lines[k]);
			free(f.lines[k]);
		}
		assert_string_equal(buf_text(&text), w->states[step][root]);
		at = w->states[step][root];
		while ((at = strstr(at, " lost\n"))) {
			expected++;
			at++;
		}
		assert_int_equal(lost.count, expected);
	}
	contents_close(&c);
}

/* --- texts --- */

#define SECOND INT64_C(1000000000)

/* Two boots, and a clock that was set back by an hour in the first of them. */
static void make_times(struct timeline *t)
{
	static const struct {
		int64_t time, boot;
		enum timeline_kind kind;
		const char *text;
	} all[] = {
		{1000, 500, TIMELINE_BEGIN, "one"},
		{1010, 510, TIMELINE_MARK, "first"},
		{9000, 8500, TIMELINE_ENTRY, ""},
		{5500, 8600, TIMELINE_MARK, "again"},
		{5510, 8610, TIMELINE_MARK, "01:33:20"},
		{5520, 8620, TIMELINE_MARK, "1970-01-01T05:33:40.000"},
		{5530, 8630, TIMELINE_MARK, "end:a:b"},
		{5540, 8640, TIMELINE_MARK, "prompt: fix it"},
		{5550, 8650, TIMELINE_MARK, "prompt: fix it: now"},
		{5560, 8660, TIMELINE_MARK, "tab\\there"},
		{5600, 8700, TIMELINE_MARK, "again and more"},
		{20000, 10, TIMELINE_BEGIN, "two"},
		{20010, 20, TIMELINE_MARK, "before-rewind"},
		{20020, 30, TIMELINE_MARK, "before-rewind"},
		/* Set forward by a day: the clock of the boot counts. */
		{106430, 40, TIMELINE_END, ""},
	};
	AUTO(buf) struct buf bytes = {0};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct timeline_record r = {
			.number = i + 1,
			.kind = all[i].kind,
			.time = {.sec = all[i].time},
			.boot_ns = all[i].boot * SECOND,
			.path = "",
			.text = all[i].text,
		};

		timeline_encode(&bytes, &r);
	}
	timeline_parse(t, &bytes);
}

static void test_texts(void **state)
{
	static const struct {
		const char *when;
		uint64_t record;
		int error;
	} all[] = {
		{"start", 0, 0},
		{"end", 15, 0},
		{"now", 15, 0},
		/* Marks with the text of a time. */
		{"01:33:20", 5, 0},
		{"1970-01-01T05:33:40.000", 14, 0},
		{"prompt: fix it", 8, 0},
		{"prompt: fix it:", 9, 0},
		{"prompt", 0, EEXIST},
		{"tab\there", 10, 0},
		{"first", 2, 0},
		{"fir", 2, 0},
		{"again", 4, 0},
		{"again and", 11, 0},
		{"aga", 0, EEXIST},
		{"before-rewind", 14, 0},
		{"before", 0, EEXIST},
		{"", 0, EDOM},
		{"first ", 0, EDOM},
		{"12", 0, EDOM},
		{"latest", 0, EDOM},
		{"-10s", 14, 0},
		{"-9.5s", 14, 0},
		{"-10.000000001s", 13, 0},
		{"-0.5m", 12, 0},
		{"-.5s", 0, EDOM},
		{"-1.s", 0, EDOM},
		{"-5s", 14, 0},
		{"-20s", 13, 0},
		{"-1m", 11, 0},
		{"-2d", 0, ERANGE},
		{"1970-01-01 00:15", 0, ERANGE},
		{"1970-01-01 00:16", 2, 0},
		{"1970-01-01T00:16:49", 1, 0},
		{"1970-01-01 00:16:50", 2, 0},
		/* This time was once before and once after the change. */
		{"1970-01-01 01:33:19.9", 10, 0},
		{"1970-01-01 01:31:39", 2, 0},
		{"1970-01-01 02:30", 11, 0},
		{"1970-01-01 05:33:30", 13, 0},
		{"1970-01-01 05:33:39.99", 13, 0},
		{"1970-01-01 05:33:40", 14, 0},
		{"1970-01-02 05:33:50", 15, 0},
		{"1970-01-02 05:34", 0, ERANGE},
		{"1970-01-02", 15, 0},
		{"1970-01-03", 0, ERANGE},
		{"05:33:50", 15, 0},
		{"05:33", 15, 0},
		{"05:34", 14, 0},
		{"25:00", 0, EDOM},
	};
	static const struct {
		const char *text;
		size_t len; /* without the path */
	} splits[] = {
		{"first", 5},
		{"first:a:b", 5},
		{"first:", 5},
		{"prompt: fix it:src/a.c", 14},
		{"prompt: fix it: now:a", 19},
		{"prompt: fix it: no:a", 18},
		{"prompt:a", 6},
		{"01:33:19:a", 8},
		{"01:33:a", 5},
		{"1970-01-01 02:30:10:a", 19},
		{"25:00:a", 2},
		{"02:30:a", 5}, /* not in the time of the run */
		{"nomark:a:b", 6},
		{"tab\there:a", 8},
		{"end:a:b", 3},
		{"end:a", 3}, /* though marks begin with these */
		{"01:33:a", 5},
		{"-0.5s:a", 5},
	};
	AUTO(timeline) struct timeline t = {0}, none = {0};
	struct err err;
	size_t i;

	(void)state;
	(void)setenv("TZ", "UTC", true);
	tzset();
	make_times(&t);
	assert_int_equal(t.count, 15);
	for (i = 0; i < sizeof(all) / sizeof(*all); i++) {
		AUTO(moment) struct moment m = {.record = 99};
		int got = moment_find(&t, "r", false, all[i].when, &m, &err);

		if (got != -all[i].error ||
		    (got == 0 && m.record != all[i].record)) {
			print_error("%s: %d, record %d\n", all[i].when, got,
				    (int)m.record);
			assert_true(false);
		}
	}
	for (i = 0; i < sizeof(splits) / sizeof(*splits); i++)
		assert_int_equal(moment_len(&t, false, splits[i].text),
				 splits[i].len);
	assert_int_equal(moment_find(&none, "r", false, "start", NULL, &err),
			 -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_random_moments, set_up,
						tear_down),
		cmocka_unit_test(test_texts),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("moment", tests, NULL, NULL);
}
