/* One item of a review: its title and its content. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/output.h"
#include "guard/cli/review_show.h"

#define RULE_MAX 100

/* As the C library finds out, which is not asked: it would turn other output
 * with it. */
static bool locale_is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") ||
			       strcasestr(value, "utf8");
	}
	return false;
}

void review_show_title(struct review *r, size_t item)
{
	const char *dash = locale_is_utf8() ? "\xe2\x94\x80" : "-";
	struct review_item *it = &r->items[item];
	AUTO(buf) struct buf line = {0};
	size_t width = output_width(), i;
	size_t columns = width < 20 ? 80 : width < RULE_MAX ? width : RULE_MAX;

	/* Where it is no use to the eye it would be read aloud. */
	for (i = 0; output_term_is_capable() && i + 1 < columns; i++)
		buf_add_text(&line, dash);
	(void)printf("\n%s%s%s%s", output_style(STYLE_FAINT), buf_text(&line),
		     output_style(STYLE_NONE), line.len ? "\n" : "");
	buf_clear(&line);
	review_show_line(r, it, &line);
	(void)printf("%s%zu/%zu%s  %s\n", output_style(STYLE_BOLD), item + 1,
		     r->count, output_style(STYLE_NONE), buf_text(&line));
	if (review_has_clash(r, it) || it->here)
		(void)printf("%s ! you changed it%s%s\n",
			     output_style(STYLE_CHANGED),
			     review_has_clash(r, it)
				     ? ", too, and the two conflict: the end "
				       "of the review asks"
				     : " since the run started: an apply "
				       "merges the two",
			     output_style(STYLE_NONE));
	review_show_risks(r, it, "");
}

/* Lines of a text that is cut. */
struct lines {
	size_t printed, most;
};

/* false: it was cut there. */
static bool has_line_left(struct lines *l)
{
	return !output_has_failed() && (!l->most || l->printed++ < l->most);
}

static void print_cut_note(size_t more)
{
	(void)printf("%s... %s not shown: p prints them all%s\n",
		     output_style(STYLE_BOLD), text_count(more, "line"),
		     output_style(STYLE_NONE));
}

static void print_hunk(const struct hunk *h, size_t most)
{
	struct lines lines = {.most = most};
	AUTO(buf) struct buf head = {0};
	size_t i;

	hunks_add_head(&head, h);
	(void)printf("%s%s%s%s\n", output_style(STYLE_HUNK), buf_text(&head),
		     h->edited ? "  edited" : "", output_style(STYLE_NONE));
	for (i = 0; i < h->lines.count; i++) {
		const struct hunk_line *l = &h->lines.items[i];
		enum output_style style = l->kind == '+'   ? STYLE_ADDED
					  : l->kind == '-' ? STYLE_DELETED
							   : STYLE_NONE;
		bool feed = l->len && l->text[l->len - 1] == '\n';
		AUTO(buf) struct buf b = {0};

		if (!has_line_left(&lines)) {
			print_cut_note(h->lines.count - i);
			return;
		}
		text_escape(&b, l->text, l->len - feed, true);
		(void)printf("%s%c%s%s\n", style ? output_style(style) : "",
			     l->kind, buf_text(&b),
			     style ? output_style(STYLE_NONE) : "");
		if (!feed)
			(void)printf("\\ No newline at end of file\n");
	}
}

static void print_link_side(char sign, enum output_style style,
			    const struct entry *e)
{
	AUTO(buf) struct buf target = {0};

	if (!S_ISLNK(e->mode))
		return;
	text_escape_name(&target, e->link);
	(void)printf("%s%c%s%s\n", output_style(style), sign, buf_text(&target),
		     output_style(STYLE_NONE));
}

/* Pair by pair. */
static void print_moves(struct review *r, struct review_item *item, size_t most)
{
	struct lines lines = {.most = most};
	size_t i;

	for (i = 0; 2 * i < item->count; i++) {
		AUTO(buf) struct buf b = {0};

		if (S_ISDIR(review_entry_at(r, item, 2 * i)->now.mode))
			continue;
		if (!has_line_left(&lines)) {
			print_cut_note(item->count / 2 - i);
			return;
		}
		review_show_pair(r, item, i, &b);
		(void)printf("  R  %s\n", buf_text(&b));
	}
}

/* Changes of a moved file. */
static void print_moved_text(struct review *r, struct review_item *item,
			     size_t most)
{
	AUTO(hunks) struct hunks hunks = {0};
	AUTO(buf) struct buf a = {0}, b = {0};
	struct err err;
	size_t i;

	if (review_moved_hunks(r, item, &a, &b, &hunks, &err) < 0)
		(void)printf("cannot be shown: %s\n", err.text);
	for (i = 0; i < hunks.count; i++)
		print_hunk(&hunks.items[i], most);
}

static void print_group(struct review *r, struct review_item *item, size_t most)
{
	struct lines lines = {.most = most};
	size_t i;

	for (i = 0; i < item->count; i++) {
		AUTO(buf) struct buf b = {0};

		if (!has_line_left(&lines)) {
			print_cut_note(item->count - i);
			return;
		}
		review_show_entry(review_entry_at(r, item, i), &b);
		(void)printf("  %s\n", buf_text(&b));
	}
}

void review_show_part(struct review *r, struct review_item *item, size_t part,
		      size_t most)
{
	const struct review_entry *e = review_entry(r, item);
	struct change c = e->change;
	AUTO(buf) struct buf b = {0};
	struct hunk *hunk;
	struct err err;

	if (review_is_group(item)) {
		(item->move ? print_moves : print_group)(r, item, most);
		return;
	}
	if (item->move) {
		print_moved_text(r, item, most);
		return;
	}
	if (review_open(r, item, &err) < 0) {
		(void)printf("cannot be shown: %s\n", err.text);
		return;
	}
	hunk = review_hunk(item, part);
	if (hunk) {
		print_hunk(hunk, most);
		return;
	}
	/* The title says all about an entry that is no text. */
	if (c.kind == CHANGE_MODIFIED && item->rights) {
		c.kind = CHANGE_META;
		changes_detail(&c, &b);
		(void)printf(" %s\n", buf_text(&b));
	}
	print_link_side('-', STYLE_DELETED, &e->old);
	print_link_side('+', STYLE_ADDED, &e->now);
	if (c.kind == CHANGE_MODIFIED && S_ISREG(e->now.mode))
		(void)printf("  %s: %s -> %s\n",
			     item->uncompared
				     ? "not compared"
				     : "not a text, or too large to show",
			     text_size(e->old.size), text_size(e->now.size));
}

const char *review_show_part_name(const struct review *r,
				  const struct review_item *item, size_t part)
{
	const struct review_entry *e = review_entry(r, item);

	if (item->section == REVIEW_DELETED)
		return "this deletion";
	if (item->move)
		return "this move";
	if (review_is_group(item))
		return "all of this directory";
	if (part < item->rights)
		return "these permissions";
	if (!e->old.mode)
		return "this addition";
	return review_hunk(item, part) ? "this hunk" : "this change";
}
