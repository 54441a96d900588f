/*
 * Checks every cell of the tables in docs/plan.md, with a test for each: the
 * change of the run (left) and the change of the user during the run (top) must
 * give exactly the plan in the cell.
 *
 * The document is the reference: a different cell fails, and so does a missing
 * row or column. After an intended change,
 *
 *	GUARD_WRITE_TABLES=1 build/tests/unit/test_plantable
 *
 * writes the tables again, when started in the root of the checkout. Review the
 * changed cells one by one.
 */
/* users: one */
#include "guard/parse/parse_worker.h"
#include "tests/unit/plantell.h"

#define DOCUMENT "docs/plan.md"
#define BYTES_MAX (1 << 20)

struct side {
	const struct state *states;
	size_t count;
};

struct subject {
	const char *name, *base;
	struct side run, user;
};

#define SIDE(list)                                                             \
	{                                                                      \
		.states = (list), .count = COUNT(list)                         \
	}

static const struct state file_run[] = {
	{"nothing", "f x=base|"},
	{"touched", "f @1x=base|"},
	{"edited", "f @1x=base|run|"},
	{"emptied", "f @1x"},
	{"other mode", "f [700]x=base|"},
	{"other attribute", "f +x=base|"},
	{"edited, other mode", "f [700]@1x=base|run|"},
	{"deleted", ""},
	{"made it a link", "l x=run"},
	{"made it a fifo", "p x"},
	{"made it a socket", "s x"},
	{"made it a directory", "d x\nf x/in=1"},
};
static const struct state file_user[] = {
	{"nothing", "f x=base|"},
	{"touched", "f @2x=base|"},
	{"edited elsewhere", "f @2x=user|base|"},
	{"edited the same place", "f @2x=base|user|"},
	{"made the same edit", "f @2x=base|run|"},
	{"other mode", "f [711]x=base|"},
	{"other attribute", "f +x=base|"},
	{"deleted", ""},
	{"made it a link", "l x=user"},
	{"made it a fifo", "p [600]x"},
	{"made it a directory", "d x\nf x/own=2"},
};

static const struct state link_run[] = {
	{"nothing", "l x=base"},       {"touched", "l @1x=base"},
	{"other target", "l x=run"},   {"deleted", ""},
	{"made it a file", "f x=run"}, {"made it a directory", "d x\nf x/in=1"},
};
static const struct state link_user[] = {
	{"nothing", "l x=base"},
	{"other target", "l x=user"},
	{"the same target", "l @2x=run"},
	{"deleted", ""},
	{"made it a file", "f x=user"},
	{"made it a directory", "d x\nf x/own=2"},
};

static const struct state added_run[] = {
	{"nothing", ""},
	{"a file", "f x=run|"},
	{"a link", "l x=run"},
	{"a fifo", "p x"},
	{"a socket", "s x"},
	{"a directory", "d x\nf x/in=1"},
	{"a set-id file", "f [4755]x=run|"},
};
static const struct state added_user[] = {
	{"nothing", ""},
	{"the same file", "f @9x=run|"},
	{"another file", "f x=user|"},
	{"same bytes, other mode", "f [755]x=run|"},
	{"same bytes, other attribute", "f +x=run|"},
	{"a link", "l x=user"},
	{"the same link", "l x=run"},
	{"a fifo", "p x"},
	{"a directory", "d x\nf x/own=2"},
	{"the same name in it", "d x\nf x/in=2|"},
	{"a directory of another mode", "d [700]x"},
};

#define FOLDER "d x\nf x/a=1|\nd x/s\nf x/s/b=2"
static const struct state folder_run[] = {
	{"touched", "d @1x\nf x/a=1|\nd x/s\nf x/s/b=2"},
	{"other mode", "d [700]x\nf x/a=1|\nd x/s\nf x/s/b=2"},
	{"other attribute", "d +x\nf x/a=1|\nd x/s\nf x/s/b=2"},
	{"added in it", FOLDER "\nf x/new=3"},
	{"added a directory in it", FOLDER "\nd x/n\nf x/n/new=3"},
	{"edited in it", "d x\nf @1x/a=1|run|\nd x/s\nf x/s/b=2"},
	{"deleted in it", "d x\nd x/s\nf x/s/b=2"},
	{"deleted", ""},
	{"made it a file", "f x=run"},
	{"made it a link", "l x=run"},
};
static const struct state folder_user[] = {
	{"nothing", FOLDER},
	{"touched", "d @2x\nf @2x/a=1|\nd x/s\nf x/s/b=2"},
	{"added in it", "d @2x\nf x/a=1|\nd x/s\nf x/s/b=2\nf x/u=4"},
	{"added deeper",
	 "d x\nf x/a=1|\nd @2x/s\nf x/s/b=2\nd x/s/u\nf x/s/u/v=5"},
	{"edited in it", "d x\nf @2x/a=user|\nd x/s\nf x/s/b=2"},
	{"mode in it", "d x\nf x/a=1|\nd x/s\nf [600]x/s/b=2"},
	{"a directory for a file in it",
	 "d x\nd x/a\nf x/a/u=9\nd x/s\nf x/s/b=2"},
	{"deleted in it", "d @2x\nd x/s\nf x/s/b=2"},
	{"other mode", "d [711]x\nf x/a=1|\nd x/s\nf x/s/b=2"},
	{"other attribute", "d +x\nf x/a=1|\nd x/s\nf x/s/b=2"},
	{"deleted", ""},
	{"made it a file", "f x=user"},
	{"made it a link", "l x=user"},
};

#define PAIR "f #7x=base|\nf #7y=base|"
static const struct state names_run[] = {
	/* A layer separates a hard link at the first write to it. */
	{"edited through x", "f #1x=base|run|\nf #7y=base|"},
	{"edited both", "f #1@1x=base|run|\nf #1@1y=base|run|"},
	{"other mode of both", "f #1[700]x=base|\nf #1[700]y=base|"},
	{"deleted x", "f #7y=base|"},
	{"deleted both", ""},
	{"a third hard link", "f #1x=base|\nf #7y=base|\nf #1z=base|"},
	{"no hard links any more", "f x=base|\nf y=base|"},
};
static const struct state names_user[] = {
	{"nothing", PAIR},
	{"edited both", "f #7@2x=user|base|\nf #7@2y=user|base|"},
	{"edited x alone", "f @2x=user|base|\nf y=base|"},
	{"no hard links any more", "f x=base|\nf y=base|"},
	{"deleted x", "f y=base|"},
	{"deleted both", ""},
};

static const struct state twins_run[] = {
	{"added X", "f x=base|\nf X=run|"},
	{"renamed x to X", "f X=base|"},
	{"edited x, added X", "f x=base|run|\nf X=run|"},
};
static const struct state twins_user[] = {
	{"nothing", "f x=base|"},
	{"edited x", "f @2x=user|"},
	{"renamed x to X", "f X=base|"},
	{"added X", "f x=base|\nf X=user|"},
};

#define ACL "system.posix_acl_access="
#define ATTRS "f {user.a=1,user.b=1}x=base|"
static const struct state attrs_run[] = {
	{"changed a", "f {user.a=run,user.b=1}x=base|"},
	{"removed a", "f {user.b=1}x=base|"},
	{"added c", "f {user.a=1,user.b=1,user.c=run}x=base|"},
	{"changed a, removed b, added c", "f {user.a=run,user.c=run}x=base|"},
	{"removed all", "f x=base|"},
	{"changed a, edited", "f @1{user.a=run,user.b=1}x=base|run|"},
	{"other mode", "f [600]{user.a=1,user.b=1}x=base|"},
	{"an ACL", "f {" ACL "run,user.a=1,user.b=1}x=base|"},
	{"an ACL, other mode", "f [664]{" ACL "run,user.a=1,user.b=1}x=base|"},
	{"a capability", "f ^{user.a=1,user.b=1}x=base|"},
};
static const struct state attrs_user[] = {
	{"changed a", "f {user.a=user,user.b=1}x=base|"},
	{"the same of a", "f {user.a=run,user.b=1}x=base|"},
	{"changed b", "f {user.a=1,user.b=user}x=base|"},
	{"removed a", "f {user.b=1}x=base|"},
	{"removed b", "f {user.a=1}x=base|"},
	{"added c", "f {user.a=1,user.b=1,user.c=user}x=base|"},
	{"added d", "f {user.a=1,user.b=1,user.d=user}x=base|"},
	{"removed all", "f x=base|"},
	{"other mode", "f [640]{user.a=1,user.b=1}x=base|"},
	{"another ACL", "f {" ACL "user,user.a=1,user.b=1}x=base|"},
	{"the same ACL", "f {" ACL "run,user.a=1,user.b=1}x=base|"},
	{"the user's capability", "f ^{user.a=1,user.b=1}x=base|"},
};

static const struct subject subjects[] = {
	{"file", "f x=base|", SIDE(file_run), SIDE(file_user)},
	{"link", "l x=base", SIDE(link_run), SIDE(link_user)},
	{"added", "", SIDE(added_run), SIDE(added_user)},
	{"directory", FOLDER, SIDE(folder_run), SIDE(folder_user)},
	{"names", PAIR, SIDE(names_run), SIDE(names_user)},
	{"case", "f x=base|", SIDE(twins_run), SIDE(twins_user)},
	{"attributes", ATTRS, SIDE(attrs_run), SIDE(attrs_user)},
};

static const char *const modes[] = {
	[RESOLVE_NOT] = "undo",	     [RESOLVE_MERGE] = "apply",
	[RESOLVE_OURS] = "ours",     [RESOLVE_THEIRS] = "theirs",
	[RESOLVE_MARKERS] = "merge",
};

struct cell {
	char *test; /* its name */
	const struct subject *of;
	enum plan_resolve resolve;
	const struct state *run, *user;
	char *should; /* NULL: it is not in the document */
};

static struct box *box;

/* --- a plan in the document's words --- */

static void say(struct buf *to, const char *between, const char *word,
		const char *path)
{
	buf_printf(to, "%s%s", to->len ? between : "", word);
	if (strcmp(path, "x") != 0)
		buf_printf(to, " `%s`", path);
}

static const char *step_word(const struct step *s)
{
	static const char *const plain[] = {"delete", "replace", "create",
					    "metadata"};
	static const char *const merged[] = {"", "merge", "", "merge metadata"};

	if (s->how == STEP_MARKED)
		return "markers";
	if (s->how == STEP_MERGED)
		return merged[s->kind];
	if (s->kind == STEP_META && entry_same_meta(&s->from, &s->to))
		return "time";
	return plain[s->kind];
}

static void say_list(struct buf *to, const char *prefix,
		     const struct conflict *list, size_t count)
{
	static const char *const words[] = {
		"both changed", "both added", "deleted now", "changed now",
		"added below",	"directory",  "parent",	     "moved",
		"incomplete",	"git",	      "special"};
	size_t i;

	for (i = 0; i < count; i++) {
		auto_free char *word =
			mem_printf("%s%s", prefix, words[list[i].kind]);

		say(to, "; ", word, list[i].path);
	}
}

static char *words_of(const struct plan *p)
{
	struct buf b = {0};
	size_t i;

	for (i = 0; i < p->steps.count; i++)
		say(&b, ", ", step_word(&p->steps.items[i]),
		    p->steps.items[i].path);
	say_list(&b, "stays: ", p->kept.items, p->kept.count);
	say_list(&b, "over: ", p->over.items, p->over.count);
	say_list(&b, "! ", p->conflicts.items, p->conflicts.count);
	for (i = 0; i < p->refusals.count; i++)
		say(&b, "; ", "refused", p->refusals.items[i].path);
	if (!b.len)
		buf_add_text(&b, p->already ? "(done)" : "-");
	(void)buf_text(&b);
	return buf_take_text(&b);
}

static void make_plan(const struct cell *c, struct plan *ret)
{
	struct plan_options options = {
		.resolve = c->resolve,
		.keep_added = c->resolve == RESOLVE_NOT,
		.refuse_special = c->resolve != RESOLVE_NOT,
		.our_label = "project",
		.their_label = "run",
	};
	/* The root's mtime is the user's and appears in no cell. */
	auto_free char *touched = mem_printf("d @3\n%s", c->user->tree);
	AUTO(entry) struct entry base = tree_of(box, c->of->base);
	AUTO(entry) struct entry want = tree_of(box, c->run->tree);
	AUTO(entry) struct entry now = tree_of(box, touched);
	struct err err;

	ok(plan_make(box->store, &base, &want, &now, &options, ret, &err));
}

/*
 * Holds for every cell: an entry of the user that the plan removes from its
 * path is listed as overwritten, or is equal to the entry in base.
 */
static bool goes(const struct step *s, const char *path)
{
	return s->kind == STEP_DELETE ? path_below(path, s->path)
				      : strcmp(path, s->path) == 0;
}

static bool named(const struct plan *p, const char *path)
{
	size_t i;

	for (i = 0; i < p->over.count; i++)
		if (path_below(path, p->over.items[i].path))
			return true;
	return false;
}

struct loss {
	const struct plan *plan;
	const struct entry *base;
};

static int each_own(void *arg, const char *path, const struct entry *e,
		    struct err *err)
{
	const struct loss *l = arg;
	AUTO(entry) struct entry base = {0};
	size_t i;

	if (tree_lookup(box->store, l->base, path, &base, err) < 0)
		return -err->num;
	if (base.mode && entry_same_content(e, &base) &&
	    entry_same_meta(e, &base))
		return 0;
	for (i = 0; i < l->plan->steps.count && !l->plan->conflicts.count;
	     i++) {
		const struct step *s = &l->plan->steps.items[i];
		bool put_together =
			s->how == STEP_MERGED || s->how == STEP_MARKED;

		if (!goes(s, path) || put_together || named(l->plan, path) ||
		    (s->kind == STEP_META && entry_same_meta(e, &s->to)))
			continue;
		fail_msg("the user's %s is lost", path);
	}
	return 0;
}

static void nothing_is_lost(const struct cell *c, const struct plan *p)
{
	auto_free char *lines = mem_strdup(c->user->tree);
	AUTO(entry) struct entry base = tree_of(box, c->of->base);
	AUTO(entry) struct entry now = tree_of(box, lines);
	struct loss l = {.plan = p, .base = &base};
	struct err err;

	ok(tree_each(box->store, &now, each_own, &l, &err));
}

static void cell_is_so(void **state)
{
	const struct cell *c = *state;
	AUTO(plan) struct plan plan = {0};
	auto_free char *is = NULL;

	make_plan(c, &plan);
	is = words_of(&plan);
	if (!c->should)
		fail_msg("not in " DOCUMENT ": %s", is);
	if (strcmp(is, c->should) != 0)
		fail_msg("is [%s], " DOCUMENT " says [%s]", is, c->should);
	nothing_is_lost(c, &plan);
}

/* --- the document --- */

static char *marker_of(const struct cell *c)
{
	return mem_printf("<!-- table: %s %s -->\n", c->of->name,
			  modes[c->resolve]);
}

/* The text of the n-th column (0: the row's name) of a row, to free. */
static char *column(const char *row, size_t n)
{
	const char *end;

	for (;; n--) {
		row += strcspn(row, "|\n");
		if (*row != '|')
			return NULL;
		row++;
		if (!n)
			break;
	}
	row += strspn(row, " ");
	end = row + strcspn(row, "|\n");
	if (*end != '|')
		return NULL;
	while (end > row && end[-1] == ' ')
		end--;
	return mem_strndup(row, (size_t)(end - row));
}

static const char *next_line(const char *at)
{
	at += strcspn(at, "\n");
	return *at ? at + 1 : at;
}

/* Returns the document's text of a cell, to free, or NULL. */
static char *look_up(const char *text, const struct cell *c)
{
	auto_free char *chunk_mac = marker_of(c);
	const char *head = strstr(text, chunk_mac), *row;
	size_t n;

	if (!head)
		return NULL;
	head += strlen(chunk_mac);
	for (n = 1;; n++) {
		auto_free char *name = column(head, n);

		if (!name)
			return NULL;
		if (strcmp(name, c->user->name) == 0)
			break;
	}
	for (row = next_line(next_line(head)); *row == '|';
	     row = next_line(row)) {
		auto_free char *name = column(row, 0);

		if (name && strcmp(name, c->run->name) == 0)
			return column(row, n);
	}
	return NULL;
}

static void write_table(const struct cell *c, struct buf *to)
{
	size_t r, u;

	buf_add_text(to, "|  |");
	for (u = 0; u < c->of->user.count; u++)
		buf_printf(to, " %s |", c->of->user.states[u].name);
	buf_add_text(to, "\n|--|");
	for (u = 0; u < c->of->user.count; u++)
		buf_add_text(to, "---|");
	for (r = 0; r < c->of->run.count; r++) {
		buf_printf(to, "\n| %s |", c->of->run.states[r].name);
		for (u = 0; u < c->of->user.count; u++) {
			struct cell one = {.of = c->of,
					   .resolve = c->resolve,
					   .run = &c->of->run.states[r],
					   .user = &c->of->user.states[u]};
			AUTO(plan) struct plan plan = {0};
			auto_free char *words = NULL;

			make_plan(&one, &plan);
			words = words_of(&plan);
			buf_printf(to, " %s |", words);
		}
	}
	buf_add_char(to, '\n');
}

/* Each table between its marker and the next empty line. */
static int write_document(const char *text)
{
	struct buf b = {0};
	size_t s, m;
	int got;
	int fd;

	buf_add_text(&b, text);
	for (s = 0; s < COUNT(subjects); s++)
		for (m = 0; m < COUNT(modes); m++) {
			struct cell c = {.of = &subjects[s],
					 .resolve = (enum plan_resolve)m};
			auto_free char *chunk_mac = marker_of(&c);
			auto_free char *whole = mem_strdup(buf_text(&b));
			const char *at = strstr(whole, chunk_mac), *end;

			if (!at)
				continue;
			at += strlen(chunk_mac);
			for (end = at; *end == '|'; end = next_line(end))
				;
			b.len = 0;
			buf_add(&b, whole, (size_t)(at - whole));
			write_table(&c, &b);
			buf_add_text(&b, end);
		}
	fd = open(DOCUMENT, O_WRONLY | O_TRUNC | O_CLOEXEC);
	got = fd < 0 ? -1 : fd_write(fd, b.data, b.len);
	(void)close(fd);
	buf_free(&b);
	return got < 0 ? 1 : 0;
}

/* --- --- */

static void add_cells(struct buf *to, const char *text, size_t s, size_t m)
{
	const struct subject *of = &subjects[s];
	size_t r, u;

	for (r = 0; r < of->run.count; r++)
		for (u = 0; u < of->user.count; u++) {
			struct cell c = {.of = of,
					 .resolve = (enum plan_resolve)m,
					 .run = &of->run.states[r],
					 .user = &of->user.states[u]};

			c.test = mem_printf("%s (%s): %s; meanwhile %s",
					    of->name, modes[m], c.run->name,
					    c.user->name);
			c.should = look_up(text, &c);
			buf_add(to, &c, sizeof(c));
		}
}

static int setup_all(void **state)
{
	void *made;
	int got = setup(&made);

	(void)state;
	box = made;
	return got;
}

static int teardown_all(void **state)
{
	void *made = box;

	(void)state;
	return teardown(&made);
}

int main(void)
{
	struct buf text = {0}, list = {0};
	struct CMUnitTest *tests;
	struct cell *cells;
	struct err err;
	size_t count, s, m, i;
	int got;

	if (fd_slurp_at(AT_FDCWD, DOCUMENT, BYTES_MAX, &text, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (s = 0; s < COUNT(subjects); s++)
		for (m = 0; m < COUNT(modes); m++)
			add_cells(&list, buf_text(&text), s, m);
	count = list.len / sizeof(*cells);
	cells = (struct cell *)(void *)list.data;
	tests = mem_zalloc(count * sizeof(*tests));
	for (i = 0; i < count; i++)
		tests[i] = (struct CMUnitTest){
			.name = cells[i].test,
			.test_func = cell_is_so,
			.initial_state = &cells[i],
		};
	parse_worker_install();
	if (getenv("GUARD_WRITE_TABLES")) {
		(void)setup_all(NULL);
		got = write_document(buf_text(&text));
		(void)teardown_all(NULL);
	} else {
		got = _cmocka_run_group_tests("every cell of " DOCUMENT, tests,
					      count, setup_all, teardown_all);
	}
	for (i = 0; i < count; i++) {
		free(cells[i].test);
		free(cells[i].should);
	}
	free(tests);
	buf_free(&list);
	buf_free(&text);
	return got;
}
