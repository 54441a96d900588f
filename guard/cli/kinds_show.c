#include "guard/cli/kinds_show.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/output.h"

/* Lines of a sample, and kinds of a family, that are shown unasked. */
#define SAMPLE_LINES 12
#define FAMILY_LINES 20
#define SAMPLE_INDENT 6
/* Equal lines in front of the first that differs. */
#define SAMPLE_CONTEXT 2

void kinds_show_head(const struct kinds *k, const char *before,
		     struct styled *to)
{
	styled_line(to, LINE_PLAIN, "%s" BOLD "%s of %s" PLAIN, before,
		    text_count(k->hunks, "hunk"),
		    text_count(k->items.count, "kind"));
}

/* Lines at the beginning that both samples have. */
static size_t count_equal_lines(const struct buf *a, const struct buf *b)
{
	const char *at = (const char *)a->data, *end = at + a->len;
	const char *to = (const char *)b->data, *to_end = to + b->len;
	size_t n;

	for (n = 0; at < end && to < to_end; n++) {
		size_t len = text_line_len(at, end);

		if (len != text_line_len(to, to_end) ||
		    memcmp(at, to, len) != 0)
			break;
		at += len + (at + len < end);
		to += len + (to + len < to_end);
	}
	return n;
}

/* How many lines of a sample are left out at its beginning, since else all that
 * is shown of it would look like the usual kind. */
static size_t count_skipped(const struct kind *kind, const struct kind *usual)
{
	size_t n = kind == usual
			   ? 0
			   : count_equal_lines(&kind->sample, &usual->sample);

	return n >= SAMPLE_LINES ? n - SAMPLE_CONTEXT : 0;
}

static void print_sample(const struct kinds *k, const struct kind *kind,
			 struct styled *to)
{
	const struct kind *usual = &k->items.items[k->usual];
	const struct buf *sample = &kind->sample;
	const char *at = (const char *)sample->data, *end = at + sample->len;
	size_t skipped = count_skipped(kind, usual), lines = 0, i;

	for (i = 0; i < skipped; i++)
		at += text_line_len(at, end) + 1;
	to->indent = SAMPLE_INDENT;
	if (skipped)
		styled_line(to, LINE_TEXT, "... %s as in %.*s",
			    text_count(skipped, "line"), k->id_len, usual->id);
	for (; at < end; lines++) {
		size_t len = text_line_len(at, end);
		static const char note[] = "\\ No newline at end of file";

		if (lines < SAMPLE_LINES && *at == '\\')
			styled_text(to, '\\', note, strlen(note), NULL);
		else if (lines < SAMPLE_LINES)
			styled_text(to, *at, at + 1, len - 1, NULL);
		at += len + (at + len < end);
	}
	if (lines > SAMPLE_LINES)
		styled_line(to, LINE_TEXT, "... %s",
			    text_count(lines - SAMPLE_LINES, "more line"));
	to->indent = 0;
}

/* Columns of a text, cut at its end. */
static void add_cut(struct buf *to, const char *text, size_t columns)
{
	AUTO(buf) struct buf escaped = {0};
	size_t len;

	text_escape_name(&escaped, text);
	len = text_fit(buf_text(&escaped), columns);
	buf_add_text(to, NAME);
	buf_add(to, escaped.data, len);
	buf_add_text(to, len < escaped.len ? "..." NAME_END : NAME_END);
}

static void print_member(const struct kinds *k, const struct kind *kind,
			 kinds_show_name name, void *arg, struct styled *to)
{
	size_t columns = ((to->width > 60 ? to->width : 80) - 24) / 3;
	AUTO(buf) struct buf b = {0};

	add_cut(&b, kind->removed, columns);
	buf_add_text(&b, " -> " ADDED);
	add_cut(&b, kind->added, columns);
	buf_add_text(&b, PLAIN "  ");
	name(arg, kind->places.items[0].item, &b);
	styled_line(to, LINE_ROW, "  %s%7zu  %.*s  %s",
		    kind->marked ? "!" : " ", kind->places.count, k->id_len,
		    kind->id, buf_text(&b));
}

bool kinds_show_family(const struct kinds *k, const struct kind_family *f,
		       size_t most, kinds_show_name name, void *arg,
		       struct styled *to)
{
	const struct kind *first = &k->items.items[f->first];
	AUTO(buf) struct buf b = {0};
	size_t i;

	name(arg, first->places.items[0].item, &b);
	if (f->files > 1)
		buf_printf(&b, " and %s",
			   text_count(f->files - 1, "other file"));
	styled_line(to, LINE_TITLE, "%s %7zu  %.*s" PLAIN "  %s",
		    f->marked ? "!" : " ", f->hunks,
		    f->count == 1 ? k->id_len : KINDS_ID_MAX,
		    f->count == 1 ? first->id : "family", buf_text(&b));
	print_sample(k, first, to);
	if (f->count == 1)
		return true;
	styled_line(to, LINE_ROW,
		    "  %s, rare ones first; they differ in these values:",
		    text_count(f->count, "kind"));
	for (i = 0; i < f->count && !to->full; i++) {
		if (most && i == most) {
			styled_line(to, LINE_ROW, "  ... %s",
				    text_count(f->count - i, "more kind"));
			return false;
		}
		print_member(k, &k->items.items[f->first + i], name, arg, to);
	}
	return true;
}

/* --- of a run's changes --- */

void kinds_files_free(struct kinds_files *f)
{
	VEC_FREE(&f->items);
	kinds_free(&f->kinds);
}

static void add_file_name(void *arg, size_t item, struct buf *to)
{
	const struct kinds_files *f = arg;

	styled_name(to, f->items.items[item].root->prefix,
		    f->items.items[item].change->path);
}

static bool is_modified_text(const struct changes_root *g,
			     const struct change *c)
{
	return c->kind == CHANGE_MODIFIED && S_ISREG(c->old.mode) &&
	       S_ISREG(c->now.mode) && c->old.size <= CHANGES_READ_MAX &&
	       c->now.size <= CHANGES_READ_MAX &&
	       !changes_is_moved(&g->list, c);
}

static int add_hunks_of(struct kinds_files *f, const struct changes_root *g,
			const struct change *c, bool marked, struct err *err)
{
	AUTO(buf) struct buf old = {0}, now = {0};
	AUTO(hunks) struct hunks hunks = {0};
	struct err unread;
	size_t i;
	int got;

	if (changes_read(g, c->path, c->old.mode, false, &old, &unread) < 0 ||
	    changes_read(g, c->path, c->now.mode, true, &now, &unread) < 0) {
		f->others++;
		return 0;
	}
	got = hunks_make(&old, &now, &hunks, err);
	if (got < 0 && got != -EPROTO)
		return got;
	if (got < 0)
		output_warn("%s cannot be compared (%s); treated as binary",
			    text_quote(c->path), err->text);
	if (!hunks.count) {
		f->others++;
		return 0;
	}
	*VEC_ADD(&f->items) = (struct kinds_file){g, c};
	for (i = 0; i < hunks.count; i++)
		kinds_add(&f->kinds, f->items.count - 1, i, &hunks.items[i],
			  marked);
	return 0;
}

static int add_view(struct kinds_files *f, struct view *v, struct err *err)
{
	const struct changes_root *g = v->root;
	size_t i;

	for (i = 0; i < v->count; i++) {
		struct view_entry *e = &v->items[i];
		const struct change *c = e->change;
		enum risk_level worst = RISK_NONE;

		if (changes_is_apart(c, g->home))
			continue;
		if (is_modified_text(g, c)) {
			if (view_is_suspect(v, e))
				view_judge(v, e);
			worst = risks_worst(&e->risks);
		}
		if (!is_modified_text(g, c) || worst == RISK_CRITICAL)
			f->others += !S_ISDIR(c->now.mode ?: c->old.mode);
		else if (add_hunks_of(f, g, c, worst == RISK_HIGH, err) < 0)
			return -err->num;
	}
	return 0;
}

int kinds_show_make(struct view *views, size_t count, struct kinds_files *ret,
		    struct err *err)
{
	AUTO(kinds_files) struct kinds_files f = {0};
	size_t i;

	for (i = 0; i < count; i++)
		if (add_view(&f, &views[i], err) < 0)
			return -err->num;
	kinds_finish(&f.kinds);
	*ret = TAKE(f);
	return 0;
}

void kinds_show_all(struct kinds_files *f, const char *before,
		    struct styled *to)
{
	size_t i;

	kinds_show_head(&f->kinds, before, to);
	for (i = 0; i < f->kinds.families.count && !to->full; i++)
		(void)kinds_show_family(&f->kinds, &f->kinds.families.items[i],
					FAMILY_LINES, add_file_name, f, to);
	if (i < f->kinds.families.count)
		styled_line(
			to, LINE_PLAIN, "... and %s",
			text_count(f->kinds.families.count - i, "more kind"));
}

int kinds_show_changes(const struct changes *c, const char *before,
		       struct styled *to, struct err *err)
{
	AUTO(kinds_files) struct kinds_files f = {0};
	size_t i;

	for (i = 0; i < c->root_count; i++) {
		AUTO(view) struct view v = {0};

		view_of_changes(&c->roots[i], &v);
		if (add_view(&f, &v, err) < 0)
			return -err->num;
	}
	kinds_finish(&f.kinds);
	kinds_show_all(&f, before, to);
	if (f.others)
		styled_line(to, LINE_PLAIN,
			    "\n%s %s no kind: deleted, added, moved or "
			    "critical files, and files that are no text",
			    text_count(f.others, "other change"),
			    f.others > 1 ? "have" : "has");
	return 0;
}
