/* Databases with sidecars: all members from one side, see unit.h. */
#include <string.h>

#include "base/auto.h"
#include "restore/plan/plan_private.h"
#include "restore/plan/unit.h"

struct unit_rows {
	struct unit unit;
	struct entry base[UNIT_MEMBERS], want[UNIT_MEMBERS];
	struct row rows[UNIT_MEMBERS]; /* path NULL: no member */
};

static void unit_rows_free(struct unit_rows *u)
{
	size_t i;

	for (i = 0; i < UNIT_MEMBERS; i++) {
		entry_free(&u->base[i]);
		entry_free(&u->want[i]);
		entry_free(&u->rows[i].now);
	}
	unit_free(&u->unit);
}

static int load_rows(struct planner *pl, struct unit_rows *u, struct err *err)
{
	size_t i;

	for (i = 0; i < UNIT_MEMBERS; i++) {
		const char *path = u->unit.paths[i];
		struct row *row = &u->rows[i];

		if (!path)
			continue;
		row->path = path;
		row->base = &u->base[i];
		row->want = &u->want[i];
		if (lookup_find(&pl->find_base, path, &u->base[i], err) < 0 ||
		    lookup_find(&pl->find_want, path, &u->want[i], err) < 0 ||
		    lookup_find(&pl->find_now, path, &row->now, err) < 0)
			return -err->num;
	}
	return 0;
}

/* Whether row i is a file with bytes of the database. */
static bool counts(const struct unit_rows *u, size_t i)
{
	return u->rows[i].path && i != UNIT_SHM;
}

static bool is_any_in(const struct unit_rows *u, const struct pathset *set)
{
	size_t i;

	for (i = 0; i < UNIT_MEMBERS; i++)
		if (u->rows[i].path && pathset_contains(set, u->rows[i].path))
			return true;
	return false;
}

/* The decision for one member holds for all. */
static enum plan_resolve resolve_unit(const struct planner *pl,
				      const struct unit_rows *u)
{
	size_t i;

	for (i = 0; i < UNIT_MEMBERS; i++)
		if (u->rows[i].path && planner_choice(pl, u->rows[i].path))
			return planner_choice(pl, u->rows[i].path)->resolve;
	return pl->options->resolve;
}

/* Makes a member as wanted; the -shm goes. */
static int take_member(struct planner *pl, const struct unit_rows *u, size_t i,
		       struct err *err)
{
	const struct row *row = &u->rows[i];

	if (i == UNIT_SHM ? !row->now.mode
			  : entry_same_state(&row->now, row->want))
		return 0;
	if (i == UNIT_SHM || !row->want->mode) {
		step_push(pl, STEP_DELETE, row->path, &row->now,
			  &planner_nothing);
		return 0;
	}
	if (!row->now.mode)
		return step_create(pl, row, err);
	return step_change(pl,
			   entry_same_content(&row->now, row->want)
				   ? STEP_META
				   : STEP_REPLACE,
			   row, row->want, err);
}

int plan_unit(struct planner *pl, const char *path, struct err *err)
{
	struct lookup *const trees[] = {&pl->find_base, &pl->find_want,
					&pl->find_now};
	AUTO(unit_rows) struct unit_rows u = {.unit = {{NULL}}};
	bool ours = false, theirs = false, equal = true, unread = false;
	bool present = false;
	enum plan_resolve resolve;
	const char *first = NULL;
	size_t i;
	int got = unit_of(trees, 3, path, &u.unit, err);

	if (got != 1 || load_rows(pl, &u, err) < 0)
		return got < 0 ? got : got ? -err->num : 0;
	for (i = 0; i < UNIT_MEMBERS; i++) {
		const struct row *row = &u.rows[i];
		int moved = 0;

		if (!row->path)
			continue;
		if (!first && !entry_same_state(row->base, row->want))
			first = row->path;
		if (!counts(&u, i))
			continue;
		ours |= !entry_same_state(row->base, row->want);
		theirs |= !entry_same_state(&row->now, row->base);
		equal &= entry_same_state(&row->now, row->want);
		present |= row->now.mode != 0;
		unread |=
			(row->base->flags | row->want->flags | row->now.flags) &
			ENTRY_INCOMPLETE;
		if (!entry_same_state(row->base, row->want))
			moved = planner_moved(pl, row, err);
		if (moved < 0)
			return moved;
		theirs |= moved > 0;
	}
	if (!is_any_in(&u, &pl->meant))
		return 0;
	/* Only times, or a -shm: that is no change. */
	if (!ours) {
		if (!first)
			return 0;
		names_add(&pl->plan->settled, path);
		return 1;
	}
	/* The unit is decided with the first of its differences. */
	if (strcmp(path, first) != 0)
		return 1;
	if (is_any_in(&u, &pl->except)) {
		for (i = 0; i < UNIT_MEMBERS; i++)
			if (u.rows[i].path &&
			    !entry_same_state(u.rows[i].base, u.rows[i].want))
				names_add(&pl->plan->excepted, u.rows[i].path);
		return 1;
	}
	if (pl->options->missing_only && present) {
		pl->plan->left++;
		return 1;
	}
	if (equal) {
		pl->plan->already++;
		return 1;
	}
	resolve = resolve_unit(pl, &u);
	if (unread || (theirs && resolve != RESOLVE_THEIRS)) {
		planner_conflict(
			pl, unread ? CONFLICT_INCOMPLETE : CONFLICT_UNIT, path);
		for (i = 0; i < UNIT_MEMBERS && resolve == RESOLVE_OURS; i++)
			if (u.rows[i].path)
				names_add(&pl->plan->settled, u.rows[i].path);
		return 1;
	}
	for (i = 0; i < UNIT_MEMBERS; i++) {
		if (!u.rows[i].path)
			continue;
		if (counts(&u, i) && theirs &&
		    !entry_same_state(&u.rows[i].now, u.rows[i].base))
			planner_overwrite(pl, CONFLICT_UNIT, u.rows[i].path);
		if (take_member(pl, &u, i, err) < 0)
			return -err->num;
		names_add(&pl->plan->settled, u.rows[i].path);
	}
	return 1;
}
