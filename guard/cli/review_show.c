#include "guard/cli/review_show.h"

#include <sys/stat.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/agent_show.h"
#include "guard/cli/diffshow.h"
#include "guard/cli/risk_show.h"

static const struct {
	const char *title, *counted; /* behind a number */
	const char *style;
} sections[] = {
	[REVIEW_DELETED] = {"Deleted", "deleted", DELETED},
	[REVIEW_RISKY] = {"Look at these first", "to look at first", CHANGED},
	[REVIEW_MOVED] = {"Moved", "moved", CHANGED},
	[REVIEW_TYPE] = {"Of another type", "of another type", CHANGED},
	[REVIEW_MODIFIED] = {"Modified", "modified", CHANGED},
	[REVIEW_RIGHTS] = {"With other permissions", "with other permissions",
			   CHANGED},
	[REVIEW_ADDED] = {"Added", "added", ADDED},
	[REVIEW_GENERATED] = {"Generated", "generated", FAINT},
};

void review_show_pair(const struct review *r, const struct review_item *item,
		      size_t pair, struct buf *to)
{
	const struct review_entry *now = review_entry_at(r, item, 2 * pair);
	const struct review_entry *old = review_moved_from(r, item, pair);
	struct change_move m = {
		.from = old->path,
		.to = now->path,
		.old = changes_side(&old->old),
		.now = changes_side(&now->now),
		.percent = now->percent,
	};
	size_t i;

	for (i = 0; 2 * i < item->count; i++)
		m.files += !S_ISDIR(review_entry_at(r, item, 2 * i)->now.mode);
	changes_move_text(&m, r->prefix, output_width(), to);
}

void review_show_group(const struct review *r, const struct review_item *item,
		       struct buf *to)
{
	size_t deleted = 0, added = 0, other = 0, i;
	uint64_t bytes = 0;

	for (i = 0; i < item->count; i++) {
		const struct review_entry *x = review_entry_at(r, item, i);

		if (review_is_dir(x))
			continue;
		deleted += !x->now.mode;
		added += !x->old.mode;
		other += x->now.mode && x->old.mode;
		bytes += x->now.mode ? x->now.size : x->old.size;
	}
	if (item->incomplete && deleted) {
		buf_printf(to, "  %s of it", text_count(deleted, "file"));
	} else if (deleted && !added && !other) {
		buf_printf(to, "  with its entries: %s",
			   text_count(deleted, "file"));
	} else if (deleted || added || other) {
		const struct text_part parts[] = {
			{deleted, "deleted"},
			{other, "modified"},
			{added, "added"},
		};

		buf_add_text(to, "  ");
		text_sum(to, parts, ARRAY_SIZE(parts), "");
	}
	buf_printf(to, ", %s", text_size(bytes));
}

char review_show_letter(const struct review *r, const struct review_item *item)
{
	const struct review_entry *e = review_entry(r, item);

	return item->move ? 'R'
	       : review_is_group(item) && e->now.mode && e->old.mode
		       ? 'M'
		       : changes_letter(e->change.kind);
}

void review_show_entry(const struct review_entry *e, struct buf *to)
{
	buf_printf(to, "%c  ", changes_letter(e->change.kind));
	styled_name(to, "", e->path);
	if (review_is_dir(e))
		buf_add_char(to, '/');
	else
		changes_detail(&e->change, to);
}

void review_show_line(struct review *r, struct review_item *item,
		      struct buf *to)
{
	const struct review_entry *e = review_entry(r, item);
	struct err ignored;

	buf_printf(to, "%s%c" PLAIN "  ",
		   item->move ? CHANGED : sections[item->section].style,
		   review_show_letter(r, item));
	if (item->move) {
		review_show_pair(r, item, 0, to);
		return;
	}
	styled_name(to, r->prefix, item->path);
	if (review_is_group(item) || review_is_dir(e))
		buf_add_char(to, '/');
	if (review_is_group(item)) {
		review_show_group(r, item, to);
	} else if (e->change.kind == CHANGE_MODIFIED &&
		   review_open(r, item, &ignored) == 0 && item->hunks.count) {
		buf_printf(to, "  " ADDED "+%zu" PLAIN " " DELETED "-%zu" PLAIN,
			   item->hunks.added, item->hunks.removed);
		if (item->rights)
			buf_add_text(to, "  other permissions");
	} else {
		changes_detail(&e->change, to);
	}
	/* One end of a move that stands alone. */
	if (item->count == 1 && e->peer) {
		buf_add_text(to, e->now.mode ? "  moved from " : "  moved to ");
		styled_name(to, r->prefix, r->entries[e->peer - 1].path);
	}
	if (review_has_clash(r, item))
		buf_add_text(to, "  conflict");
}

void review_show_risks(const struct review *r, const struct review_item *item,
		       const char *indent, struct styled *to)
{
	bool group = review_is_group(item);
	struct fold_repeats collapsed = {0};
	size_t i, k;

	for (i = 0; i < item->count; i++) {
		const struct review_entry *e = review_entry_at(r, item, i);

		for (k = 0; k < e->risks.count; k++) {
			const struct risk *risk = &e->risks.items[k];

			if (!group ||
			    risk_show_wants(&collapsed, e->path, risk))
				risk_show_line(risk, indent,
					       group ? e->path : NULL, to);
		}
	}
	risk_show_repeats(&collapsed, indent, to);
	VEC_FREE(&collapsed);
}

static size_t count_section(const struct review *r, enum review_section section)
{
	size_t i, n = 0;

	for (i = 0; i < r->count; i++)
		n += r->items[i].section == section;
	return n;
}

static void print_section(struct review *r, enum review_section section,
			  size_t most, struct styled *to)
{
	size_t n = count_section(r, section), i, shown = 0;

	if (n)
		styled_line(to, LINE_TITLE, "%s (%zu)", sections[section].title,
			    n);
	for (i = 0; n && i < r->count && !to->full; i++) {
		AUTO(buf) struct buf line = {0};

		if (r->items[i].section != section)
			continue;
		if (most && shown++ == most) {
			styled_line(to, LINE_ROW,
				    "  and %zu more, all of which are shown "
				    "below",
				    n - most);
			return;
		}
		review_show_line(r, &r->items[i], &line);
		styled_line(to, LINE_ROW, "  %s", buf_text(&line));
		if (r->items[i].here)
			styled_line(
				to, LINE_NOTE,
				"       " CHANGED
				"! changed here since the run started" PLAIN);
		review_show_risks(r, &r->items[i], "     ", to);
	}
}

void review_show_head(const struct session *s, const struct review *r,
		      struct styled *to)
{
	AUTO(buf) struct buf b = {0};
	const char *between = "";
	size_t n, i;

	diffshow_head(s, &b);
	for (i = 0; i <= REVIEW_GENERATED; i++) {
		n = count_section(r, (enum review_section)i);
		if (!n)
			continue;
		buf_printf(&b, "%s%zu %s", between, n, sections[i].counted);
		between = "; ";
	}
	if (!r->count)
		buf_add_text(&b, "no changes to decide on");
	styled_line(to, LINE_PLAIN, "%s", buf_text(&b));
	if (r->already)
		styled_line(to, LINE_PLAIN, "%s: your project already has them",
			    text_count(r->already, "other change"));
}

void review_show_risky(struct review *r, size_t most, struct styled *to)
{
	print_section(r, REVIEW_DELETED, most, to);
	print_section(r, REVIEW_RISKY, most, to);
}

void review_show_first(const struct session *s, struct review *r,
		       const struct changes *c, size_t most, struct styled *to)
{
	AUTO(changes_git) struct changes_git git = {0};
	size_t home = changes_count_home(c), i;

	review_show_risky(r, most, to);
	if (r->git)
		changes_git_make(changes_project(c), &git);
	if (r->git)
		styled_line(to, LINE_TITLE,
			    "In .git" PLAIN ": %s, not reviewed%s%s",
			    text_count(r->git, "change"),
			    git.gone ? "" : ". New commits: guard import ",
			    git.gone ? "" : session_label(s));
	for (i = 0; i < git.count; i++)
		if (!git.items[i].runs)
			styled_line(to, LINE_ROW, "  %s", git.items[i].text);
	if (home)
		styled_line(to, LINE_PLAIN,
			    "\n%s in your home directory: not part of this "
			    "review (guard diff %s)",
			    text_count(home, "change"), session_label(s));
	agent_show_list(s, to);
}

void review_show_rest(struct review *r, struct styled *to)
{
	enum review_section section;

	for (section = REVIEW_MOVED; section <= REVIEW_GENERATED; section++)
		print_section(r, section, 0, to);
}
