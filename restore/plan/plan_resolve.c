/*
 * Conflicts, and what the user has decided about them beforehand.
 *
 * With RESOLVE_OURS every conflict only keeps its path as it is. With
 * RESOLVE_THEIRS want's version takes the place of a file or link that the
 * user changed, made or deleted, which is in the snapshot of now; what else
 * he may have put there stays a conflict.
 */
#include <string.h>
#include <sys/stat.h>

#include "restore/plan/planner.h"

static void add(struct conflict **list, size_t *count, size_t *room,
		enum conflict_kind kind, const char *path)
{
	GROW(*list, *count, *room);
	(*list)[(*count)++] = (struct conflict){
		.kind = kind,
		.path = mem_strdup(path),
	};
}

void planner_conflict(struct planner *pl, enum conflict_kind kind,
		      const char *path)
{
	struct plan *p = pl->plan;

	if (pl->options->resolve == RESOLVE_OURS)
		add(&p->kept, &p->kept_count, &p->kept_room, kind, path);
	else
		add(&p->conflicts, &p->conflict_count, &p->conflict_room, kind,
		    path);
}

void planner_keep(struct planner *pl, enum conflict_kind kind, const char *path)
{
	struct plan *p = pl->plan;

	add(&p->kept, &p->kept_count, &p->kept_room, kind, path);
}

/* One path may give way for two reasons: the first one is said. */
void planner_over(struct planner *pl, enum conflict_kind kind, const char *path)
{
	struct plan *p = pl->plan;

	if (p->over_count && strcmp(p->over[p->over_count - 1].path, path) == 0)
		return;
	add(&p->over, &p->over_count, &p->over_room, kind, path);
}

void planner_conflict_whole(struct planner *pl, enum conflict_kind kind,
			    const char *path)
{
	planner_conflict(pl, kind, path);
	planner_settle_below(pl, path);
}

bool planner_theirs(const struct planner *pl)
{
	return pl->options->resolve == RESOLVE_THEIRS;
}

bool planner_named(const struct planner *pl, const char *path)
{
	const char *const *p = pl->options->paths;

	for (; p && *p; p++)
		if (strcmp(*p, path) == 0)
			return true;
	return false;
}

void planner_how(struct planner *pl, size_t from, enum step_how how)
{
	for (; from < pl->plan->step_count; from++)
		pl->plan->steps[from].how = how;
}

/* What is there is no folder, or nothing: want's version instead. */
static int put_theirs(struct planner *pl, const struct row *row,
		      struct err *err)
{
	if (!row->now.mode)
		return step_create(pl, row, err);
	if (!S_ISDIR(row->want->mode))
		return step_change(pl,
				   entry_same_content(&row->now, row->want)
					   ? STEP_META
					   : STEP_REPLACE,
				   row, err);
	return step_become(pl, row, err);
}

static int put_folder_meta(struct planner *pl, const struct row *row,
			   struct err *err)
{
	struct entry to = *row->want; /* borrows its strings */

	to.mtime = row->now.mtime;
	return step_folder(pl, row, &to, err);
}

/* Whether want's version may take the place of what is there. */
static bool gives_way(const struct planner *pl, const struct row *row)
{
	bool folder = S_ISDIR(row->now.mode);

	if (!planner_theirs(pl))
		return false;
	if (S_ISDIR(row->base->mode) && S_ISDIR(row->want->mode))
		return folder || !row->now.mode;
	return !folder || S_ISDIR(row->want->mode);
}

/* What is in two folders is decided on one by one. */
static void stay(struct planner *pl, enum conflict_kind kind,
		 const struct row *row)
{
	bool was = S_ISDIR(row->base->mode), is = S_ISDIR(row->now.mode);

	planner_conflict(pl, kind, row->path);
	if (!S_ISDIR(row->want->mode) || !(was || (is && !row->base->mode)))
		planner_settle_below(pl, row->path);
}

int plan_resolve(struct planner *pl, enum conflict_kind kind,
		 const struct row *row, struct err *err)
{
	bool folders = S_ISDIR(row->now.mode) && S_ISDIR(row->want->mode);
	size_t conflicts = pl->plan->conflict_count;
	int got = 0;

	if (kind == CONFLICT_BOTH_CHANGED && folders)
		got = plan_merge_folder(pl, row, err);
	else if (kind == CONFLICT_BOTH_CHANGED || kind == CONFLICT_BOTH_ADDED)
		got = plan_merge_file(pl, row, err);
	if (got)
		return got < 0 ? got : 0;
	if (!gives_way(pl, row)) {
		stay(pl, kind, row);
		return 0;
	}
	got = folders ? put_folder_meta(pl, row, err)
		      : put_theirs(pl, row, err);
	if (got < 0)
		return got;
	if (pl->plan->conflict_count == conflicts)
		planner_over(pl, kind, row->path);
	if (S_ISDIR(row->base->mode) && !S_ISDIR(row->want->mode))
		planner_settle_below(pl, row->path);
	return 0;
}
