/* Views of the full screen from a key: versions, a kind of hunks, a test. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/cli/history_show.h"
#include "guard/cli/output.h"
#include "guard/cli/screen_private.h"
#include "guard/cli/styled.h"
#include "guard/history/history.h"
#include "snapshot/store/content.h"

/* Bytes of an older version that are shown. */
#define VERSION_MAX (1u << 20)
#define VERSIONS_MAX 9
#define FILES_MAX 200

/* --- older versions --- */

static void add_version_line(struct styled *to, const struct history_row *row,
			     size_t number)
{
	const struct snapshot *s = &row->snapshot;
	AUTO(buf) struct buf b = {0};

	buf_printf(&b, "%zu  %s  %-10s %8s  ", number, text_time(s->time),
		   history_show_change(row->change),
		   S_ISREG(row->entry.mode) ? text_size(row->entry.size) : "");
	if (row->of_run)
		buf_add_text(&b, "by a run: ");
	output_truncated(&b, *s->command ? s->command : s->reason);
	styled_line(to, LINE_PLAIN, "%s", buf_text(&b));
}

static void show_version(struct review_ui *u, struct store *store,
			 const struct history_row *row)
{
	AUTO(buf) struct buf text = {0};
	struct screen_text page = {0};
	struct err err = {0};

	if (!S_ISREG(row->entry.mode) || row->entry.size > VERSION_MAX)
		review_ui_say(u, "this version is no text that can be shown");
	else if (content_append(store, &row->entry.content, &text, &err) < 0)
		review_ui_say(u, "%s", err.text);
	else if (memchr(text.data ? (void *)text.data : "", 0, text.len))
		review_ui_say(u, "this version is not a text");
	else {
		auto_free char *title = mem_printf(
			" Version of %s", text_time(row->snapshot.time));

		screen_text_begin(&page, screen_page_columns(u));
		styled_lines(&page.styled, ' ', (const char *)text.data,
			     text.len);
		(void)screen_page(u, title, &page,
				  " j k space scroll   any other key: back",
				  true);
	}
	screen_text_free(&page);
}

/* The newest first; returns the number of those on the page. */
static size_t list_versions(const struct history *h, struct styled *to)
{
	size_t count = h->count < VERSIONS_MAX ? h->count : VERSIONS_MAX, i;

	for (i = 0; i < count; i++)
		add_version_line(to, &h->rows[h->count - 1 - i], i + 1);
	if (!h->count)
		styled_line(to, LINE_PLAIN, "no stored version");
	if (h->count > count)
		styled_line(to, LINE_PLAIN,
			    FAINT "guard log lists the older ones");
	return count;
}

void screen_show_versions(struct review_ui *u, int key)
{
	const struct review_row *row = review_ui_row(u);
	auto_free char *path = NULL, *title = NULL;
	AUTO(history) struct history h = {0};
	AUTO(buf) struct buf name = {0};
	struct err err;

	(void)key;
	if (!row)
		return;
	path = path_join(u->job->root_paths[row->root],
			 review_list_item(row)->path);
	h.path = path;
	if (history_load(&h, row->review->store, &err) < 0) {
		review_ui_say(u, "%s", err.text);
		return;
	}
	text_escape_name(&name, review_list_item(row)->path);
	title = mem_printf(" Stored versions of %s", buf_text(&name));
	do {
		struct screen_text page = {0};
		size_t count;

		screen_text_begin(&page, screen_page_columns(u));
		count = list_versions(&h, &page.styled);
		key = screen_page(u, title, &page,
				  " 1-9 show a version   any other key: back",
				  true);
		screen_text_free(&page);
		screen_hush(u);
		if (key < '1' || (size_t)(key - '0') > count)
			return;
		show_version(u, row->review->store,
			     &h.rows[h.count - (size_t)(key - '0')]);
	} while (true);
}

/* --- a kind of hunks --- */

/* The hunk under the cursor; in the list the first open hunk of the file, else
 * its first. */
static size_t find_hunk(const struct review_ui *u,
			const struct review_item *item)
{
	size_t i;

	if (u->in_text)
		return u->list.part;
	for (i = item->rights; i < item->parts; i++)
		if (item->answers[i] == REVIEW_OPEN)
			return i;
	return item->rights;
}

static const struct kind *find_kind(const struct review_kinds *k,
				    const struct review_row *row, size_t part)
{
	size_t i, n;

	for (i = 0; i < k->kinds.items.count; i++) {
		const struct kind *kind = &k->kinds.items.items[i];

		for (n = 0; n < kind->places.count; n++) {
			const struct kind_place *p = &kind->places.items[n];
			const struct review_kinds_item *item =
				&k->items.items[p->item];

			if (item->root == row->root &&
			    item->item == row->item && p->part == part)
				return kind;
		}
	}
	return NULL;
}

static void add_kind_files(const struct review_kinds *k,
			   const struct kind *kind, struct styled *to)
{
	size_t i, listed = 0, last = (size_t)-1;

	for (i = 0; i < kind->places.count; i++) {
		size_t item = kind->places.items[i].item;
		AUTO(buf) struct buf b = {0};

		if (item == last)
			continue;
		last = item;
		if (listed++ == FILES_MAX) {
			styled_line(
				to, LINE_PLAIN, FAINT "and %s more",
				text_count(kind->files - FILES_MAX, "file"));
			return;
		}
		styled_name(&b, "", review_kinds_item(k, item)->path);
		styled_line(to, LINE_PLAIN, "%s", buf_text(&b));
	}
}

/* The sample is lines with '-' and '+' in front. */
static void add_sample(const struct kind *kind, struct styled *to)
{
	const char *at = (const char *)kind->sample.data;
	const char *end = at + kind->sample.len;

	while (at < end) {
		size_t len = text_line_len(at, end);

		styled_text(to, *at, at + 1, len - 1, NULL);
		at += len + (at + len < end);
	}
}

/* Whether they are decided. */
static bool ask_about_kind(struct review_ui *u, struct review_kinds *k,
			   const struct kind *kind)
{
	static const char *const words[] = {
		['y'] = "taken", ['n'] = "left", ['u'] = "open"};
	struct asked_kind asked = {
		.family = {.first = (size_t)(kind - k->kinds.items.items),
			   .count = 1},
		.listed = true,
	};
	const struct review_key *row;
	struct screen_text page = {0};
	AUTO(buf) struct buf title = {0}, bar = {0};
	int key;

	u->place = UI_KIND;
	buf_printf(&title, " %s of one kind in %s",
		   text_count(kind->places.count, "hunk"),
		   text_count(kind->files, "file"));
	screen_text_begin(&page, screen_page_columns(u));
	add_sample(kind, &page.styled);
	styled_line(&page.styled, LINE_PLAIN, "%s", "");
	add_kind_files(k, kind, &page.styled);
	review_ui_key_bar(u, NULL, &bar);
	buf_add_text(&bar, "   any other key: back");
	key = screen_page(u, buf_text(&title), &page, buf_text(&bar), true);
	screen_text_free(&page);
	row = review_ui_find_key(u, key);
	if (!row)
		return false;
	u->kind = (struct kind_cursor){
		.kinds = k,
		.list = {.items = &asked, .count = 1},
	};
	row->act(u, key);
	u->all_decided = false;
	review_ui_say(u, "%s %s; U takes that back",
		      text_count(kind->places.count, "hunk"), words[key]);
	return key != 'u';
}

void screen_answer_kind(struct review_ui *u, int key)
{
	const struct review_row *row = review_ui_row(u);
	AUTO(review_kinds) struct review_kinds k = {0};
	const struct kind *kind;
	size_t i;

	(void)key;
	if (!row)
		return;
	review_kinds_make(u->list.reviews, u->list.review_count, &k);
	kind = find_kind(&k, row, find_hunk(u, review_list_item(row)));
	if (!kind)
		review_ui_say(u, "only hunks of modified texts without a "
				 "critical risk have a kind");
	else if (ask_about_kind(u, &k, kind))
		review_ui_go_on(u);
	for (i = 0; i < k.items.count; i++)
		if (review_kinds_item(&k, i) != review_ui_item(u))
			review_close(review_kinds_review(&k, i),
				     review_kinds_item(&k, i));
}

/* --- a test --- */

void screen_try(struct review_ui *u, int key)
{
	const char *before = u->test ?: u->job->test;
	auto_free char *typed = NULL, *summary = NULL;
	struct err err;
	int c;

	(void)key;
	typed = u->terminal->ask(
		u, "Run in a throw-away copy of the run:", before ?: "");
	if (!typed || !*typed)
		return;
	free(u->test);
	u->test = TAKE(typed);
	u->terminal->leave(u);
	if (u->job->try(u->job->arg, u->test, &summary, &err) < 0)
		summary = mem_strdup(err.text);
	styled_line(styled_out(), LINE_TITLE,
		    "%s" PLAIN " (Enter goes back to the review)", summary);
	(void)fflush(stdout);
	/* The terminal reads lines now. */
	do
		c = getchar();
	while (c != '\n' && c != EOF);
	u->terminal->enter(u);
	review_ui_say(u, "%s", summary);
}
