#include "guard/cli/diffshow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"
#include "guard/cli/collapse_risks.h"
#include "guard/cli/output.h"
#include "guard/cli/jsonout.h"
#include "guard/cli/user_git.h"
#include "guard/change/resolve_run.h"
#include "guard/rules/risk.h"
#include "restore/git/textdiff.h"

static int by_kind(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return path_compare(x->path, y->path);
}

/* Terminal lines for a command: one with a complete script would hide the
 * result. */
#define COMMAND_LINES 3u
#define CUT_MARK "..."

void diffshow_head(const struct session *s, struct buf *to)
{
	AUTO(buf) struct buf command = {0};
	size_t columns = output_width() * COMMAND_LINES, len;

	buf_printf(to, "%srun %s%s  %s  started %s", output_style(STYLE_BOLD),
		   session_label(s), output_style(STYLE_NONE),
		   resolve_run_state_text(s), text_age(s->started));
	if (s->status >= 0)
		buf_printf(to, ", exit status %d", s->status);
	buf_add_char(to, '\n');
	buf_add_text(&command, "$ ");
	text_escape_name(&command, s->command ? s->command : "");
	len = command.len;
	if (columns > strlen(CUT_MARK) &&
	    text_width(buf_text(&command)) > columns)
		len = text_fit(buf_text(&command), columns - strlen(CUT_MARK));
	buf_add(to, buf_text(&command), len);
	if (len < command.len)
		buf_add_text(to, CUT_MARK);
	buf_add_text(to, "\nin ");
	text_escape_name(to, s->project);
	buf_add_text(to, ": ");
}

void diffshow_sort(struct change_list *list)
{
	VEC_SORT(list, by_kind);
}

/* --- texts --- */

static bool lacks_libgit;
static bool tool_failed;
static size_t uncompared; /* texts for which the worker failed */

bool diffshow_has_compared(void)
{
	struct err err;

	if (tool_failed)
		return false;
	if (uncompared) {
		output_pager_end();
		output_print("%s could not be compared: see 'cannot be "
			     "compared' in the list",
			     text_count(uncompared, "text"));
		return false;
	}
	if (!lacks_libgit || textdiff_available(&err) == 0)
		return true;
	/* The pager has the terminal. */
	output_pager_end();
	output_print("texts are not compared: %s", err.text);
	return false;
}

static bool is_text_change(const struct change *c)
{
	return c->kind != CHANGE_META &&
	       (S_ISREG(c->old.mode) || S_ISREG(c->now.mode));
}

static bool too_large(const struct change *c)
{
	return (S_ISREG(c->old.mode) && c->old.size > CHANGES_READ_MAX) ||
	       (S_ISREG(c->now.mode) && c->now.size > CHANGES_READ_MAX);
}

/* A change as a move to the same path. */
static struct change_move in_place(const struct change *c)
{
	return (struct change_move){
		.from = c->path,
		.to = c->path,
		.old = c->old,
		.now = c->now,
	};
}

static int read_sides(const struct change_move *m,
		      const struct changes_root *root, struct buf *old,
		      struct buf *now, struct err *err)
{
	if (S_ISREG(m->old.mode) &&
	    changes_read(root, m->from, m->old.mode, false, old, err) < 0)
		return -err->num;
	return S_ISREG(m->now.mode)
		       ? changes_read(root, m->to, m->now.mode, true, now, err)
		       : 0;
}

/* Paths are relative to the root, as patch(1) takes them, but those of the home
 * are as every other list has them. */
static void print_names(const struct change_move *m,
			const struct changes_root *root)
{
	AUTO(buf) struct buf from = {0}, to = {0};
	const char *bold = output_style(STYLE_BOLD);
	const char *none = output_style(STYLE_NONE);
	bool old = S_ISREG(m->old.mode), now = S_ISREG(m->now.mode);

	if (root->home) {
		text_escape_name(&from, root->prefix);
		text_escape_name(&to, root->prefix);
	}
	text_escape_name(&from, m->from);
	text_escape_name(&to, m->to);
	(void)printf("\n");
	if (m->percent)
		(void)printf("%ssimilarity index %u%%%s\n"
			     "%srename from %s%s\n%srename to %s%s\n",
			     bold, m->percent, none, bold, buf_text(&from),
			     none, bold, buf_text(&to), none);
	(void)printf("%s--- %s%s%s\n%s+++ %s%s%s\n", bold,
		     old && !root->home ? "a/" : "",
		     old ? buf_text(&from) : "(nothing)", none, bold,
		     now && !root->home ? "b/" : "",
		     now ? buf_text(&to) : "(nothing)", none);
}

/* The names are printed before the first line. */
struct text_printer {
	const struct change_move *m;
	const struct changes_root *root;
	bool has_names;
	struct difftext text;
};

static void print_names_once(struct text_printer *p)
{
	if (!p->has_names)
		print_names(p->m, p->root);
	p->has_names = true;
}

static int print_diff_line(void *arg, const struct textdiff_line *line)
{
	struct text_printer *p = arg;

	print_names_once(p);
	difftext_line(&p->text, line);
	return output_has_failed() ? -EPIPE : 0;
}

/* The first text is read while the others are made. */
static void flush_first_text(void)
{
	static bool flushed;

	if (!flushed)
		(void)fflush(stdout);
	flushed = true;
}

/* The view and the entry that the printed bytes are judged for. */
struct text_judge {
	struct view *view; /* NULL: they are not judged */
	struct view_entry *entry;
};

static void judge_text(const struct text_judge *j, const struct buf *old,
		       const struct buf *now)
{
	if (!j->view || j->entry->judged)
		return;
	view_judge_bytes(j->view, j->entry, old, now);
	j->entry->late = true;
}

static void open_in_tool(const struct change_move *m, const char *tool,
			 const struct buf *old, const struct buf *now)
{
	struct err err;

	if (user_git_difftool(tool, m->to, S_ISREG(m->old.mode) ? old : NULL,
			      S_ISREG(m->now.mode) ? now : NULL, &err) == 0)
		return;
	output_error(&err);
	tool_failed = true;
}

static bool has_ended(void)
{
	return tool_failed || output_has_failed();
}

static void print_text(const struct change_move *m,
		       const struct changes_root *root,
		       const struct diff_options *o,
		       const struct text_judge *judge)
{
	AUTO(buf) struct buf old = {0}, now = {0};
	struct text_printer p = {m, root, .text = {.layout = o->layout}};
	struct err err;
	int got;

	/* The names of a move are of interest in themselves. */
	if (m->percent)
		print_names_once(&p);
	if (read_sides(m, root, &old, &now, &err) < 0) {
		print_names_once(&p);
		(void)printf("cannot be read: %s\n", err.text);
		return;
	}
	if (o->layout == LAYOUT_TOOL) {
		print_names_once(&p);
		open_in_tool(m, o->tool, &old, &now);
		judge_text(judge, &old, &now);
		return;
	}
	got = textdiff(old.data, old.len, now.data, now.len, (int)o->context,
		       print_diff_line, &p, NULL, NULL, &err);
	difftext_end(&p.text);
	lacks_libgit |= got == -ENOPKG;
	if (got && got != -ENOPKG) {
		print_names_once(&p);
		uncompared += got < 0;
		if (got > 0)
			(void)printf("binary\n");
		else
			(void)printf("cannot be compared (%s); treated as "
				     "binary\n",
				     err.text);
	}
	flush_first_text();
	judge_text(judge, &old, &now);
}

static void print_link_target(const struct change *c,
			      const struct changes_root *root, bool now)
{
	uint32_t mode = now ? c->now.mode : c->old.mode;
	AUTO(buf) struct buf target = {0}, b = {0};
	struct err ignored;

	if (!S_ISLNK(mode))
		return;
	if (changes_read(root, c->path, mode, now, &target, &ignored) < 0)
		buf_add_char(&b, '?');
	else
		text_escape(&b, target.data, target.len, false);
	(void)printf("%s%c%s%s\n",
		     output_style(now ? STYLE_ADDED : STYLE_DELETED),
		     now ? '+' : '-', buf_text(&b), output_style(STYLE_NONE));
}

/* The difference of one change: files as hunks, symbolic links as their
 * targets; nothing for directories, deletions and the like. One line stands for
 * content that cannot be shown (binary, too large, unreadable). */
static void print_text_change(const struct change *c,
			      const struct changes_root *root,
			      const struct diff_options *o,
			      const struct text_judge *judge)
{
	const struct change_move m = in_place(c);

	if (c->kind == CHANGE_DELETED || c->kind == CHANGE_META)
		return;
	if (S_ISLNK(c->old.mode) || S_ISLNK(c->now.mode)) {
		AUTO(buf) struct buf name = {0};

		if (root->home)
			text_escape_name(&name, root->prefix);
		text_escape_name(&name, c->path);
		(void)printf("\n%slink %s%s\n", output_style(STYLE_BOLD),
			     buf_text(&name), output_style(STYLE_NONE));
		print_link_target(c, root, false);
		print_link_target(c, root, true);
	}
	if (is_text_change(c) && !too_large(c)) {
		print_text(&m, root, o, judge);
	} else if (is_text_change(c)) {
		print_names(&m, root);
		(void)printf("too large to show\n");
	}
}

struct line_counts {
	size_t added, removed;
	bool text; /* false: no text, or not read */
};

static void count_move_lines(const struct change_move *m,
			     const struct changes_root *root,
			     struct line_counts *ret)
{
	AUTO(buf) struct buf old = {0}, now = {0};
	struct err err;
	int got;

	*ret = (struct line_counts){0};
	if (read_sides(m, root, &old, &now, &err) < 0)
		return;
	got = textdiff(old.data, old.len, now.data, now.len, 0, NULL, NULL,
		       &ret->added, &ret->removed, &err);
	lacks_libgit |= got == -ENOPKG;
	if (got < 0 && got != -ENOPKG) {
		uncompared++;
		output_warn("%s cannot be compared (%s); treated as binary",
			    text_quote(m->to), err.text);
	}
	ret->text = got == 0;
}

/* The deletion in a move is shown, as the addition's text is with the move. */
static bool has_text(const struct view *v, size_t i)
{
	const struct change *c = v->items[i].change;

	return v->folds.of_entry[i] ? !fold_hides_text(v, i)
				    : !(c->flags & CHANGES_NOISE) &&
					      c->kind != CHANGE_ADDED &&
					      changes_is_moved(v->list, c);
}

void diffshow_texts(struct view *v, const struct diff_options *o, bool judge)
{
	struct text_judge judged = {.view = judge ? v : NULL}, none = {0};
	const struct change_list *list = v->list;
	AUTO(buf) struct buf heading = {0};
	enum change_kind kind;
	size_t hidden = 0, i;

	text_escape_name(&heading, v->prefix);
	if (heading.len && !v->home && list->count)
		(void)printf("\n%sIn %s%s\n", output_style(STYLE_BOLD),
			     buf_text(&heading), output_style(STYLE_NONE));

	for (i = 0; i < list->move_count && !has_ended(); i++)
		if (!list->moves[i].half && list->moves[i].percent < 100)
			print_text(&list->moves[i], v->root, o, &none);
	/* A deletion has no text. */
	for (kind = CHANGE_TYPE; kind <= CHANGE_ADDED; kind++)
		for (i = 0; i < v->count && !has_ended(); i++) {
			const struct change *c = v->items[i].change;

			if (c->kind != kind)
				continue;
			hidden += fold_hides_text(v, i) && is_text_change(c);
			judged.entry = &v->items[i];
			if (has_text(v, i))
				print_text_change(c, v->root, o, &judged);
		}
	if (hidden)
		(void)printf("\n%s of folded directories %s not shown (--full "
			     "shows all)\n",
			     text_count(hidden, "text"),
			     hidden == 1 ? "is" : "are");
}

static void add_line_counts(const struct line_counts *n, struct buf *to)
{
	buf_printf(to, "  %s+%zu%s %s-%zu%s", output_style(STYLE_ADDED),
		   n->added, output_style(STYLE_NONE),
		   output_style(STYLE_DELETED), n->removed,
		   output_style(STYLE_NONE));
}

static void stat_moves(const struct changes_root *g)
{
	const struct change_list *list = &g->list;
	size_t i;

	for (i = 0; i < list->move_count && !output_has_failed(); i++) {
		const struct change_move *m = &list->moves[i];
		struct line_counts n = {0};
		AUTO(buf) struct buf b = {0};

		if (m->half || m->with_dir)
			continue;
		changes_move_text(m, g->prefix, output_width(), &b);
		if (m->percent < 100)
			count_move_lines(m, g, &n);
		if (n.text)
			add_line_counts(&n, &b);
		(void)printf("R  %s\n", buf_text(&b));
	}
}

/* all: the texts are read anyway, for their counts; else only those that are
 * worth it by their names. */
static const char *risk_mark(struct view *v, const struct change *c, bool all)
{
	struct view_entry *e = v ? view_find(v, c->path) : NULL;

	if (!e)
		return "";
	if (all || view_is_suspect(v, e))
		view_judge(v, e);
	return view_level(e) == RISK_CRITICAL ? "!!"
	       : view_level(e) == RISK_HIGH   ? "!"
					      : "";
}

static void stat_change(const struct changes_root *g, struct view *view,
			const struct change *c)
{
	const struct change_move m = in_place(c);
	struct line_counts n = {0};
	AUTO(buf) struct buf b = {0};
	const char *mark;

	text_escape_name(&b, g->prefix);
	text_escape_name(&b, c->path);
	/* For a deleted file its lines. */
	if (is_text_change(c) && !too_large(c))
		count_move_lines(&m, g, &n);
	if (n.text)
		add_line_counts(&n, &b);
	else
		changes_detail(c, &b);
	mark = risk_mark(view, c, true);
	(void)printf("%c%s%s%s\n", changes_letter(c->kind), mark,
		     *mark ? " " : "  ", buf_text(&b));
}

/* The lines of its files are not counted. */
static void stat_fold(const struct changes_root *g, const struct fold *fold)
{
	AUTO(buf) struct buf b = {0};

	text_escape_name(&b, g->prefix);
	text_escape_name(&b, fold->dir);
	buf_add_text(&b, "/  ");
	fold_text(fold, &b);
	(void)printf("%c%s%s\n", fold_letter(fold), fold->lost ? "!! " : "  ",
		     buf_text(&b));
}

/* Each fold stands at its first entry. */
static void print_stat(const struct changes_root *g, struct view *view,
		       struct view *marks, bool full)
{
	const struct change_list *list = &g->list;
	auto_free bool *shown = NULL;
	bool moves = false;
	size_t i;

	fold_make(view, full);
	shown = mem_zalloc(view->folds.list.count + 1);
	for (i = 0; i < list->count && !output_has_failed(); i++) {
		const struct change *c = &list->items[i];
		const struct view_entry *e = view_find(view, c->path);
		const struct fold *fold =
			e ? fold_of(view, (size_t)(e - view->items)) : NULL;

		if (!moves && c->kind != CHANGE_DELETED) {
			moves = true;
			stat_moves(g);
		}
		if (changes_is_moved(list, c))
			continue;
		if (!fold || fold->kind == FOLD_NONE)
			stat_change(g, marks, c);
		else if (!shown[fold - view->folds.list.items])
			stat_fold(g, fold);
		if (fold)
			shown[fold - view->folds.list.items] = true;
	}
}

/* As git has it: R, how much is alike, both names. */
static void print_move_names(const struct changes_root *g)
{
	size_t i;

	for (i = 0; i < g->list.move_count; i++) {
		const struct change_move *m = &g->list.moves[i];
		AUTO(buf) struct buf from = {0}, to = {0};

		if (m->half)
			continue;
		text_escape_name(&from, g->prefix);
		text_escape_name(&from, m->from);
		text_escape_name(&to, g->prefix);
		text_escape_name(&to, m->to);
		(void)printf("R%03u\t%s\t%s\n", m->percent, buf_text(&from),
			     buf_text(&to));
	}
}

void diffshow_lines(const struct changes_root *g, struct view *view,
		    const struct diff_options *o)
{
	AUTO(view) struct view own = {0};
	enum diff_form form = o->form;
	size_t i;

	if (form == FORM_NAME_STATUS)
		print_move_names(g);

	if (form == FORM_STAT) {
		if (!view)
			view_of_changes(g, &own);
		print_stat(g, view ? view : &own, view, o->full);
		return;
	}
	for (i = 0; i < g->list.count; i++) {
		const struct change *c = &g->list.items[i];
		AUTO(buf) struct buf b = {0};

		if (form == FORM_RAW) {
			if (!o->only_names)
				(void)printf("%c%c", changes_letter(c->kind),
					     '\0');
			(void)printf("%s%s%c", g->prefix, c->path, '\0');
			continue;
		}
		if (form == FORM_NAME_STATUS && changes_is_moved(&g->list, c))
			continue;
		text_escape_name(&b, g->prefix);
		text_escape_name(&b, c->path);
		if (form == FORM_NAME_STATUS)
			(void)printf("%c%s\t", changes_letter(c->kind),
				     risk_mark(view, c, false));
		(void)printf("%s\n", buf_text(&b));
	}
}

void diffshow_json(const struct change_list *list, const char *key,
		   struct jsonstream *to)
{
	size_t i;

	jsonstream_open(to, key, '[');
	for (i = 0; i < list->count && !output_has_failed(); i++)
		jsonstream_put(to, NULL, jsonout_change(list, &list->items[i]));
	jsonstream_close(to, ']');
}

void diffshow_moves(const struct changes_root *g, const char *heading,
		    struct jsonstream *to)
{
	size_t i;

	for (i = 0; i < g->list.move_count; i++) {
		const struct change_move *m = &g->list.moves[i];
		json_t *object;

		if (m->half || m->with_dir)
			continue;
		object = jsonout_move(m);
		jsonout_bool(object, "home", g->home);
		jsonout_text(object, "folder", heading);
		jsonstream_put(to, NULL, object);
	}
}

json_t *diffshow_counts(const struct change_list *list)
{
	struct change_counts n;

	changes_count(list, &n);
	return jsonout_counts(&n);
}

/* --- risks --- */

/* The section, begun at its first line. */
struct first_look {
	const struct view *view;
	bool late; /* of the entries that were judged late */
	bool begun;
	struct fold_repeats repeats;
};

static void begin_first_look(struct first_look *l)
{
	AUTO(buf) struct buf where = {0};

	text_escape_name(&where, l->view->where);
	if (!l->begun)
		(void)printf("\n%s%s%s%s\n", output_style(STYLE_BOLD),
			     l->late ? "Look at these, too"
				     : "Look at these first",
			     buf_text(&where), output_style(STYLE_NONE));
	l->begun = true;
}

/* A reason has one line for a file, with its first place in it. False: that
 * line came before. */
static bool is_first_place(const struct risks *r, size_t at, size_t *ret_more)
{
	size_t more = 0, i;

	for (i = 0; i < r->count; i++) {
		if (i == at || strcmp(r->items[i].text, r->items[at].text) != 0)
			continue;
		if (i < at)
			return false;
		more += 1 + r->items[i].more;
	}
	*ret_more = more;
	return true;
}

static void look_at(struct first_look *l, const struct view_entry *e)
{
	static const struct risk lost[] = {
		{.level = RISK_CRITICAL,
		 .id = "no-copy",
		 .text = (char *)"has no other copy of its old content"},
		{.level = RISK_CRITICAL,
		 .id = "work-lost",
		 .text = (char *)"loses work that was never committed"},
	};
	const struct change *c = e->change;
	bool overwritten = view_is_lost(e) && c->now.mode;
	AUTO(buf) struct buf name = {0};
	size_t k, more = 0, lines = 0;

	for (k = 0; k < e->risks.count + overwritten; k++) {
		const struct risk *r = k < e->risks.count
					       ? &e->risks.items[k]
					       : &lost[e->loss == LOSS_WORK];
		struct risk shown = *r;

		if (r->level < RISK_HIGH ||
		    (k < e->risks.count &&
		     !is_first_place(&e->risks, k, &more)) ||
		    (r->level < RISK_CRITICAL &&
		     !fold_repeat_add(&l->repeats, r)))
			continue;
		begin_first_look(l);
		if (!lines) {
			text_escape_name(&name, l->view->prefix);
			text_escape_name(&name, c->path);
		}
		/* The new path of a move decides. */
		if (!lines++)
			(void)printf("  %c  %s\n",
				     c->kind != CHANGE_DELETED &&
						     changes_is_moved(
							     l->view->list, c)
					     ? 'R'
					     : changes_letter(c->kind),
				     buf_text(&name));
		shown.more += k < e->risks.count ? more : 0;
		collapse_risks_line(&shown, "     ", NULL);
	}
}

static void print_repeats(struct first_look *l, const struct fold_repeats *r)
{
	size_t i;

	for (i = 0; i < r->count; i++)
		if (r->items[i].more)
			begin_first_look(l);
	collapse_risks_print(r, "  ");
}

static void print_first_look(const struct view *v, bool late)
{
	struct first_look l = {.view = v, .late = late};
	size_t i;

	for (i = 0; i < v->count && !output_has_failed(); i++)
		if ((late || !fold_hides(v, i)) && v->items[i].late == late)
			look_at(&l, &v->items[i]);
	print_repeats(&l, &l.repeats);
	if (!late)
		print_repeats(&l, &v->folds.repeats);
	VEC_FREE(&l.repeats);
}

void diffshow_risks(const struct view *v)
{
	print_first_look(v, false);
}

void diffshow_risks_late(const struct view *v)
{
	print_first_look(v, true);
}

void diffshow_risks_json(const struct view *v, const char *dir,
			 struct jsonstream *to)
{
	size_t i, k;

	for (i = 0; i < v->count; i++) {
		const struct risks *r = &v->items[i].risks;

		for (k = 0; k < r->count; k++) {
			auto_free char *text = risk_sentence(&r->items[k]);
			json_t *object = json_object();

			jsonout_text(object, "path", v->items[i].change->path);
			jsonout_bool(object, "home", v->home);
			jsonout_text(object, "folder", dir);
			jsonout_text(object, "level",
				     risk_level_name(r->items[k].level));
			jsonout_text(object, "id", r->items[k].id);
			jsonout_text(object, "line", r->items[k].line);
			jsonout_number(object, "number", r->items[k].number);
			jsonout_text(object, "text", text);
			jsonstream_put(to, NULL, object);
		}
	}
}
