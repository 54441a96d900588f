/*
 * Conflicts and the user's decisions about them.
 *
 * With RESOLVE_OURS the path of each conflict stays unchanged. With
 * RESOLVE_THEIRS the version of want replaces a file or symbolic link that the
 * user changed, created or deleted; the user's version is in the snapshot of
 * now. Any other entry of the user stays a conflict.
 */
#include <string.h>
#include <sys/stat.h>

#include "restore/plan/plan_private.h"

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

	if (pl->options->resolve == RESOLVE_OURS)
		add_conflict(&p->kept, kind, path);
	else
		add_conflict(&p->conflicts, kind, path);
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

bool planner_takes_theirs(const struct planner *pl)
{
	return pl->options->resolve == RESOLVE_THEIRS;
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

/* Replaces a present entry that is no directory, or none, by the version of
 * want. */
static int step_theirs(struct planner *pl, const struct row *row,
		       struct err *err)
{
	if (!row->now.mode)
		return step_create(pl, row, err);
	if (!S_ISDIR(row->want->mode))
		return step_change(pl,
				   entry_same_content(&row->now, row->want)
					   ? STEP_META
					   : STEP_REPLACE,
				   row, row->want, err);
	return step_change_type(pl, row, err);
}

static int step_their_dir_meta(struct planner *pl, const struct row *row,
			       struct err *err)
{
	struct entry to = *row->want; /* borrowed strings */

	to.mtime = row->now.mtime;
	return step_change(pl, STEP_META, row, &to, err);
}

/* Whether the version of want may replace the present entry. */
static bool can_give_way(const struct planner *pl, const struct row *row)
{
	bool folder = S_ISDIR(row->now.mode);

	if (!planner_takes_theirs(pl))
		return false;
	if (S_ISDIR(row->base->mode) && S_ISDIR(row->want->mode))
		return folder || !row->now.mode;
	return !folder || S_ISDIR(row->want->mode);
}

/* The entries of two directories have rows of their own. */
static void keep_users_version(struct planner *pl, enum conflict_kind kind,
			       const struct row *row)
{
	bool was = S_ISDIR(row->base->mode), is = S_ISDIR(row->now.mode);

	planner_conflict(pl, kind, row->path);
	if (!S_ISDIR(row->want->mode) || !(was || (is && !row->base->mode)))
		planner_skip_below(pl, row->path);
}

int plan_resolve(struct planner *pl, enum conflict_kind kind,
		 const struct row *row, struct err *err)
{
	bool dirs = S_ISDIR(row->now.mode) && S_ISDIR(row->want->mode);
	size_t conflicts = pl->plan->conflicts.count;
	int got = 0;

	if (kind == CONFLICT_BOTH_CHANGED && dirs)
		got = plan_merge_dir(pl, row, err);
	else if (kind == CONFLICT_BOTH_CHANGED || kind == CONFLICT_BOTH_ADDED)
		got = plan_merge_file(pl, row, err);
	if (got)
		return got < 0 ? got : 0;
	if (!can_give_way(pl, row)) {
		keep_users_version(pl, kind, row);
		return 0;
	}
	got = dirs ? step_their_dir_meta(pl, row, err)
		   : step_theirs(pl, row, err);
	if (got < 0)
		return got;
	if (pl->plan->conflicts.count == conflicts)
		planner_overwrite(pl, kind, row->path);
	if (S_ISDIR(row->base->mode) && !S_ISDIR(row->want->mode))
		planner_skip_below(pl, row->path);
	return 0;
}
