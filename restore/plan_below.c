/*
 * A folder that shall go takes all below it along: so all of it must be what
 * the base recorded.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "restore/planner.h"

struct below {
	struct planner *pl;
	const char *path; /* of the folder */
	bool git, bad;
	char *skip; /* below here all is said */
};

static void report(struct below *b, enum conflict_kind kind, const char *path)
{
	planner_conflict(b->pl->plan, kind, path);
	b->bad = true;
}

/* What is in the folder now that cannot be stored, or must stay. */
static int each_now(void *arg, const char *path, const struct entry *e,
		    struct err *err)
{
	struct below *b = arg;
	auto_free char *whole = path_join(b->path, path);

	(void)err;
	if (e->flags & ENTRY_INCOMPLETE)
		report(b, CONFLICT_INCOMPLETE, whole);
	if (b->pl->options->git_apart &&
	    strcmp(path_name(whole), ".git") == 0 &&
	    !plan_git_named(b->pl, whole))
		b->git = true;
	return 0;
}

static int each_change(void *arg, const char *path, const struct entry *a,
		       const struct entry *n, struct err *err)
{
	struct below *b = arg;
	auto_free char *whole = path_join(b->path, path);

	(void)err;
	if (b->skip && path_below(whole, b->skip))
		return 0;
	if (!n || (a && planner_same(a, n)))
		return 0;
	report(b, a ? CONFLICT_CHANGED_NOW : CONFLICT_ADDED_BELOW, whole);
	if (!a || (a->mode & S_IFMT) != (n->mode & S_IFMT)) {
		free(b->skip);
		b->skip = TAKE(whole);
	}
	return 0;
}

/* Notes of the base on something below that is still there. */
static int check_notes(struct below *b, struct err *err)
{
	const struct snapshot *s = b->pl->options->base_notes;
	size_t i;

	for (i = 0; s && i < s->note_count; i++) {
		AUTO(entry) struct entry now = {0};
		int got;

		if (!path_below(s->notes[i].path, b->path))
			continue;
		got = lookup_find(&b->pl->find_now, s->notes[i].path, &now,
				  err);
		if (got < 0)
			return got;
		if (got)
			report(b,
			       s->notes[i].kind == NOTE_MOVED
				       ? CONFLICT_MOVED
				       : CONFLICT_INCOMPLETE,
			       s->notes[i].path);
	}
	return 0;
}

int plan_below_may_go(struct planner *pl, const struct row *row,
		      struct err *err)
{
	struct below b = {.pl = pl, .path = row->path};
	size_t before = pl->plan->conflict_count;
	int got;

	got = tree_each(pl->store, &row->now, each_now, &b, err);
	if (got < 0)
		return got;
	if (b.git) {
		/* Each of its parts is decided on by itself and says so. */
		while (pl->plan->conflict_count > before)
			free(pl->plan->conflicts[--pl->plan->conflict_count]
				     .path);
		return 2;
	}
	got = tree_diff(pl->store, row->base, &row->now, each_change, &b, err);
	free(b.skip);
	if (got < 0)
		return got;
	got = check_notes(&b, err);
	if (got < 0)
		return got;
	return !b.bad;
}
