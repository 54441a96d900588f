/*
 * The state of plan_make(): the user's decisions, and the lists that the parts
 * of the planner add to.
 *
 * With RESOLVE_OURS the path of each conflict stays unchanged. With
 * RESOLVE_THEIRS the version of want replaces a file or symbolic link that the
 * user changed, created or deleted; the user's version is in the snapshot of
 * now. Any other entry of the user stays a conflict.
 */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"
#include "restore/plan/plan_private.h"

const struct entry planner_nothing;

void plan_step_free(struct step *s)
{
	free(s->path);
	entry_free(&s->from);
	entry_free(&s->to);
	free(s->hardlink_to);
}

void planner_free(struct planner *pl)
{
	size_t i;

	lookup_free(&pl->find_base);
	lookup_free(&pl->find_want);
	lookup_free(&pl->find_now);
	pathset_free(&pl->meant);
	pathset_free(&pl->except);
	free(pl->skip);
	free(pl->ready);
	for (i = 0; i < pl->made.count; i++)
		free(pl->made.items[i]);
	free(pl->made.items);
	for (i = 0; i < pl->gits.count; i++)
		free(pl->gits.items[i].path);
	free(pl->gits.items);
	for (i = 0; i < pl->times.count; i++)
		plan_step_free(&pl->times.items[i]);
	free(pl->times.items);
}

void planner_skip_below(struct planner *pl, const char *path)
{
	free(pl->skip);
	pl->skip = mem_strdup(path);
}

static void add_conflict(struct conflict_list *list, enum conflict_kind kind,
			 const char *path)
{
	*VEC_ADD(list) = (struct conflict){
		.kind = kind,
		.path = mem_strdup(path),
	};
}

void planner_conflict(struct planner *pl, enum conflict_kind kind,
		      const char *path)
{
	struct plan *p = pl->plan;

	if (planner_resolve(pl, path) == RESOLVE_OURS)
		add_conflict(&p->kept, kind, path);
	else
		add_conflict(&p->conflicts, kind, path);
}

void planner_unmerged(struct planner *pl, const char *path)
{
	add_conflict(&pl->plan->conflicts, CONFLICT_UNMERGED, path);
}

void planner_keep(struct planner *pl, enum conflict_kind kind, const char *path)
{
	struct plan *p = pl->plan;

	add_conflict(&p->kept, kind, path);
}

/* A path may be replaced for two reasons: the first one is listed. */
void planner_overwrite(struct planner *pl, enum conflict_kind kind,
		       const char *path)
{
	struct plan *p = pl->plan;

	if (p->over.count &&
	    strcmp(p->over.items[p->over.count - 1].path, path) == 0)
		return;
	add_conflict(&p->over, kind, path);
}

void planner_conflict_subtree(struct planner *pl, enum conflict_kind kind,
			      const char *path)
{
	planner_conflict(pl, kind, path);
	planner_skip_below(pl, path);
}

const struct plan_choice *planner_choice(const struct planner *pl,
					 const char *path)
{
	return FIND_BY_PATH(path, pl->options->choices,
			    pl->options->choice_count, path);
}

enum plan_resolve planner_resolve(const struct planner *pl, const char *path)
{
	const struct plan_choice *choice = planner_choice(pl, path);

	return choice ? choice->resolve : pl->options->resolve;
}

bool planner_takes_theirs(const struct planner *pl, const char *path)
{
	return planner_resolve(pl, path) == RESOLVE_THEIRS;
}

bool planner_is_named(const struct planner *pl, const char *path)
{
	return mem_list_has(pl->options->paths, path);
}

void planner_set_how(struct planner *pl, size_t from, enum step_how how)
{
	for (; from < pl->plan->steps.count; from++)
		pl->plan->steps.items[from].how = how;
}

void step_push(struct planner *pl, enum step_kind kind, const char *path,
	       const struct entry *from, const struct entry *to)
{
	struct step *s = VEC_ADD(&pl->plan->steps);

	s->kind = kind;
	s->path = mem_strdup(path);
	entry_copy(&s->from, from);
	entry_copy(&s->to, to);
}

/* For a name that base does not have, its topmost missing parent is looked up:
 * the user may have deleted it in between. */
int planner_moved(struct planner *pl, const struct row *row, struct err *err)
{
	const struct snapshot *s = pl->options->base_notes;
	auto_free char *path = mem_strdup(row->path);

	if (!s || !s->note_count || (pl->options->partial && !row->base->mode))
		return 0;
	if (row->base->mode)
		return snapshot_moved(s, path, true);
	while (*path) {
		AUTO(entry) struct entry e = {0};
		auto_free char *up = path_parent(path);
		int got = lookup_find(&pl->find_base, up, &e, err);

		if (got < 0)
			return got;
		if (got)
			break;
		free(path);
		path = TAKE(up);
	}
	return snapshot_moved(s, path, false);
}
