/*
 * Conflicts and the user's decisions about them.
 *
 * With RESOLVE_OURS the path of each conflict stays unchanged. With
 * RESOLVE_THEIRS the version of want replaces a file or symbolic link that the
 * user changed, created or deleted; the user's version is in the snapshot of
 * now. Any other entry of the user stays a conflict.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/sorted.h"
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

	if (planner_resolve(pl, path) == RESOLVE_OURS)
		add_conflict(&p->kept, kind, path);
	else
		add_conflict(&p->conflicts, kind, path);
}

/* Adds CONFLICT_UNMERGED. */
static void add_unmerged(struct planner *pl, const char *path)
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

int plan_resolve(struct planner *pl, enum conflict_kind kind,
		 const struct row *row, struct err *err)
{
	bool was = S_ISDIR(row->base->mode), is = S_ISDIR(row->now.mode);
	bool shall = S_ISDIR(row->want->mode), dirs = is && shall;
	struct entry to = *row->want; /* borrowed strings */
	size_t conflicts = pl->plan->conflicts.count;
	int got = 0;

	if (kind == CONFLICT_BOTH_CHANGED && dirs)
		got = plan_merge_dir(pl, row, err);
	else if (kind == CONFLICT_BOTH_CHANGED || kind == CONFLICT_BOTH_ADDED)
		got = plan_merge_file(pl, row, err);
	if (got == -ENOPKG) {
		add_unmerged(pl, row->path);
		return 0;
	}
	if (got)
		return got < 0 ? got : 0;
	/* Where the version of want may not replace the present entry, the
	 * user's is kept. The entries of two directories have rows of their
	 * own. */
	if (!planner_takes_theirs(pl, row->path) ||
	    !(was && shall ? is || !row->now.mode : !is || shall)) {
		planner_conflict(pl, kind, row->path);
		if (!shall || !(was || (is && !row->base->mode)))
			planner_skip_below(pl, row->path);
		return 0;
	}
	if (dirs)
		to.mtime = row->now.mtime;
	if (!row->now.mode)
		got = step_create(pl, row, err);
	else if (shall && !dirs)
		got = step_change_type(pl, row, err);
	else
		got = step_change(
			pl,
			dirs || entry_same_content(&row->now, row->want)
				? STEP_META
				: STEP_REPLACE,
			row, &to, err);
	if (got < 0)
		return got;
	if (pl->plan->conflicts.count == conflicts)
		planner_overwrite(pl, kind, row->path);
	if (was && !shall)
		planner_skip_below(pl, row->path);
	return 0;
}
