#include "guard/cli/diffshow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"
#include "guard/cli/jsonout.h"
#include "guard/cli/user_git.h"
#include "guard/change/resolve_run.h"
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

void diffshow_start(const struct diff_options *o)
{
	if (!o->no_pager && o->form <= FORM_STAT)
		output_pager_start("diff");
}

void diffshow_head(const struct session *s, struct buf *to)
{
	AUTO(buf) struct buf command = {0};
	size_t columns = output_width() * COMMAND_LINES, len;

	buf_printf(to, BOLD "run %s" PLAIN "  %s  started %s", session_label(s),
		   resolve_run_state_text(s), text_age(s->started));
	if (s->status >= 0)
		buf_printf(to, ", exit status %d", s->status);
	buf_add_char(to, '\n');
	buf_add_text(&command, "$ ");
	text_escape_name(&command, s->command ?: "");
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

/* The printer of the texts of a root. */
struct text_printer {
	struct view *view;
	const struct diff_options *o;
	bool judge; /* the printed bytes are judged */
	struct difftext text;
	const struct change_move *m; /* the text's */
	bool has_names; /* the names were printed */
};

/* Before the first line of a text. Paths are relative to the root, as patch(1)
 * takes them, but those of the home are as every other list has them. */
static void print_names(struct text_printer *p)
{
	const struct change_move *m = p->m;
	bool home = p->view->home;
	const char *prefix = home ? p->view->prefix : "";
	bool old = S_ISREG(m->old.mode), now = S_ISREG(m->now.mode);
	AUTO(buf) struct buf from = {0}, to = {0};

	if (p->has_names)
		return;
	p->has_names = true;
	styled_name(&from, prefix, m->from);
	styled_name(&to, prefix, m->to);
	styled_line(p->text.to, LINE_FILE, "%s", buf_text(&to));
	if (m->percent)
		styled_line(p->text.to, LINE_TEXT,
			    BOLD "similarity index %u%%" PLAIN "\n" BOLD
				 "rename from %s" PLAIN "\n" BOLD
				 "rename to %s" PLAIN,
			    m->percent, buf_text(&from), buf_text(&to));
	styled_line(
		p->text.to, LINE_TEXT,
		BOLD "--- %s%s" PLAIN "\n" BOLD "+++ %s%s" PLAIN,
		old && !home ? "a/" : "", old ? buf_text(&from) : "(nothing)",
		now && !home ? "b/" : "", now ? buf_text(&to) : "(nothing)");
}

static int print_diff_line(void *arg, const struct textdiff_line *line)
{
	struct text_printer *p = arg;

	print_names(p);
	difftext_line(&p->text, line);
	return p->text.to->full ? -EPIPE : 0;
}

/* Instead of a text. */
static void print_remark(struct text_printer *p, const char *remark)
{
	print_names(p);
	styled_text(p->text.to, '\\', remark, strlen(remark), NULL);
}

/* The first text is read while the others are made. */
static void flush_first_text(void)
{
	static bool flushed;

	if (!flushed)
		(void)fflush(stdout);
	flushed = true;
}

static void judge_text(const struct text_printer *p, struct view_entry *e,
		       const struct buf *old, const struct buf *now)
{
	if (!p->judge || !e || e->judged)
		return;
	view_judge_bytes(p->view, e, old, now);
	e->late = true;
}

static void open_in_tool(struct text_printer *p, const struct buf *old,
			 const struct buf *now)
{
	const struct change_move *m = p->m;
	struct err err;

	print_names(p);
	if (user_git_difftool(p->o->tool, m->to,
			      S_ISREG(m->old.mode) ? old : NULL,
			      S_ISREG(m->now.mode) ? now : NULL, &err) == 0)
		return;
	output_error(&err);
	tool_failed = true;
}

static void compare_text(struct text_printer *p, const struct buf *old,
			 const struct buf *now)
{
	auto_free char *failed = NULL;
	struct err err;
	int got = textdiff(old->data, old->len, now->data, now->len,
			   (int)p->o->context, print_diff_line, p, NULL, NULL,
			   &err);

	difftext_end(&p->text);
	lacks_libgit |= got == -ENOPKG;
	if (got > 0)
		print_remark(p, "binary");
	if (got >= 0 || got == -ENOPKG || p->text.to->full)
		return;
	uncompared++;
	failed = mem_printf("cannot be compared (%s); treated as binary",
			    err.text);
	print_remark(p, failed);
}

/* e: of the change whose text it is, or NULL. */
static void print_text(struct text_printer *p, const struct change_move *m,
		       struct view_entry *e)
{
	AUTO(buf) struct buf old = {0}, now = {0};
	struct err err;

	p->m = m;
	p->has_names = false;
	p->text.last = 0;
	/* The names of a move are of interest in themselves. */
	if (m->percent)
		print_names(p);
	if (read_sides(m, p->view->root, &old, &now, &err) < 0) {
		auto_free char *text =
			mem_printf("cannot be read: %s", err.text);

		print_remark(p, text);
		return;
	}
	if (p->o->layout == LAYOUT_TOOL)
		open_in_tool(p, &old, &now);
	else
		compare_text(p, &old, &now);
	flush_first_text();
	judge_text(p, e, &old, &now);
}

static void print_link_target(struct text_printer *p, const struct change *c,
			      bool now)
{
	uint32_t mode = now ? c->now.mode : c->old.mode;
	AUTO(buf) struct buf target = {0};
	struct err ignored;

	if (!S_ISLNK(mode))
		return;
	if (changes_read(p->view->root, c->path, mode, now, &target, &ignored) <
	    0)
		buf_add_char(&target, '?');
	styled_target(p->text.to, now ? '+' : '-', buf_text(&target),
		      target.len);
}

/* The difference of one change: files as hunks, symbolic links as their
 * targets; nothing for directories, deletions and the like. One line stands for
 * content that cannot be shown (binary, too large, unreadable). */
static void print_text_change(struct text_printer *p, struct view_entry *e)
{
	const struct change *c = e->change;
	const struct change_move m = in_place(c);

	if (c->kind == CHANGE_DELETED || c->kind == CHANGE_META)
		return;
	if (S_ISLNK(c->old.mode) || S_ISLNK(c->now.mode)) {
		AUTO(buf) struct buf name = {0};

		styled_name(&name, p->view->home ? p->view->prefix : "",
			    c->path);
		styled_line(p->text.to, LINE_FILE, "%s", buf_text(&name));
		styled_line(p->text.to, LINE_TEXT, BOLD "link %s" PLAIN,
			    buf_text(&name));
		print_link_target(p, c, false);
		print_link_target(p, c, true);
	}
	if (is_text_change(c) && !too_large(c)) {
		print_text(p, &m, e);
	} else if (is_text_change(c)) {
		p->m = &m;
		p->has_names = false;
		print_remark(p, "too large to show");
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

	return v->folds.of_entry[i] ? !fold_hides_text(v, i) &&
					      !(c->flags & CHANGES_CHECKOUT)
				    : !(c->flags & CHANGES_NOISE) &&
					      c->kind != CHANGE_ADDED &&
					      changes_is_moved(v->list, c);
}

void diffshow_texts(struct view *v, const struct diff_options *o, bool judge,
		    struct styled *to)
{
	struct text_printer p = {
		.view = v,
		.o = o,
		.judge = judge,
		.text = {.layout = o->layout, .to = to},
	};
	const struct change_list *list = v->list;
	enum change_kind kind;
	size_t hidden = 0, left = 0, i;

	if (*v->prefix && !v->home && list->count) {
		AUTO(buf) struct buf heading = {0};

		styled_name(&heading, "", v->prefix);
		styled_line(to, LINE_PLAIN, "\n" BOLD "In %s" PLAIN,
			    buf_text(&heading));
	}
	for (i = 0; i < list->move_count && !tool_failed && !to->full; i++)
		if (!list->moves[i].half && list->moves[i].percent < 100)
			print_text(&p, &list->moves[i], NULL);
	/* A deletion has no text. */
	for (kind = CHANGE_TYPE; kind <= CHANGE_ADDED; kind++)
		for (i = 0; i < v->count && !tool_failed; i++) {
			const struct change *c = v->items[i].change;

			if (c->kind != kind)
				continue;
			hidden += fold_hides_text(v, i) && is_text_change(c);
			left += to->full && has_text(v, i) && is_text_change(c);
			if (!to->full && has_text(v, i))
				print_text_change(&p, &v->items[i]);
		}
	if (hidden)
		styled_line(to, LINE_PLAIN,
			    "\n%s of folded directories %s not shown (--full "
			    "shows all)",
			    text_count(hidden, "text"),
			    hidden == 1 ? "is" : "are");
	if (left)
		styled_line(to, LINE_PLAIN,
			    "\n%s left out: guard diff shows all",
			    text_count(left, "more text"));
}

static void add_line_counts(const struct line_counts *n, struct buf *to)
{
	buf_printf(to, "  " ADDED "+%zu" PLAIN " " DELETED "-%zu" PLAIN,
		   n->added, n->removed);
}

static void stat_moves(const struct changes_root *g, struct styled *to)
{
	const struct change_list *list = &g->list;
	size_t i;

	for (i = 0; i < list->move_count && !to->full; i++) {
		const struct change_move *m = &list->moves[i];
		struct line_counts n = {0};
		AUTO(buf) struct buf b = {0};

		if (m->half || m->with_dir)
			continue;
		changes_move_text(m, g->prefix, to->width, &b);
		if (m->percent < 100)
			count_move_lines(m, g, &n);
		if (n.text)
			add_line_counts(&n, &b);
		styled_line(to, LINE_ROW, "R  %s", buf_text(&b));
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
			const struct change *c, struct styled *to)
{
	const struct change_move m = in_place(c);
	struct line_counts n = {0};
	AUTO(buf) struct buf b = {0};
	const char *mark;

	styled_name(&b, g->prefix, c->path);
	/* For a deleted file its lines. */
	if (is_text_change(c) && !too_large(c))
		count_move_lines(&m, g, &n);
	if (n.text)
		add_line_counts(&n, &b);
	else
		changes_detail(c, &b);
	mark = risk_mark(view, c, true);
	styled_line(to, LINE_ROW, "%c%s%s%s", changes_letter(c->kind), mark,
		    *mark ? " " : "  ", buf_text(&b));
}

/* The lines of its files are not counted. */
static void stat_fold(const struct changes_root *g, const struct fold *fold,
		      struct styled *to)
{
	AUTO(buf) struct buf b = {0};

	styled_name(&b, g->prefix, fold->dir);
	buf_add_text(&b, "/  ");
	fold_text(fold, &b);
	styled_line(to, LINE_ROW, "%c%s%s", fold_letter(fold),
		    fold->lost ? "!! " : "  ", buf_text(&b));
}

/* Each fold stands at its first entry. */
static void print_stat(const struct changes_root *g, struct view *view,
		       struct view *marks, bool full, struct styled *to)
{
	const struct change_list *list = &g->list;
	auto_free bool *shown = NULL;
	bool moves = false;
	size_t i;

	fold_make(view, full);
	shown = mem_zalloc(view->folds.list.count + 1);
	for (i = 0; i < list->count && !to->full; i++) {
		const struct change *c = &list->items[i];
		const struct view_entry *e = view_find(view, c->path);
		const struct fold *fold =
			e ? fold_of(view, (size_t)(e - view->items)) : NULL;

		if (!moves && c->kind != CHANGE_DELETED) {
			moves = true;
			stat_moves(g, to);
		}
		if (changes_is_moved(list, c) ||
		    (!fold && c->flags & CHANGES_WORKTREE))
			continue;
		if (!fold || fold->kind == FOLD_NONE)
			stat_change(g, marks, c, to);
		else if (!shown[fold - view->folds.list.items])
			stat_fold(g, fold, to);
		if (fold)
			shown[fold - view->folds.list.items] = true;
	}
}

/* As git has it: R, how much is alike, both names. */
static void print_move_names(const struct changes_root *g, struct styled *to)
{
	size_t i;

	for (i = 0; i < g->list.move_count; i++) {
		const struct change_move *m = &g->list.moves[i];
		AUTO(buf) struct buf b = {0};

		if (m->half)
			continue;
		buf_printf(&b, "R%03u\t", m->percent);
		styled_name(&b, g->prefix, m->from);
		buf_add_char(&b, '\t');
		styled_name(&b, g->prefix, m->to);
		styled_line(to, LINE_ROW, "%s", buf_text(&b));
	}
}

void diffshow_lines(const struct changes_root *g, struct view *view,
		    const struct diff_options *o)
{
	struct styled *to = styled_out();
	AUTO(view) struct view own = {0};
	enum diff_form form = o->form;
	size_t i;

	if (form == FORM_NAME_STATUS)
		print_move_names(g, to);

	if (form == FORM_STAT) {
		if (!view)
			view_of_changes(g, &own);
		print_stat(g, view ?: &own, view, o->full, to);
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
		if (form == FORM_NAME_STATUS)
			buf_printf(&b, "%c%s\t", changes_letter(c->kind),
				   risk_mark(view, c, false));
		styled_name(&b, g->prefix, c->path);
		styled_line(to, LINE_ROW, "%s", buf_text(&b));
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
