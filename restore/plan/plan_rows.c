/* One row for each difference of base and want, decided by the entry in now. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "restore/plan/plan_private.h"
#include "snapshot/tree/tree.h"

/* --- conflicts --- */

static bool is_noted_now(const struct planner *pl, const char *path)
{
	const struct snapshot *s = pl->options->now_notes;

	return s && snapshot_has_note(s, NOTE_INCOMPLETE, path);
}

static bool is_row_incomplete(const struct planner *pl, const struct row *row)
{
	const struct snapshot *s = pl->options->base_notes;
	uint32_t flags = row->base->flags | row->want->flags | row->now.flags;

	/* A directory on the way to the read paths is incomplete by design,
	 * unless one side has no directory there: then all of its entries were
	 * read. */
	if (pl->options->partial_now && S_ISDIR(row->now.mode) &&
	    S_ISDIR(row->base->mode) && S_ISDIR(row->want->mode)) {
		flags = row->base->flags | row->want->flags;
		if (is_noted_now(pl, row->path))
			flags |= ENTRY_INCOMPLETE;
	}
	if (pl->options->partial && S_ISDIR(row->want->mode) &&
	    (!row->base->mode || S_ISDIR(row->base->mode)) &&
	    (!row->now.mode || S_ISDIR(row->now.mode)))
		flags = 0;
	return (flags & ENTRY_INCOMPLETE) ||
	       (s && snapshot_has_note(s, NOTE_INCOMPLETE, row->path));
}

/* 1: a conflict was added for the path and all below; 0: none. */
static int add_unknown_conflict(struct planner *pl, const struct row *row,
				struct err *err)
{
	int got;

	if (is_row_incomplete(pl, row)) {
		planner_conflict_subtree(pl, CONFLICT_INCOMPLETE, row->path);
		return 1;
	}
	got = planner_moved(pl, row, err);
	if (got != 1)
		return got;
	if (planner_takes_theirs(pl, row->path)) {
		planner_overwrite(pl, CONFLICT_MOVED, row->path);
		return 0;
	}
	planner_conflict_subtree(pl, CONFLICT_MOVED, row->path);
	return 1;
}

/* Handles a row whose two changes do not agree: merges them, follows the user's
 * decision, or adds the conflict. kind: BOTH_CHANGED, BOTH_ADDED or
 * DELETED_NOW. */
static int resolve_row(struct planner *pl, enum conflict_kind kind,
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
		planner_unmerged(pl, row->path);
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

/* --- one function for each kind of row --- */

static int row_added(struct planner *pl, const struct row *row, struct err *err)
{
	int got;

	if (row->now.mode && entry_same_state(&row->now, row->want) &&
	    !is_row_incomplete(pl, row)) {
		pl->plan->already++;
		return 0;
	}
	got = add_unknown_conflict(pl, row, err);
	if (got)
		return got < 0 ? got : 0;
	return row->now.mode ? resolve_row(pl, CONFLICT_BOTH_ADDED, row, err)
			     : step_create(pl, row, err);
}

/* Whether the present entry may be deleted; whole: completely or not at all. */
static int may_delete(struct planner *pl, const struct row *row, bool whole,
		      struct err *err)
{
	bool is_dir = S_ISDIR(row->now.mode) && S_ISDIR(row->base->mode);
	bool over = false;
	int got;

	if (is_dir && is_row_incomplete(pl, row)) {
		planner_conflict_subtree(pl, CONFLICT_INCOMPLETE, row->path);
		return PLAN_BELOW_KEPT;
	}
	if (!is_dir || !entry_same_meta(&row->now, row->base)) {
		got = add_unknown_conflict(pl, row, err);
		if (got)
			return got < 0 ? got : PLAN_BELOW_KEPT;
		over = !entry_same_state(&row->now, row->base);
		if (over && (!planner_takes_theirs(pl, row->path) ||
			     (S_ISDIR(row->now.mode) && !is_dir))) {
			planner_conflict_subtree(pl, CONFLICT_CHANGED_NOW,
						 row->path);
			return PLAN_BELOW_KEPT;
		}
	}
	got = is_dir ? plan_below_may_delete(pl, row, whole, err)
		     : PLAN_BELOW_DELETED;
	if (over && got == PLAN_BELOW_DELETED)
		planner_overwrite(pl, CONFLICT_CHANGED_NOW, row->path);
	if (got == PLAN_BELOW_KEPT)
		planner_skip_below(pl, row->path);
	return got;
}

static int row_deleted(struct planner *pl, const struct row *row,
		       struct err *err)
{
	int got;

	/* The root itself stays, empty. */
	if (pl->options->additive || !*row->path)
		return 0;
	if (!row->now.mode) {
		pl->plan->already++;
		planner_skip_below(pl, row->path);
		return 0;
	}
	got = may_delete(pl, row, false, err);
	if (got != PLAN_BELOW_DELETED)
		return got < 0 ? got : 0;
	step_push(pl, STEP_DELETE, row->path, &row->now, &planner_nothing);
	planner_skip_below(pl, row->path);
	return 0;
}

/* A directory becomes another kind of entry. */
static int row_dir_to_other(struct planner *pl, const struct row *row,
			    struct err *err)
{
	int got;

	if (pl->options->additive) {
		planner_conflict_subtree(pl, CONFLICT_DIRECTORY, row->path);
		return 0;
	}
	if (!row->now.mode)
		return resolve_row(pl, CONFLICT_DELETED_NOW, row, err);
	got = may_delete(pl, row, true, err);
	if (got < 0)
		return got;
	if (got == PLAN_BELOW_GIT)
		planner_conflict_subtree(pl, CONFLICT_GIT, row->path);
	if (got != PLAN_BELOW_DELETED)
		return 0;
	planner_skip_below(pl, row->path);
	return step_change_type(pl, row, err);
}

/* Both sides have the entry, and at least one is no directory. */
static int row_non_dir(struct planner *pl, const struct row *row,
		       struct err *err)
{
	const struct entry *now = &row->now;
	bool same_bytes = entry_same_content(row->base, row->want);
	int got;

	if (same_bytes && entry_same_meta(row->base, row->want)) {
		/* Only the mtime differs: a change of the user wins. A restore
		 * of a path does not set it back to the time from before a
		 * product of other bytes. */
		if (!is_row_incomplete(pl, row))
			return entry_same_state(now, row->base) &&
					       !entry_same_time(now,
								row->want) &&
					       !(pl->options->additive &&
						 !planner_is_named(pl, "") &&
						 timestamp_compare(
							 now->mtime,
							 row->want->mtime) > 0)
				       ? step_change(pl, STEP_META, row,
						     row->want, err)
				       : 0;
		if (!entry_same_time(row->base, row->want))
			planner_conflict_subtree(pl, CONFLICT_INCOMPLETE,
						 row->path);
		return 0;
	}
	if (now->mode && entry_same_state(now, row->want) &&
	    !((now->flags | row->want->flags) & ENTRY_INCOMPLETE)) {
		pl->plan->already++;
		return 0;
	}
	if (S_ISDIR(row->base->mode))
		return row_dir_to_other(pl, row, err);
	got = add_unknown_conflict(pl, row, err);
	if (got)
		return got < 0 ? got : 0;
	if (!now->mode || !entry_same_state(now, row->base))
		return resolve_row(pl,
				   now->mode ? CONFLICT_BOTH_CHANGED
					     : CONFLICT_DELETED_NOW,
				   row, err);
	if (S_ISDIR(row->want->mode)) {
		step_push(pl, STEP_DELETE, row->path, now, &planner_nothing);
		step_add_create(pl, row->path, row->want);
		return 0;
	}
	return step_change(pl, same_bytes ? STEP_META : STEP_REPLACE, row,
			   row->want, err);
}

/* A directory on both sides with equal metadata: only its mtime may follow, and
 * only while the user has not changed its list of entries. */
static void row_dir_time(struct planner *pl, const struct row *row)
{
	struct step *t;

	if (pl->options->additive || !S_ISDIR(row->now.mode) ||
	    !entry_same_meta(&row->now, row->base) ||
	    !entry_same_time(&row->now, row->base))
		return;
	if (!entry_same_time(row->base, row->want)) {
		step_push(pl, STEP_META, row->path, &row->now, row->want);
		return;
	}
	t = VEC_ADD(&pl->times);
	t->path = mem_strdup(row->path);
	entry_copy(&t->from, &row->now);
	entry_copy(&t->to, row->want);
}

static int row_dir(struct planner *pl, const struct row *row, struct err *err)
{
	struct entry to = *row->want; /* borrowed strings */
	bool base_unknown = row->base->flags & ENTRY_INCOMPLETE;
	bool want_unknown = row->want->flags & ENTRY_INCOMPLETE;
	int got;

	/* The changes of the run in the directory are unknown; or, for an undo,
	 * the entries before, down to the mtime of a file. */
	if (want_unknown ? !base_unknown
			 : base_unknown && !pl->options->partial) {
		planner_conflict_subtree(pl, CONFLICT_INCOMPLETE, row->path);
		return 0;
	}
	if (entry_same_meta(row->base, row->want)) {
		row_dir_time(pl, row);
		return 0;
	}
	if (S_ISDIR(row->now.mode) && entry_same_meta(&row->now, row->want)) {
		pl->plan->already++;
		return 0;
	}
	if (is_row_incomplete(pl, row)) {
		planner_conflict_subtree(pl, CONFLICT_INCOMPLETE, row->path);
		return 0;
	}
	got = planner_moved(pl, row, err);
	if (got < 0)
		return got;
	if (got && planner_takes_theirs(pl, row->path)) {
		planner_overwrite(pl, CONFLICT_MOVED, row->path);
	} else if (got) {
		planner_conflict(pl, CONFLICT_MOVED, row->path);
		return 0;
	}
	if (!S_ISDIR(row->now.mode) || !entry_same_meta(&row->now, row->base))
		return resolve_row(pl,
				   row->now.mode ? CONFLICT_BOTH_CHANGED
						 : CONFLICT_DELETED_NOW,
				   row, err);
	if (!entry_same_time(&row->now, row->base) || pl->options->additive)
		to.mtime = row->now.mtime;
	return step_change(pl, STEP_META, row, &to, err);
}

static bool is_special(const struct entry *e)
{
	return S_ISCHR(e->mode) || S_ISBLK(e->mode) || S_ISSOCK(e->mode);
}

static int decide_row(struct planner *pl, const struct row *row,
		      struct err *err)
{
	if (pl->options->refuse_special && is_special(row->want)) {
		planner_keep(pl, CONFLICT_SPECIAL, row->path);
		planner_skip_below(pl, row->path);
		return 0;
	}
	/* missing_only keeps the present entry; only missing entries of a
	 * directory are created then. */
	if (pl->options->missing_only && row->now.mode) {
		if (S_ISDIR(row->now.mode) && S_ISDIR(row->want->mode))
			return 0;
		pl->plan->left += row->want->mode &&
				  !entry_same_state(&row->now, row->want);
		planner_skip_below(pl, row->path);
		return 0;
	}
	if (!row->want->mode && plan_git_is_kept(pl, row->path)) {
		plan_git_skip(pl, row->path);
		planner_skip_below(pl, row->path);
		return 0;
	}
	if (!row->base->mode)
		return row_added(pl, row, err);
	/* The directory that may still hold the entry is unreadable. */
	if (!row->now.mode && is_noted_now(pl, row->path)) {
		planner_conflict_subtree(pl, CONFLICT_INCOMPLETE, row->path);
		return 0;
	}
	if (!row->want->mode)
		return row_deleted(pl, row, err);
	if (S_ISDIR(row->base->mode) && S_ISDIR(row->want->mode))
		return row_dir(pl, row, err);
	return row_non_dir(pl, row, err);
}

static int each_difference(void *arg, const char *path, const struct entry *a,
			   const struct entry *b, struct err *err)
{
	struct planner *pl = arg;
	struct row row = {.path = path, .base = a, .want = b};
	int got;

	if (!a)
		row.base = &planner_nothing;
	if (!b)
		row.want = &planner_nothing;
	if (pl->skip && path_below(path, pl->skip))
		return 0;
	if (!S_ISDIR(row.base->mode) && !S_ISDIR(row.want->mode)) {
		got = plan_unit(pl, path, err);
		if (got)
			return got < 0 ? got : 0;
	}
	if (pathset_contains(&pl->except, path) ||
	    (!row.want->mode && plan_git_ref_stays(pl, path)) ||
	    (!S_ISDIR(row.want->mode) &&
	     pathset_has_below(&pl->except, path))) {
		names_add(&pl->plan->excepted, path);
		planner_skip_below(pl, path);
		return 0;
	}
	got = plan_git_decide(pl, path, err);
	if (got < 0)
		return got;
	if (got == PLAN_GIT_SKIPPED)
		plan_git_skip(pl, path);
	if (got == PLAN_GIT_SKIPPED || got == PLAN_GIT_REFUSED)
		return 0;
	if (got == PLAN_GIT_NONE && !pathset_contains(&pl->meant, path))
		return 0;
	if (lookup_find(&pl->find_now, path, &row.now, err) < 0)
		return -err->num;
	/* A file that a status command rewrote counts as that of base, or of
	 * want. Without such a command the bytes are compared: a restore gets
	 * exactly the bytes that it asks for. */
	got = row.base->mode && row.now.mode &&
	      entry_same_content(row.base, &row.now);
	if (!got) {
		got = plan_status_same(pl, path, &row.now, row.base, err);
		if (got == PLAN_STATUS_REPLACED &&
		    planner_resolve(pl, path) == RESOLVE_OURS)
			got = 0;
		else if (got == PLAN_STATUS_REPLACED)
			planner_overwrite(pl, CONFLICT_BOTH_CHANGED, path);
		if (got > 0)
			row.base = &row.now;
	}
	if (!got) {
		got = plan_status_same(pl, path, &row.now, row.want, err);
		if (got == 1)
			row.want = &row.now;
	}
	if (got >= 0)
		got = decide_row(pl, &row, err);
	entry_free(&row.now);
	return got < 0 ? err_context(err, "%s", text_quote(path)) : 0;
}

/* The steps change the mtimes of parent directories. Where want and now have
 * the same mtime, a step restores it. */
static void add_same_time_steps(struct planner *pl)
{
	const struct plan *p = pl->plan;
	char **dirs = mem_alloc((p->steps.count + 1) * sizeof(*dirs));
	size_t count = 0, i;

	for (i = 0; i < p->steps.count; i++)
		if (p->steps.items[i].kind != STEP_META)
			dirs[count++] = path_parent(p->steps.items[i].path);
	if (count)
		qsort(dirs, count, sizeof(*dirs), sorted_compare_paths);
	for (i = 0; count && i < pl->times.count; i++) {
		struct step *t = &pl->times.items[i];

		if (bsearch(&t->path, dirs, count, sizeof(*dirs),
			    sorted_compare_paths))
			step_push(pl, STEP_META, t->path, &t->from, &t->to);
	}
	for (i = 0; i < count; i++)
		free(dirs[i]);
	free(dirs);
}

int plan_rows(struct planner *pl, struct err *err)
{
	const struct differences *known = pl->options->differences;
	int got = known ? differences_each(known, each_difference, pl, err)
			: tree_diff(pl->store, pl->base, pl->want,
				    each_difference, pl, err);

	if (got < 0)
		return got;
	add_same_time_steps(pl);
	return 0;
}
