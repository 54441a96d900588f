#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/vec.h"
#include "guard/review/review.h"
#include "guard/rules/risk.h"
#include "restore/git/moves.h"

/* A file whose bytes were replaced. A move onto such a file is reported, but
 * the two paths stay items of their own. */
static bool replaces_content(const struct review_entry *e)
{
	return S_ISREG(e->old.mode) && S_ISREG(e->now.mode) &&
	       !entry_same_content(&e->old, &e->now);
}

void review_moves_find(struct review *r)
{
	AUTO(moves) struct moves m = {0};
	/* Entries of a directory that was a file, or the other way round, are
	 * accepted with it or not at all. */
	const char *other = NULL;
	size_t i;

	for (i = 0; i < r->entry_count; i++) {
		const struct review_entry *e = &r->entries[i];
		const struct entry *it = e->now.mode ? &e->now : &e->old;
		struct moves_file *f;

		if (other && path_below(e->path, other))
			continue;
		if (e->old.mode && e->now.mode &&
		    (e->old.mode & S_IFMT) != (e->now.mode & S_IFMT))
			other = e->path;
		if (e->special || e->node ||
		    (e->old.mode && e->now.mode && !replaces_content(e)) ||
		    path_has_part(e->path, ".git") ||
		    risk_in_generated(e->path) ||
		    risk_is_generated(path_name(e->path)))
			continue;
		f = moves_add(&m, e->now.mode != 0, e->path, it->mode,
			      it->size);
		f->index = i;
		f->entry = it;
		f->over = e->now.mode && replaces_content(e);
	}
	moves_find_stored(&m, r->store);
	for (i = 0; i < m.added.count; i++) {
		const struct moves_file *f = &m.added.items[i];
		struct review_entry *now, *old;

		if (!f->other)
			continue;
		now = &r->entries[f->index];
		old = &r->entries[f->other->index];
		now->peer = f->other->index + 1;
		old->peer = f->index + 1;
		now->percent = old->percent = f->percent;
		now->with_dir = old->with_dir =
			f->with_parent && f->percent == 100 &&
			entry_same_meta(&old->old, &now->now) && !now->here &&
			!old->here;
	}
}

/* --- items --- */

/* Indexes of entries: of one item of a move, the head first. */
struct pairs {
	size_t *items;
	size_t count, capacity;
};

void review_moves_add_items(struct review *r)
{
	VEC(struct pairs) heads = {0};
	/* Moved directories, each inside the one before: places in heads. */
	VEC(size_t) above = {0};
	size_t i;

	for (i = 0; i < r->entry_count; i++) {
		struct review_entry *e = &r->entries[i];
		size_t at;

		if (!e->peer || !e->now.mode || e->old.mode)
			continue;
		while (above.count) {
			at = above.items[above.count - 1];
			if (path_below(
				    e->path,
				    r->entries[heads.items[at].items[0]].path))
				break;
			above.count--;
		}
		if (!e->with_dir || !above.count) {
			at = heads.count;
			(void)VEC_ADD(&heads);
			if (S_ISDIR(e->now.mode))
				*VEC_ADD(&above) = at;
		}
		*VEC_ADD(&heads.items[at]) = i;
		*VEC_ADD(&heads.items[at]) = e->peer - 1;
		e->claimed = r->entries[e->peer - 1].claimed = true;
	}
	for (i = 0; i < heads.count; i++)
		review_add_item(r, r->entries[heads.items[i].items[0]].path,
				heads.items[i].items, heads.items[i].count,
				true);
	VEC_FREE(&heads);
	VEC_FREE(&above);
}

const struct review_entry *review_moved_from(const struct review *r,
					     const struct review_item *item,
					     size_t pair)
{
	return review_entry_at(r, item, 2 * pair + 1);
}

int review_moved_hunks(const struct review *r, const struct review_item *item,
		       struct buf *old, struct buf *now, struct hunks *ret,
		       struct err *err)
{
	const struct review_entry *to = review_entry(r, item);

	if (to->percent == 100)
		return 0;
	if (review_read(r, &review_moved_from(r, item, 0)->old, old, err) < 0 ||
	    review_read(r, &to->now, now, err) < 0)
		return -err->num;
	return hunks_make(old, now, ret, err);
}
