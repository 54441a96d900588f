#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "guard/review/review.h"
#include "guard/rules/risk.h"

/* A file that replaced another type of entry, or is below one, is accepted with
 * it or not at all. */
static bool is_of_other_type(const struct review *r, const char *path)
{
	auto_free char *at = mem_strdup(path);
	const struct review_entry *e = NULL;

	while (*at && !(e && e->change.kind == CHANGE_TYPE)) {
		char *parent = path_parent(at);

		e = FIND_BY_PATH(at, r->entries, r->entry_count, path);
		free(at);
		at = parent;
	}
	return e && e->change.kind == CHANGE_TYPE;
}

/* The entry, if it can be an end of a move. */
static struct review_entry *find_end(const struct review *r, const char *path)
{
	struct review_entry *e =
		FIND_BY_PATH(path, r->entries, r->entry_count, path);

	return !e || e->special || path_has_part(path, ".git") ||
			       risk_in_generated(path) ||
			       risk_is_generated(path_name(path)) ||
			       is_of_other_type(r, path)
		       ? NULL
		       : e;
}

void review_moves_find(struct review *r, const struct change_list *list)
{
	size_t i;

	for (i = 0; i < list->move_count; i++) {
		const struct change_move *m = &list->moves[i];
		struct review_entry *now = find_end(r, m->to);
		struct review_entry *old = find_end(r, m->from);

		if (m->half || !now || !old || !now->now.mode || old->now.mode)
			continue;
		now->peer = (size_t)(old - r->entries) + 1;
		old->peer = (size_t)(now - r->entries) + 1;
		now->percent = old->percent = m->percent;
		now->with_dir = old->with_dir =
			m->with_dir && entry_same_meta(&old->old, &now->now) &&
			!now->here && !old->here;
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
