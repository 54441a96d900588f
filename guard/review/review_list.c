#include "guard/review/review_list.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "guard/review/view.h"

/* --- rows --- */

static enum review_bucket bucket_of(const struct review_item *item)
{
	static const enum review_bucket buckets[] = {
		[REVIEW_DELETED] = REVIEW_BUCKET_DELETED,
		[REVIEW_RISKY] = REVIEW_BUCKET_RISKY,
		[REVIEW_MOVED] = REVIEW_BUCKET_MOVED,
		[REVIEW_TYPE] = REVIEW_BUCKET_TYPE,
		[REVIEW_MODIFIED] = REVIEW_BUCKET_MODIFIED,
		[REVIEW_RIGHTS] = REVIEW_BUCKET_MODIFIED,
		[REVIEW_ADDED] = REVIEW_BUCKET_ADDED,
		[REVIEW_GENERATED] = REVIEW_BUCKET_GENERATED,
	};

	if (path_has_part(item->path, ".git"))
		return REVIEW_BUCKET_GIT;
	return buckets[item->section];
}

const char *review_list_bucket_name(enum review_bucket bucket)
{
	static const char *const names[REVIEW_BUCKETS] = {
		[REVIEW_BUCKET_DELETED] = "Deleted",
		[REVIEW_BUCKET_RISKY] = "Risky",
		[REVIEW_BUCKET_GIT] = "Git",
		[REVIEW_BUCKET_MOVED] = "Moved",
		[REVIEW_BUCKET_TYPE] = "Type",
		[REVIEW_BUCKET_MODIFIED] = "Modified",
		[REVIEW_BUCKET_ADDED] = "Added",
		[REVIEW_BUCKET_GENERATED] = "Generated",
	};

	return names[bucket];
}

struct review_item *review_list_item(const struct review_row *row)
{
	return &row->review->items[row->item];
}

struct review_row *review_list_row(const struct review_list *l)
{
	return l->shown.count ? &l->rows.items[l->shown.items[l->at]] : NULL;
}

static bool is_open(const struct review_item *item)
{
	return review_tally(item).open > 0;
}

/* Rows of one bucket are in the order of the items. */
static void collect_rows(struct review_list *l)
{
	int buckets = l->by_item ? 1 : REVIEW_BUCKETS, at;
	size_t i, k;

	l->rows.count = 0;
	for (at = 0; at < buckets; at++)
		for (i = 0; i < l->review_count; i++)
			for (k = 0; k < l->reviews[i]->count; k++) {
				struct review *r = l->reviews[i];
				enum review_bucket bucket =
					bucket_of(&r->items[k]);

				if (!l->by_item &&
				    bucket != (enum review_bucket)at)
					continue;
				*VEC_ADD(&l->rows) = (struct review_row){
					.review = r,
					.root = i,
					.item = k,
					.bucket = bucket,
				};
			}
}

static bool passes_filter(const struct review_list *l,
			  const struct review_row *row)
{
	const struct review_item *item = review_list_item(row);
	size_t i;

	if (l->open_only && !is_open(item))
		return false;
	if (!l->pattern)
		return true;
	for (i = 0; i < item->count; i++) {
		const char *path = review_entry_at(row->review, item, i)->path;

		if (strstr(path, l->pattern) ||
		    fnmatch(l->pattern, path, 0) == 0)
			return true;
	}
	return false;
}

/* The row at or behind the one of this index stays selected. */
static void show_rows(struct review_list *l, size_t selected)
{
	size_t i;

	l->shown.count = 0;
	l->at = l->part = 0;
	for (i = 0; i < l->rows.count; i++) {
		if (!passes_filter(l, &l->rows.items[i]))
			continue;
		if (i <= selected)
			l->at = l->shown.count;
		*VEC_ADD(&l->shown) = i;
	}
}

void review_list_make(struct review_list *l, struct review **reviews,
		      size_t count, struct decisions *decisions)
{
	*l = (struct review_list){
		.reviews = reviews,
		.review_count = count,
		.decisions = decisions,
	};
	collect_rows(l);
	show_rows(l, 0);
}

static void free_undo(struct review_undo *u)
{
	size_t i;

	for (i = 0; i < u->items.count; i++)
		free(u->items.items[i].answers);
	VEC_FREE(&u->items);
}

static void clear_undo(struct review_list *l)
{
	size_t i;

	for (i = 0; i < l->undo.count; i++)
		free_undo(&l->undo.items[i]);
	VEC_FREE(&l->undo);
}

void review_list_free(struct review_list *l)
{
	clear_undo(l);
	VEC_FREE(&l->rows);
	VEC_FREE(&l->shown);
	free(l->pattern);
	*l = (struct review_list){0};
}

size_t review_list_count_bucket(const struct review_list *l,
				enum review_bucket bucket, size_t *ret_open)
{
	size_t i, n = 0;

	*ret_open = 0;
	for (i = 0; i < l->rows.count; i++) {
		const struct review_row *row = &l->rows.items[i];

		if (row->bucket != bucket)
			continue;
		n++;
		*ret_open += is_open(review_list_item(row));
	}
	return n;
}

char review_list_letter(const struct review_item *item)
{
	struct review_tally n = review_tally(item);

	return n.yes == item->parts    ? 'y'
	       : n.no == item->parts   ? 'n'
	       : n.open == item->parts ? ' '
				       : '*';
}

/* --- selection --- */

void review_list_select(struct review_list *l, size_t at)
{
	if (at >= l->shown.count)
		at = l->shown.count ? l->shown.count - 1 : 0;
	l->at = at;
	l->part = 0;
}

static struct review_row *shown_row(const struct review_list *l, size_t at)
{
	return &l->rows.items[l->shown.items[at]];
}

bool review_list_select_bucket(struct review_list *l, enum review_bucket bucket)
{
	size_t i;

	for (i = 0; i < l->shown.count; i++)
		if (shown_row(l, i)->bucket == bucket) {
			review_list_select(l, i);
			return true;
		}
	return false;
}

/* The first open part from this one on; the count of the parts: there is none.
 */
static size_t find_open_part(const struct review_item *item, size_t part)
{
	while (part < item->parts && item->answers[part] != REVIEW_OPEN)
		part++;
	return part;
}

bool review_list_select_open(struct review_list *l, bool parts)
{
	size_t i, part = parts ? l->part + 1 : 0;

	for (i = 0; l->shown.count && i < l->shown.count + parts;
	     i++, part = 0) {
		size_t at = (l->at + i) % l->shown.count;
		const struct review_item *item =
			review_list_item(shown_row(l, at));

		part = find_open_part(item, part);
		if (part < item->parts) {
			l->at = at;
			l->part = parts ? part : 0;
			return true;
		}
	}
	return false;
}

static void open_row(const struct review_row *row)
{
	struct err ignored;

	(void)review_open(row->review, review_list_item(row), &ignored);
}

bool review_list_step(struct review_list *l, bool back, bool open_only)
{
	size_t at = l->at, part = l->part;
	const struct review_item *item;

	do {
		item = review_list_item(shown_row(l, at));
		if (back ? part > 0 : part + 1 < item->parts) {
			part += back ? -(size_t)1 : 1;
			continue;
		}
		if (back ? !at : at + 1 == l->shown.count)
			return false;
		at += back ? -(size_t)1 : 1;
		open_row(shown_row(l, at));
		item = review_list_item(shown_row(l, at));
		part = back ? item->parts - 1 : 0;
	} while (open_only && item->answers[part] != REVIEW_OPEN);
	l->at = at;
	l->part = part;
	return true;
}

void review_list_order(struct review_list *l, bool by_item)
{
	l->by_item = by_item;
	collect_rows(l);
	show_rows(l, 0);
}

void review_list_filter(struct review_list *l, const char *pattern,
			bool open_only)
{
	size_t selected = l->shown.count ? l->shown.items[l->at] : 0;

	free(l->pattern);
	l->pattern = mem_strdup(pattern);
	l->open_only = open_only;
	show_rows(l, selected);
}

/* The changed lines of the part match, or (part 0) a path of the item. */
static bool part_matches(const struct review_row *row, size_t part,
			 const regex_t *regex)
{
	const struct review_item *item = review_list_item(row);
	const struct hunk *hunk = review_hunk(item, part);
	size_t i;

	for (i = 0; !part && i < item->count; i++)
		if (regexec(regex, review_entry_at(row->review, item, i)->path,
			    0, NULL, 0) == 0)
			return true;
	for (i = 0; hunk && i < hunk->lines.count; i++) {
		auto_free char *line = mem_strndup(hunk->lines.items[i].text,
						   hunk->lines.items[i].len);

		if (hunk->lines.items[i].kind != ' ' &&
		    regexec(regex, line, 0, NULL, 0) == 0)
			return true;
	}
	return false;
}

/* Looks at the parts [first, end) of a row, or at all behind `first`. */
static bool find_match(const struct review_row *row, size_t first, size_t end,
		       const regex_t *regex, bool back, size_t *ret_part)
{
	struct review_item *item = review_list_item(row);
	bool was_open = item->opened, found = false;
	size_t i;

	open_row(row);
	end = end < item->parts ? end : item->parts;
	for (i = first; i < end && !found; i++) {
		*ret_part = back ? end - 1 - (i - first) : i;
		found = part_matches(row, *ret_part, regex);
	}
	if (!was_open && !found)
		review_close(row->review, item);
	return found;
}

bool review_list_search(struct review_list *l, const regex_t *regex, bool back,
			bool parts)
{
	size_t count = l->shown.count, i;

	for (i = !parts; count && i <= count; i++) {
		size_t at = (l->at + (back ? count - i % count : i)) % count;
		size_t first = i || back ? 0 : l->part + 1;
		size_t end = !i && back ? l->part : (size_t)-1, part;

		if (find_match(shown_row(l, at), first, end, regex, back,
			       &part)) {
			l->at = at;
			l->part = part;
			return true;
		}
	}
	return false;
}

/* --- answers --- */

static bool has_copy(unsigned int loss)
{
	return loss == LOSS_COPIED || loss == LOSS_IN_GIT ||
	       loss == LOSS_IN_HISTORY || loss == LOSS_GENERATED;
}

size_t review_list_count_lost(const struct review_row *row, size_t *ret_work)
{
	const struct review_item *item = review_list_item(row);
	size_t files = 0, i;

	*ret_work = 0;
	for (i = 0; i < item->count; i++) {
		const struct review_entry *e =
			review_entry_at(row->review, item, i);

		if (item->move || e->now.mode)
			*ret_work += e->loss >= LOSS_WORK;
		else
			files += !S_ISDIR(e->old.mode) && !has_copy(e->loss);
	}
	return files;
}

/* Accepted only by an answer for just this row, or by a smaller scope. */
static bool needs_own_answer(const struct review_row *row,
			     enum review_scope scope)
{
	const struct review_item *item = review_list_item(row);

	return review_needs_consent(row->review, item) ||
	       (scope == REVIEW_SCOPE_REST &&
		review_worst_loss(row->review, item) >= LOSS_WORK);
}

static bool is_in_scope(const struct review_row *row,
			const struct review_row *selected, const char *dir,
			enum review_scope scope)
{
	const char *path = review_list_item(row)->path;

	switch (scope) {
	case REVIEW_SCOPE_REST:
		return true;
	case REVIEW_SCOPE_BUCKET:
		return row->bucket == selected->bucket;
	case REVIEW_SCOPE_DIR:
		return row->bucket == selected->bucket &&
		       row->review == selected->review && path_below(path, dir);
	default:
		return row == selected;
	}
}

void review_list_targets(const struct review_list *l, enum review_scope scope,
			 enum review_answer answer, struct review_targets *ret)
{
	const struct review_row *selected = review_list_row(l);
	auto_free char *dir = NULL;
	size_t i;

	*ret = (struct review_targets){
		.open_only = scope != REVIEW_SCOPE_ITEM,
	};
	if (!selected)
		return;
	dir = path_parent(review_list_item(selected)->path);
	for (i = 0; i < l->shown.count; i++) {
		const struct review_row *row = shown_row(l, i);
		size_t work;

		if (!is_in_scope(row, selected, dir, scope))
			continue;
		if (scope != REVIEW_SCOPE_ITEM) {
			if (!is_open(review_list_item(row)))
				continue;
			if (answer == REVIEW_YES &&
			    needs_own_answer(row, scope)) {
				ret->apart++;
				continue;
			}
		}
		*VEC_ADD(&ret->rows) = l->shown.items[i];
		ret->lost += review_list_count_lost(row, &work);
		ret->work += work;
	}
}

void review_list_targets_free(struct review_targets *targets)
{
	VEC_FREE(&targets->rows);
}

static struct review_undo *begin_undo(struct review_list *l)
{
	struct review_undo *u = VEC_ADD(&l->undo);

	u->row = l->shown.items[l->at];
	return u;
}

static void remember(struct review_undo *u, const struct review_row *row)
{
	const struct review_item *item = review_list_item(row);

	*VEC_ADD(&u->items) = (struct review_undo_item){
		.root = row->root,
		.item = row->item,
		.answers = mem_dup(item->answers,
				   item->parts * sizeof(*item->answers)),
		.parts = item->parts,
	};
}

static void answer_part(struct review_list *l, const struct review_row *row,
			size_t part, enum review_answer answer)
{
	decisions_answer(l->decisions, row->root, row->review,
			 review_list_item(row), part, answer);
}

size_t review_list_answer(struct review_list *l,
			  const struct review_targets *targets,
			  enum review_answer answer)
{
	struct review_undo *u;
	size_t i, k;

	if (!targets->rows.count)
		return 0;
	u = begin_undo(l);
	decisions_begin(l->decisions);
	for (i = 0; i < targets->rows.count; i++) {
		const struct review_row *row =
			&l->rows.items[targets->rows.items[i]];
		struct review_item *item = review_list_item(row);

		remember(u, row);
		if (!targets->open_only || item->parts == 1) {
			answer_part(l, row, DECISIONS_ALL, answer);
			continue;
		}
		for (k = 0; k < item->parts; k++)
			if (item->answers[k] == REVIEW_OPEN)
				answer_part(l, row, k, answer);
	}
	decisions_end(l->decisions);
	return targets->rows.count;
}

void review_list_answer_part(struct review_list *l, bool rest,
			     enum review_answer answer)
{
	const struct review_row *row = review_list_row(l);
	size_t part = l->part;

	if (!row || part >= review_list_item(row)->parts)
		return;
	remember(begin_undo(l), row);
	decisions_begin(l->decisions);
	do
		answer_part(l, row, part++, answer);
	while (rest && part < review_list_item(row)->parts);
	decisions_end(l->decisions);
}

void review_list_answer_kind(struct review_list *l, struct review_kinds *k,
			     const struct kind *kind, enum review_answer answer)
{
	struct review_undo *u = begin_undo(l);
	size_t i, last = 0;

	/* The hunks of an item follow each other. */
	for (i = 0; i < kind->places.count; i++) {
		size_t item = kind->places.items[i].item;
		const struct review_row row = {
			.review = review_kinds_review(k, item),
			.root = k->items.items[item].root,
			.item = k->items.items[item].item,
		};

		if (!i || item != last)
			remember(u, &row);
		last = item;
	}
	review_kinds_answer(k, l->decisions, kind, answer);
}

void review_list_edited(struct review_list *l)
{
	const struct review_row *row = review_list_row(l);

	remember(begin_undo(l), row);
	decisions_edited(l->decisions, row->root, row->review,
			 review_list_item(row), l->part);
	answer_part(l, row, l->part, REVIEW_YES);
}

void review_list_view(struct review_list *l, bool viewed)
{
	const struct review_row *row = review_list_row(l);

	if (row && review_list_item(row)->viewed != viewed)
		decisions_view(l->decisions, row->root, row->review,
			       review_list_item(row), viewed);
}

/* The item was closed or opened since: then it had one answer for all. */
static void restore_answers(struct review_list *l,
			    const struct review_undo_item *u)
{
	const struct review_row row = {
		.review = l->reviews[u->root],
		.root = u->root,
		.item = u->item,
	};
	struct review_item *item = review_list_item(&row);
	struct err ignored;
	size_t i;

	if (u->parts > 1 && item->parts == 1)
		(void)review_open(row.review, item, &ignored);
	for (i = 0; i < item->parts; i++)
		answer_part(l, &row, i, u->answers[i < u->parts ? i : 0]);
}

bool review_list_undo(struct review_list *l)
{
	struct review_undo *u;
	size_t i;

	if (!l->undo.count)
		return false;
	u = &l->undo.items[l->undo.count - 1];
	decisions_begin(l->decisions);
	for (i = 0; i < u->items.count; i++)
		restore_answers(l, &u->items.items[i]);
	decisions_end(l->decisions);
	show_rows(l, u->row);
	free_undo(u);
	l->undo.count--;
	return true;
}

size_t review_list_split(struct review_list *l)
{
	struct review_row *row = review_list_row(l);
	size_t part = l->part;
	size_t had, item, i;
	struct review *r;

	if (!row || !review_can_split(row->review, review_list_item(row), part))
		return 0;
	/* Items and parts get other places. */
	clear_undo(l);
	r = row->review;
	if (review_list_item(row)->count == 1) {
		had = review_list_item(row)->parts;
		decisions_split(l->decisions, row->root, r, row->item, part);
		return review_list_item(row)->parts - had + 1;
	}
	had = r->count;
	item = row->item;
	decisions_split(l->decisions, row->root, r, item, part);
	collect_rows(l);
	for (i = 0; i + 1 < l->rows.count; i++)
		if (l->rows.items[i].review == r &&
		    l->rows.items[i].item == item)
			break;
	show_rows(l, i);
	return r->count - had + 1;
}

void review_list_sum(const struct review_list *l, struct review_counts *ret)
{
	size_t i;

	*ret = (struct review_counts){0};
	for (i = 0; i < l->review_count; i++)
		review_count(l->reviews[i], ret);
}
