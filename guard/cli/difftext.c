#include "guard/cli/difftext.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/output.h"
#include "restore/git/textdiff.h"

#define CONTEXT_LINES 3

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

static void print_names(const struct change_move *m)
{
	AUTO(buf) struct buf from = {0}, to = {0};
	const char *bold = output_style(STYLE_BOLD);
	const char *none = output_style(STYLE_NONE);

	output_name(&from, m->from);
	output_name(&to, m->to);
	(void)printf("\n");
	if (m->percent)
		(void)printf("%ssimilarity index %u%%%s\n"
			     "%srename from %s%s\n%srename to %s%s\n",
			     bold, m->percent, none, bold, buf_text(&from),
			     none, bold, buf_text(&to), none);
	(void)printf("%s--- %s%s%s\n%s+++ %s%s%s\n", bold,
		     S_ISREG(m->old.mode) ? "a/" : "",
		     S_ISREG(m->old.mode) ? buf_text(&from) : "(nothing)", none,
		     bold, S_ISREG(m->now.mode) ? "b/" : "",
		     S_ISREG(m->now.mode) ? buf_text(&to) : "(nothing)", none);
}

static enum output_style line_style(char kind)
{
	if (kind == '+')
		return STYLE_ADDED;
	if (kind == '-')
		return STYLE_DELETED;
	return kind == '@' ? STYLE_HUNK : STYLE_NONE;
}

/* The names are printed before the first line. */
struct names_once {
	const struct change_move *m;
	bool printed;
};

static void print_names_once(struct names_once *names)
{
	if (!names->printed)
		print_names(names->m);
	names->printed = true;
}

static int print_diff_line(void *arg, const struct textdiff_line *line)
{
	AUTO(buf) struct buf b = {0};
	size_t len = line->len;
	bool styled = line->kind != ' ';

	print_names_once(arg);
	while (len && line->text[len - 1] == '\n')
		len--;
	/* libgit2's own lines for hunks and ends of files are whole. */
	if (line->kind != '@' && line->kind != '\\')
		buf_add_char(&b, line->kind);
	text_escape(&b, line->text, len, true);
	(void)printf("%s%s%s\n",
		     styled ? output_style(line_style(line->kind)) : "",
		     buf_text(&b), styled ? output_style(STYLE_NONE) : "");
	return output_has_failed() ? -EPIPE : 0;
}

static void print_text(const struct change_move *m,
		       const struct changes_root *root)
{
	AUTO(buf) struct buf old = {0}, now = {0};
	struct names_once names = {m, false};
	struct err err;
	int got;

	/* The names of a move are of interest in themselves. */
	if (m->percent)
		print_names_once(&names);
	if (read_sides(m, root, &old, &now, &err) < 0) {
		print_names_once(&names);
		(void)printf("cannot be read: %s\n", err.text);
		return;
	}
	got = textdiff(old.data, old.len, now.data, now.len, CONTEXT_LINES,
		       print_diff_line, &names, NULL, NULL, &err);
	if (got) {
		print_names_once(&names);
		(void)printf("%s\n", got > 0 ? "binary" : "cannot be compared");
	}
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

static void print_link_change(const struct change *c,
			      const struct changes_root *root)
{
	AUTO(buf) struct buf name = {0};

	output_name(&name, c->path);
	(void)printf("\n%slink %s%s\n", output_style(STYLE_BOLD),
		     buf_text(&name), output_style(STYLE_NONE));
	print_link_target(c, root, false);
	print_link_target(c, root, true);
}

void difftext_print(const struct change *c, const struct changes_root *root)
{
	const struct change_move m = in_place(c);

	if (c->kind == CHANGE_DELETED || c->kind == CHANGE_META)
		return;
	if (S_ISLNK(c->old.mode) || S_ISLNK(c->now.mode))
		print_link_change(c, root);
	if (!is_text_change(c))
		return;
	if (!too_large(c)) {
		print_text(&m, root);
		return;
	}
	print_names(&m);
	(void)printf("too large to be shown\n");
}

void difftext_print_move(const struct change_move *m,
			 const struct changes_root *root)
{
	if (m->percent < 100)
		print_text(m, root);
}

void difftext_count_move(const struct change_move *m,
			 const struct changes_root *root,
			 struct difftext_stat *ret)
{
	AUTO(buf) struct buf old = {0}, now = {0};
	struct err err;

	*ret = (struct difftext_stat){0};
	ret->text = read_sides(m, root, &old, &now, &err) == 0 &&
		    textdiff(old.data, old.len, now.data, now.len, 0, NULL,
			     NULL, &ret->added, &ret->removed, &err) == 0;
}

void difftext_count(const struct change *c, const struct changes_root *root,
		    struct difftext_stat *ret)
{
	const struct change_move m = in_place(c);

	*ret = (struct difftext_stat){0};
	if (is_text_change(c) && !too_large(c))
		difftext_count_move(&m, root, ret);
}
