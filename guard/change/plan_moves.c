#include "guard/change/plan_moves.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/path.h"
#include "guard/changes.h"
#include "guard/jsonout.h"
#include "restore/entry_compare.h"
#include "snapshot/tree/tree.h"

struct deleted_step {
	struct moves *to;
	const struct plan *plan;
	const char *path; /* of the step */
};

static int add_plan_deletion(void *arg, const char *path, const struct entry *e,
			     struct err *err)
{
	const struct deleted_step *d = arg;
	auto_free char *full_path = path_join(d->path, path);

	(void)err;
	if (!path_has_part(full_path, ".git") &&
	    !plan_is_over(d->plan, full_path))
		moves_add_copy(d->to, false, full_path, e);
	return 0;
}

static int collect_plan_moves(struct store *store, const struct plan *plan,
			      struct moves *to, struct err *err)
{
	struct deleted_step d = {.to = to, .plan = plan};
	bool any = false;
	size_t i;

	for (i = 0; i < plan->steps.count; i++)
		any |= plan->steps.items[i].kind == STEP_CREATE;
	for (i = 0; any && i < plan->steps.count; i++) {
		d.path = plan->steps.items[i].path;
		if (plan->steps.items[i].kind == STEP_DELETE &&
		    tree_each(store, &plan->steps.items[i].from,
			      add_plan_deletion, &d, err) < 0)
			return -err->num;
	}
	for (i = 0; to->deleted.count && i < plan->steps.count; i++) {
		const struct step *s = &plan->steps.items[i];

		if (s->kind == STEP_CREATE && s->how == STEP_PLAIN &&
		    !path_has_part(s->path, ".git"))
			moves_add_copy(to, true, s->path, &s->to);
	}
	return 0;
}

int plan_moves_make(struct store *store, const struct plan *plan,
		    struct plan_moves *ret, struct err *err)
{
	const struct moves *m = &ret->moves;
	size_t i;

	*ret = (struct plan_moves){0};
	if (collect_plan_moves(store, plan, &ret->moves, err) < 0)
		return -err->num;
	moves_find_stored(&ret->moves, store);
	ret->items = mem_zalloc((m->added.count + 1) * sizeof(*ret->items));
	for (i = 0; i < m->added.count; i++) {
		const struct moves_file *f = &m->added.items[i], *g = f->other;
		struct change_move *move = &ret->items[ret->count];

		if (!g)
			continue;
		*move = (struct change_move){
			.from = g->path,
			.to = f->path,
			.old = changes_side(g->entry),
			.now = changes_side(f->entry),
			.percent = f->percent,
			.with_dir = f->with_parent && f->percent == 100 &&
				    entry_same_meta(g->entry, f->entry),
		};
		move->now.uid = entry_apply_owner(f->entry);
		ret->count++;
	}
	changes_moves_count(ret->items, ret->count);
	return 0;
}

void plan_moves_free(struct plan_moves *m)
{
	moves_free(&m->moves);
	free(m->items);
}

bool plan_moves_has(const struct plan_moves *m, const char *path, bool added)
{
	return moves_at(&m->moves, added, path) != NULL;
}

json_t *plan_moves_json(const struct plan_moves *m)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < m->count; i++)
		if (!m->items[i].with_dir)
			(void)json_array_append_new(array,
						    jsonout_move(&m->items[i]));
	return array;
}
