#include "guard/review/review.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/vec.h"
#include "guard/state/report.h"
#include "snapshot/store/content.h"

/* A new directory with more entries is one item. */
#define GROUP_LEAST 30
/* Files above it are taken whole. */
#define TEXT_MAX (1u << 20)

static void review_item_free(struct review_item *item)
{
	hunks_free(&item->hunks);
	buf_free(&item->old);
	buf_free(&item->now);
	free(item->answers);
	free(item->list);
	free(item->path);
}

void review_entry_free(struct review_entry *e)
{
	free(e->path);
	entry_free(&e->old);
	entry_free(&e->now);
	risks_free(&e->risks);
}

void review_free(struct review *r)
{
	size_t i;

	for (i = 0; i < r->count; i++)
		review_item_free(&r->items[i]);
	for (i = 0; i < r->entry_count; i++)
		review_entry_free(&r->entries[i]);
	for (i = 0; i < r->clashes.count; i++)
		free(r->clashes.items[i].conflict.path);
	VEC_FREE(&r->clashes);
	free(r->items);
	free(r->entries);
	*r = (struct review){0};
}

const struct review_entry *review_entry(const struct review *r,
					const struct review_item *item)
{
	return &r->entries[item->list[0]];
}

struct review_entry *review_entry_at(const struct review *r,
				     const struct review_item *item, size_t i)
{
	return &r->entries[item->list[i]];
}

const struct review_entry *review_moved_from(const struct review *r,
					     const struct review_item *item,
					     size_t pair)
{
	return review_entry_at(r, item, 2 * pair + 1);
}

bool review_is_dir(const struct review_entry *e)
{
	return S_ISDIR(e->now.mode ? e->now.mode : e->old.mode);
}

bool review_is_group(const struct review_item *item)
{
	return item->count > (item->move ? 2 : 1);
}

void review_add_clashes(struct review *r, const struct conflict_list *list)
{
	size_t i;

	for (i = 0; i < list->count; i++) {
		const struct conflict *c = &list->items[i];
		auto_free char *at = mem_strdup(c->path);
		struct review_entry *e = NULL;

		while (*at && !(e = FIND_BY_PATH(at, r->entries, r->entry_count,
						 path))) {
			char *parent = path_parent(at);

			free(at);
			at = parent;
		}
		if (!e)
			continue;
		e->conflict = true;
		*VEC_ADD(&r->clashes) = (struct review_clash){
			.conflict = {c->kind, mem_strdup(c->path)},
			.entry = (size_t)(e - r->entries),
		};
	}
}

bool review_has_clash(const struct review *r, const struct review_item *item)
{
	size_t i;

	for (i = 0; i < item->count; i++)
		if (r->entries[item->list[i]].conflict)
			return true;
	return false;
}

void review_add_item(struct review *r, const char *path, size_t *list,
		     size_t count, bool move)
{
	struct review_item item = {
		.path = mem_strdup(path),
		.list = list,
		.count = count,
		.move = move,
		.parts = 1,
		.answers = mem_zalloc(sizeof(*item.answers)),
	};
	const struct review_entry *e;
	bool deleted = true, added = true;
	size_t i;

	for (i = 0; i < count; i++) {
		e = &r->entries[list[i]];
		item.here |= e->here;
		if (risks_worst(&e->risks) > item.worst)
			item.worst = risks_worst(&e->risks);
		deleted &= !e->now.mode;
		added &= !e->old.mode;
	}
	e = &r->entries[list[0]];
	if (deleted)
		item.section = REVIEW_DELETED;
	else if (item.worst >= RISK_HIGH)
		item.section = REVIEW_RISKY;
	else if (move)
		item.section = REVIEW_MOVED;
	else if (risk_is_generated(path_name(path)))
		item.section = REVIEW_GENERATED;
	else if (added)
		item.section = REVIEW_ADDED;
	else if (e->old.mode && e->now.mode &&
		 (e->old.mode & S_IFMT) != (e->now.mode & S_IFMT))
		item.section = REVIEW_TYPE;
	else
		item.section = entry_same_content(&e->old, &e->now)
				       ? REVIEW_RIGHTS
				       : REVIEW_MODIFIED;
	*VEC_ADD(r) = item;
}

static void add_item_range(struct review *r, const char *path, size_t first,
			   size_t count)
{
	size_t *list = mem_alloc(count * sizeof(*list)), i;

	for (i = 0; i < count; i++)
		list[i] = first + i;
	review_add_item(r, path, list, count, false);
}

/*
 * An entry with everything below it: complete deletions, changes of type, and
 * new directories that are too large to read file by file.
 */
static bool belongs_together(const struct review_entry *e, size_t count)
{
	bool was = S_ISDIR(e->old.mode), is = S_ISDIR(e->now.mode);

	if (was == is)
		return !was;
	return e->old.mode || count == 1 || count > GROUP_LEAST ||
	       strcmp(path_name(e->path), ".git") == 0;
}

/* The entries of a deleted directory, or of a large new one, that were not
 * moved. */
static bool add_unmoved_rest(struct review *r, const char *path, size_t first,
			     size_t count)
{
	const struct review_entry *e = &r->entries[first];
	bool was = S_ISDIR(e->old.mode), is = S_ISDIR(e->now.mode);
	size_t *list, files = 0, n = 0, i;

	if (was == is)
		return false;
	list = mem_alloc(count * sizeof(*list));
	for (i = first; i < first + count; i++) {
		const struct review_entry *each = &r->entries[i];

		if (each->claimed)
			continue;
		list[n++] = i;
		files += !S_ISDIR(was ? each->old.mode : each->now.mode);
	}
	if (!files || (is && files <= GROUP_LEAST)) {
		free(list);
		return false;
	}
	review_add_item(r, path, list, n, false);
	r->items[r->count - 1].incomplete = true;
	return true;
}

void review_add_items(struct review *r, size_t first, size_t end,
		      const char *dir)
{
	while (first < end) {
		const struct review_entry *e = &r->entries[first];
		auto_free char *made = risk_generated_dir(e->path, dir);
		const char *path = made ? made : e->path;
		/* Something of it was moved: it is no one thing any more. */
		bool incomplete = false;
		size_t i = first, count;

		if (e->claimed) {
			first++;
			continue;
		}
		for (;
		     i < r->entry_count && path_below(r->entries[i].path, path);
		     i++)
			incomplete |= r->entries[i].claimed;
		count = i - first;
		if (incomplete && add_unmoved_rest(r, path, first, count)) {
			first += count;
			continue;
		}
		if (!incomplete && (made || belongs_together(e, count))) {
			add_item_range(r, path, first, count);
			first += count;
			continue;
		}
		/* A directory that stays: its mode, and each of its entries. A
		 * deleted directory whose entries are accepted one by one is
		 * deleted with its last entry. */
		if (e->old.mode && (e->now.mode || !S_ISDIR(e->old.mode)))
			add_item_range(r, path, first, 1);
		first++;
	}
}

int review_read(const struct review *r, const struct entry *e, struct buf *to,
		struct err *err)
{
	return S_ISREG(e->mode) ? content_append(r->store, &e->content, to, err)
				: 0;
}

const struct entry *review_old(const struct review *r,
			       const struct review_item *item)
{
	return item->move ? &review_moved_from(r, item, 0)->old
			  : &review_entry(r, item)->old;
}

int review_open(struct review *r, struct review_item *item, struct err *err)
{
	const struct review_entry *e = review_entry(r, item);
	const struct entry *from = review_old(r, item);
	uint32_t old = from->mode, now = e->now.mode;
	bool has_text = !review_is_group(item) && (!old || S_ISREG(old)) &&
			(!now || S_ISREG(now)) && from->size <= TEXT_MAX &&
			e->now.size <= TEXT_MAX &&
			!((from->flags | e->now.flags) & ENTRY_INCOMPLETE) &&
			!(old && now && entry_same_content(from, &e->now));
	enum review_answer answer = item->answers[0];
	size_t i;
	int got;

	if (item->opened || !has_text) {
		item->opened = true;
		return 0;
	}
	if (review_read(r, from, &item->old, err) < 0 ||
	    review_read(r, &e->now, &item->now, err) < 0)
		return -err->num;
	got = hunks_make(&item->old, &item->now, &item->hunks, err);
	/* The file is one part then. */
	if (got < 0 && got != -ENOPKG && got != -EPROTO)
		return got;
	if (got == -EPROTO)
		report_warning("%s cannot be compared (%s); treated as binary",
			       text_quote(e->path), err->text);
	item->opened = true;
	item->uncompared = got < 0;
	item->counted = got == 0;
	item->added = item->hunks.added;
	item->removed = item->hunks.removed;
	/* A deletion is always complete. */
	if (got || !now || !item->hunks.count)
		return 0;
	item->rights = old && !entry_same_meta(from, &e->now);
	item->parts = item->hunks.count + item->rights;
	free(item->answers);
	item->answers = mem_zalloc(item->parts * sizeof(*item->answers));
	for (i = 0; answer && i < item->parts; i++)
		review_answer_part(r, item, i, answer);
	return 0;
}

void review_close(struct review *r, struct review_item *item)
{
	enum review_answer answer = item->answers[0];
	size_t i;

	if (!item->opened || item->divided)
		return;
	for (i = 0; i < item->parts; i++)
		if (item->answers[i] != answer)
			return;
	for (i = 0; i < item->hunks.count; i++)
		if (item->hunks.items[i].edited)
			return;
	hunks_free(&item->hunks);
	buf_free(&item->old);
	buf_free(&item->now);
	item->opened = item->rights = item->uncompared = false;
	item->parts = 1;
	review_answer_part(r, item, 0, answer);
}

struct hunk *review_hunk(const struct review_item *item, size_t part)
{
	if (part < item->rights || part - item->rights >= item->hunks.count)
		return NULL;
	return &item->hunks.items[part - item->rights];
}

/* --- smaller parts --- */

bool review_can_split(const struct review *r, const struct review_item *item,
		      size_t part)
{
	const struct review_entry *e = review_entry(r, item);
	const struct hunk *hunk;

	if (item->move)
		return true;
	/* A file that replaces a directory needs the deletion of the
	 * directory's entries, and the other way round. */
	if (item->count > 1)
		return strcmp(e->path, item->path) != 0 || !e->old.mode ||
		       !e->now.mode;
	hunk = review_hunk(item, part);
	return hunk && item->parts > item->rights && hunks_can_split(hunk) &&
	       e->now.mode;
}

static void add_split_item(struct review *r, const size_t *from, size_t count,
			   bool move)
{
	size_t *list = mem_dup(from, count * sizeof(*list));

	review_add_item(r, r->entries[from[0]].path, list, count, move);
}

/* A directory with entries is added or deleted with them. */
static bool holds_entries(const struct review *r, size_t at)
{
	const struct review_entry *e = &r->entries[at];

	return review_is_dir(e) && at + 1 < r->entry_count &&
	       path_below(r->entries[at + 1].path, e->path);
}

/* The new items stand at the end for a moment, then at the old one's place. */
static void split_group(struct review *r, size_t at)
{
	struct review_item group = r->items[at];
	bool itself = strcmp(review_entry(r, &group)->path, group.path) == 0;
	size_t had = r->count, more, i;
	struct review_item *made;

	/* The pairs of a move, or the two ends of a single one. */
	if (group.move && group.count == 2) {
		add_split_item(r, &group.list[1], 1, false);
		add_split_item(r, &group.list[0], 1, false);
	} else if (group.move) {
		for (i = 0; i < group.count; i += 2)
			if (!holds_entries(r, group.list[i]) ||
			    !holds_entries(r, group.list[i + 1]))
				add_split_item(r, &group.list[i], 2, true);
	} else {
		review_add_items(r, group.list[0] + itself,
				 group.list[group.count - 1] + 1, group.path);
	}
	more = r->count - had;
	made = mem_dup(r->items + had, more * sizeof(*made));
	memmove(r->items + at + more, r->items + at + 1,
		(had - at - 1) * sizeof(*made));
	memcpy(r->items + at, made, more * sizeof(*made));
	r->count--;
	free(made);
	review_item_free(&group);
}

void review_split(struct review *r, size_t item, size_t part)
{
	struct review_item *split = &r->items[item];
	size_t had = split->hunks.count, more, i;

	if (split->count > 1 && !(review_hunk(split, part) &&
				  hunks_can_split(review_hunk(split, part)))) {
		split_group(r, item);
		return;
	}
	hunks_split(&split->hunks, part - split->rights);
	split->divided = true;
	more = split->hunks.count - had;
	split->answers = mem_resize(split->answers, split->parts + more,
				    sizeof(*split->answers));
	memmove(split->answers + part + more, split->answers + part,
		(split->parts - part) * sizeof(*split->answers));
	/* Each part of the hunk has its answer. */
	for (i = part; i < part + more; i++)
		split->answers[i] = split->answers[part + more];
	split->parts += more;
}

/* --- answers --- */

/* One change: a file, or both paths of its move. */
static bool is_single(const struct review_item *item)
{
	return item->count == 1 || (item->move && item->count == 2);
}

static bool is_critical(const struct review_entry *e)
{
	return e->now.mode && risks_worst(&e->risks) == RISK_CRITICAL;
}

bool review_is_refused(const struct review *r, const struct review_item *item)
{
	bool alone = item->count == 1 && r->may_agree;
	size_t i;

	for (i = 0; i < item->count; i++) {
		const struct review_entry *e = review_entry_at(r, item, i);

		if ((e->special && !alone) ||
		    (is_critical(e) && !is_single(item)))
			return true;
	}
	return false;
}

bool review_needs_consent(const struct review *r,
			  const struct review_item *item)
{
	size_t i;

	for (i = 0; i < item->count; i++)
		if (review_entry_at(r, item, i)->special)
			return true;
	return item->worst >= RISK_CRITICAL;
}

unsigned int review_worst_loss(const struct review *r,
			       const struct review_item *item)
{
	unsigned int worst = 0;
	size_t i;

	for (i = 0; i < item->count; i++) {
		unsigned int loss = review_entry_at(r, item, i)->loss;

		worst = loss > worst ? loss : worst;
	}
	return worst;
}

void review_list_agreed(const struct review *r, char ***to)
{
	size_t i, k;

	for (i = 0; i < r->count; i++) {
		const struct review_item *item = &r->items[i];

		if (!review_is_accepted(item) || !is_single(item))
			continue;
		for (k = 0; k < item->count; k++) {
			const struct review_entry *e =
				review_entry_at(r, item, k);

			if ((e->special && item->count == 1) || is_critical(e))
				mem_list_add(to, e->path);
		}
	}
}

void review_answer_part(struct review *r, struct review_item *item, size_t part,
			enum review_answer answer)
{
	struct hunk *hunk = review_hunk(item, part);

	if (answer == REVIEW_YES && review_is_refused(r, item))
		answer = REVIEW_NO;
	item->answers[part] = answer;
	if (hunk)
		hunk->accepted = answer == REVIEW_YES;
}

struct review_tally review_tally(const struct review_item *item)
{
	struct review_tally n = {0};
	size_t i;

	for (i = 0; i < item->parts; i++) {
		n.yes += item->answers[i] == REVIEW_YES;
		n.no += item->answers[i] == REVIEW_NO;
		n.open += item->answers[i] == REVIEW_OPEN;
	}
	return n;
}

bool review_is_accepted(const struct review_item *item)
{
	return review_tally(item).yes > 0;
}

void review_count(const struct review *r, struct review_counts *to)
{
	size_t i;

	for (i = 0; i < r->count; i++) {
		const struct review_item *item = &r->items[i];
		struct review_tally n = review_tally(item);

		to->items++;
		to->open_first += n.open && item->section <= REVIEW_RISKY;
		if (n.yes)
			++*(n.yes == item->parts ? &to->yes : &to->partly);
		else
			++*(n.open ? &to->open : &to->no);
	}
}
