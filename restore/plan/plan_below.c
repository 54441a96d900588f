/* Deletion of a directory. All entries below it are deleted too, so all of them
 * must be as base recorded them. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "restore/plan/plan_private.h"

struct finding {
	struct conflict what;
	bool hard; /* no decision of the user can delete it */
	bool stays; /* needs no decision: it stays, and its directory, too */
};

struct below {
	struct planner *pl;
	const char *path; /* the directory's */
	bool git;
	VEC(struct finding) found;
	char *skip; /* all findings below this path are reported */
};

static void below_free(struct below *b)
{
	size_t i;

	for (i = 0; i < b->found.count; i++)
		free(b->found.items[i].what.path);
	VEC_FREE(&b->found);
	free(b->skip);
}

static void add_finding(struct below *b, enum conflict_kind kind,
			const char *path, bool hard)
{
	*VEC_ADD(&b->found) = (struct finding){
		.what = {.kind = kind, .path = mem_strdup(path)},
		.hard = hard,
	};
}

/* Finds entries of the present directory that could not be stored, or that must
 * stay. */
static int check_below_entry(void *arg, const char *path, const struct entry *e,
			     struct err *err)
{
	struct below *b = arg;
	auto_free char *whole = path_join(b->path, path);

	(void)err;
	if (e->flags & ENTRY_INCOMPLETE)
		add_finding(b, CONFLICT_INCOMPLETE, whole, true);
	if ((b->pl->options->git_apart || b->pl->options->keep_git) &&
	    strcmp(path_name(whole), ".git") == 0 &&
	    !plan_git_is_named(b->pl, whole))
		b->git = true;
	return 0;
}

static int check_below_change(void *arg, const char *path,
			      const struct entry *a, const struct entry *n,
			      struct err *err)
{
	struct below *b = arg;
	auto_free char *whole = path_join(b->path, path);
	int got;

	if (b->skip && path_below(whole, b->skip))
		return 0;
	if (!n || (a && entry_same_state(a, n)))
		return 0;
	got = plan_status_same(b->pl, whole, n, a ? a : &planner_nothing, err);
	if (got == PLAN_STATUS_REPLACED)
		planner_overwrite(b->pl, CONFLICT_CHANGED_NOW, whole);
	if (got)
		return got < 0 ? got : 0;
	add_finding(b, a ? CONFLICT_CHANGED_NOW : CONFLICT_ADDED_BELOW, whole,
		    a && S_ISDIR(n->mode) && !S_ISDIR(a->mode));
	b->found.items[b->found.count - 1].stays =
		!a && (S_ISSOCK(n->mode) || b->pl->options->keep_added);
	if (!a || (a->mode & S_IFMT) != (n->mode & S_IFMT)) {
		free(b->skip);
		b->skip = TAKE(whole);
	}
	return 0;
}

/* Finds notes of base about entries below that still exist. */
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
		if (got && s->notes[i].kind == NOTE_MOVED)
			add_finding(b, CONFLICT_MOVED, s->notes[i].path, false);
		else if (got)
			add_finding(b, CONFLICT_INCOMPLETE, s->notes[i].path,
				    true);
	}
	return 0;
}

static bool is_added_below(const struct finding *f)
{
	return f->what.kind == CONFLICT_ADDED_BELOW;
}

enum finding_kind { FINDING_ANY, FINDING_HARD, FINDING_ADDED };

static void add_found_conflicts(struct below *b, enum finding_kind finding_kind)
{
	size_t i;

	for (i = 0; i < b->found.count; i++) {
		const struct finding *f = &b->found.items[i];

		if (finding_kind == FINDING_ANY ||
		    (finding_kind == FINDING_HARD && f->hard) ||
		    (finding_kind == FINDING_ADDED && is_added_below(f)))
			planner_conflict(b->pl, f->what.kind, f->what.path);
	}
}

/* Keeps the directory, because entries in it stay. Each entry of base below it
 * has a row of its own and is reported there: only this row reports what
 * concerns the directory itself, or an entry added directly in it. */
static int keep_own_findings(struct below *b)
{
	size_t i;

	for (i = 0; i < b->found.count; i++) {
		const struct finding *f = &b->found.items[i];
		auto_free char *parent = path_parent(f->what.path);

		if (strcmp(is_added_below(f) ? parent : f->what.path,
			   b->path) == 0)
			planner_keep(b->pl, f->what.kind, f->what.path);
	}
	return PLAN_BELOW_PARTIAL;
}

static int overwrite_findings(struct below *b, bool whole)
{
	bool hard = false, stays = false;
	size_t i;

	for (i = 0; i < b->found.count; i++) {
		const struct finding *f = &b->found.items[i];

		hard = hard || f->hard;
		stays = stays || (is_added_below(f) &&
				  !planner_is_named(b->pl, f->what.path));
	}
	if (hard || (stays && whole)) {
		add_found_conflicts(b, hard ? FINDING_HARD : FINDING_ADDED);
		return PLAN_BELOW_KEPT;
	}
	if (stays)
		return keep_own_findings(b);
	for (i = 0; i < b->found.count; i++)
		planner_overwrite(b->pl, b->found.items[i].what.kind,
				  b->found.items[i].what.path);
	return PLAN_BELOW_DELETED;
}

/* Whether the user has decided on every finding: theirs: all of them for the
 * version of want; else each for one side. */
static bool is_all_resolved(const struct below *b, bool theirs)
{
	size_t i;

	for (i = 0; i < b->found.count; i++) {
		const struct finding *f = &b->found.items[i];
		enum plan_resolve resolve =
			planner_resolve(b->pl, f->what.path);

		if (resolve != RESOLVE_THEIRS &&
		    (theirs || (resolve != RESOLVE_OURS && !f->stays)))
			return false;
	}
	return true;
}

int plan_below_may_delete(struct planner *pl, const struct row *row, bool whole,
			  struct err *err)
{
	AUTO(below) struct below b = {.pl = pl, .path = row->path};
	int got = PLAN_BELOW_KEPT;

	if (tree_each(pl->store, &row->now, check_below_entry, &b, err) < 0)
		return -err->num;
	/* Each entry below has a row of its own and is reported there. */
	if (b.git)
		return PLAN_BELOW_GIT;
	if (tree_diff(pl->store, row->base, &row->now, check_below_change, &b,
		      err) < 0 ||
	    check_notes(&b, err) < 0)
		return -err->num;
	if (!b.found.count)
		return PLAN_BELOW_DELETED;
	if (is_all_resolved(&b, true))
		got = overwrite_findings(&b, whole);
	else if (!whole && is_all_resolved(&b, false))
		got = keep_own_findings(&b);
	else
		add_found_conflicts(&b, FINDING_ANY);
	if (got != PLAN_BELOW_DELETED)
		names_add(&pl->plan->settled, row->path);
	return got;
}
