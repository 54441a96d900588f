/* One item of a review: its title and its content. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/output.h"
#include "guard/cli/review_show.h"
#include "guard/review/words.h"

#define RULE_MAX 100

/* As the C library finds out, which is not asked: it would turn other output
 * with it. */
static bool locale_is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") ||
			       strcasestr(value, "utf8");
	}
	return false;
}

void review_show_title(struct review *r, struct review_item *it, size_t number,
		       size_t count, struct styled *to)
{
	const char *dash = locale_is_utf8() ? "\xe2\x94\x80" : "-";
	AUTO(buf) struct buf rule = {0}, line = {0};
	size_t i, columns = to->width < 20	   ? 80
			    : to->width < RULE_MAX ? to->width
						   : RULE_MAX;

	/* Where it is no use to the eye it would be read aloud. */
	for (i = 0; output_term_is_capable() && i + 1 < columns; i++)
		buf_add_text(&rule, dash);
	review_show_line(r, it, &line);
	styled_line(to, LINE_PLAIN,
		    "\n" FAINT "%s" PLAIN "%s" BOLD "%zu/%zu" PLAIN "  %s",
		    buf_text(&rule), rule.len ? "\n" : "", number, count,
		    buf_text(&line));
	if (review_has_clash(r, it) || it->here)
		styled_line(to, LINE_NOTE, CHANGED " ! you changed it%s" PLAIN,
			    review_has_clash(r, it)
				    ? ", too, and the two conflict: the end "
				      "of the review asks"
				    : " since the run started: an apply "
				      "merges the two");
	review_show_risks(r, it, "", to);
}

/* A medium that passes on so many lines and counts the others. The head of a
 * hunk is no line. */
struct cut {
	struct styled styled;
	struct styled *to;
	size_t most, lines;
};

static void take_cut(struct styled *to, const struct styled_line *line)
{
	struct cut *cut = (struct cut *)to;

	if (line->sign != '@' && line->sign != '\\')
		cut->lines++;
	if (!cut->most || cut->lines <= cut->most)
		cut->to->take(cut->to, line);
	to->full = cut->to->full;
}

static void show_line(const struct hunk_line *l,
		      const struct words_ranges *words, struct styled *to)
{
	static const char note[] = "\\ No newline at end of file";

	styled_text(to, l->kind, l->text, l->len, words);
	if (!l->len || l->text[l->len - 1] != '\n')
		styled_text(to, '\\', note, strlen(note), NULL);
}

static size_t count_kind(const struct hunk *h, size_t at, char kind)
{
	size_t n = 0;

	while (at + n < h->lines.count && h->lines.items[at + n].kind == kind)
		n++;
	return n;
}

static size_t length_without_feed(const struct hunk_line *l)
{
	return l->len - (l->len && l->text[l->len - 1] == '\n');
}

/* Deleted lines and the added lines after them, compared pair by pair. */
static size_t show_changed_lines(const struct hunk *h, size_t at,
				 struct styled *to)
{
	size_t old = count_kind(h, at, '-');
	size_t now = count_kind(h, at + old, '+'), i;
	struct words_ranges *words = mem_zalloc((old + now) * sizeof(*words));

	for (i = 0; to->words && i < old && i < now; i++) {
		const struct hunk_line *a = &h->lines.items[at + i];
		const struct hunk_line *b = &h->lines.items[at + old + i];

		words_compare(a->text, length_without_feed(a), b->text,
			      length_without_feed(b), &words[i],
			      &words[old + i]);
	}
	for (i = 0; i < old + now; i++) {
		if (!to->full)
			show_line(&h->lines.items[at + i], &words[i], to);
		VEC_FREE(&words[i]);
	}
	free(words);
	return old + now;
}

/* The head first. */
static void show_hunk(const struct hunk *h, struct styled *to)
{
	AUTO(buf) struct buf head = {0};
	size_t i = 0;

	hunks_add_head(&head, h);
	buf_add_text(&head, h->edited ? "  edited" : "");
	styled_text(to, '@', buf_text(&head), head.len, NULL);
	while (i < h->lines.count && !to->full)
		if (h->lines.items[i].kind != ' ')
			i += show_changed_lines(h, i, to);
		else
			show_line(&h->lines.items[i++], NULL, to);
}

static void show_link_side(char sign, const struct entry *e, struct styled *to)
{
	if (S_ISLNK(e->mode))
		styled_target(to, sign, e->link, strlen(e->link));
}

/* Pair by pair. */
static void show_moves(struct review *r, struct review_item *item,
		       struct styled *to)
{
	size_t i;

	for (i = 0; 2 * i < item->count && !to->full; i++) {
		AUTO(buf) struct buf b = {0};

		if (S_ISDIR(review_entry_at(r, item, 2 * i)->now.mode))
			continue;
		review_show_pair(r, item, i, &b);
		styled_line(to, LINE_ROW, "  R  %s", buf_text(&b));
	}
}

static void show_group(struct review *r, struct review_item *item,
		       struct styled *to)
{
	size_t i;

	for (i = 0; i < item->count && !to->full; i++) {
		AUTO(buf) struct buf b = {0};

		review_show_entry(review_entry_at(r, item, i), &b);
		styled_line(to, LINE_ROW, "  %s", buf_text(&b));
	}
}

/* A part that is no hunk: the title says all about an entry that is no text. */
static void show_other_part(struct review_item *item,
			    const struct review_entry *e,
			    const struct entry *old, struct styled *to)
{
	struct change c = e->change;
	AUTO(buf) struct buf b = {0};

	if (item->rights) {
		c.kind = CHANGE_META;
		c.old = changes_side(old);
		buf_add_text(&b, "permissions:");
		changes_detail(&c, &b);
		styled_text(to, '@', buf_text(&b), b.len, NULL);
	}
	show_link_side('-', &e->old, to);
	show_link_side('+', &e->now, to);
	if (c.kind == CHANGE_META || !S_ISREG(e->now.mode ?: e->old.mode) ||
	    !(e->now.size + e->old.size))
		return;
	buf_add_text(&b, item->uncompared ? "not compared"
					  : "not a text, or too large to show");
	if (c.kind == CHANGE_MODIFIED)
		buf_printf(&b, ": %s -> %s", text_size(e->old.size),
			   text_size(e->now.size));
	styled_line(to, LINE_PLAIN, "  %s", buf_text(&b));
}

static void show_part(struct review *r, struct review_item *item, size_t part,
		      struct styled *to)
{
	const struct review_entry *e = review_entry(r, item);
	struct err err;

	if (review_is_group(item))
		(item->move ? show_moves : show_group)(r, item, to);
	else if (review_open(r, item, &err) < 0)
		styled_line(to, LINE_PLAIN, "cannot be shown: %s", err.text);
	else if (review_hunk(item, part))
		show_hunk(review_hunk(item, part), to);
	else if (!item->move || item->rights)
		show_other_part(item, e, review_old(r, item), to);
}

size_t review_show_part(struct review *r, struct review_item *item, size_t part,
			size_t most, struct styled *to)
{
	struct cut cut = {
		.styled = {.take = take_cut,
			   .width = to->width,
			   .words = to->words},
		.to = to,
		.most = most,
	};

	show_part(r, item, part, &cut.styled);
	return most && cut.lines > most ? cut.lines - most : 0;
}

const char *review_show_part_name(const struct review *r,
				  const struct review_item *item, size_t part)
{
	const struct review_entry *e = review_entry(r, item);

	if (item->section == REVIEW_DELETED)
		return "this deletion";
	if (item->move && !item->hunks.count)
		return "this move";
	if (review_is_group(item))
		return "all of this directory";
	if (part < item->rights)
		return "these permissions";
	if (item->move)
		return "this hunk";
	if (!e->old.mode)
		return "this addition";
	return review_hunk(item, part) ? "this hunk" : "this change";
}
