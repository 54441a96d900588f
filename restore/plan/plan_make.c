#include "restore/plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/library.h"
#include "base/path.h"
#include "base/sorted.h"
#include "restore/plan/plan_private.h"

void plan_drop_conflicts(struct plan *p)
{
	size_t i;

	for (i = 0; i < p->conflicts.count; i++)
		free(p->conflicts.items[i].path);
	VEC_FREE(&p->conflicts);
}

void plan_free(struct plan *p)
{
	size_t i;

	for (i = 0; i < p->steps.count; i++)
		plan_step_free(&p->steps.items[i]);
	plan_drop_conflicts(p);
	for (i = 0; i < p->refusals.count; i++) {
		free(p->refusals.items[i].path);
		free(p->refusals.items[i].text);
	}
	for (i = 0; i < p->kept.count; i++)
		free(p->kept.items[i].path);
	for (i = 0; i < p->over.count; i++)
		free(p->over.items[i].path);
	names_free(&p->excepted);
	names_free(&p->gits_skipped);
	names_free(&p->settled);
	VEC_FREE(&p->kept);
	VEC_FREE(&p->over);
	VEC_FREE(&p->steps);
	VEC_FREE(&p->refusals);
	*p = (struct plan){0};
}

bool plan_has_effect(const struct plan *p)
{
	return p->steps.count || p->kept.count || p->settled.count;
}

static const char *unmerged_text(void)
{
	const struct library *git = library_info(LIBRARY_LIBGIT2);
	static char text[128];

	(void)snprintf(text, sizeof(text),
		       "changed on both sides, and the merge needs %s (%s)",
		       git->soname, git->package);
	return text;
}

const char *conflict_text(enum conflict_kind kind)
{
	switch (kind) {
	case CONFLICT_BOTH_CHANGED:
		return "changed on both sides";
	case CONFLICT_BOTH_ADDED:
		return "added on both sides with different content";
	case CONFLICT_DELETED_NOW:
		return "changed there, but deleted here since then";
	case CONFLICT_CHANGED_NOW:
		return "deleted there, but changed here since then";
	case CONFLICT_ADDED_BELOW:
		return "new here, in a directory that was deleted "
		       "there";
	case CONFLICT_DIRECTORY:
		return "a directory exists there now, and is not deleted";
	case CONFLICT_PARENT:
		return "its parent directory no longer exists";
	case CONFLICT_MOVED:
		return "changed in the project after the start, before it was "
		       "stored: no version to compare with";
	case CONFLICT_INCOMPLETE:
		return "could not be read completely when it was stored";
	case CONFLICT_UNIT:
		return "a SQLite database that changed on both sides, with its "
		       "-wal and -journal";
	case CONFLICT_GIT:
		return "HEAD, refs or index of this .git changed in the "
		       "project since then";
	case CONFLICT_SPECIAL:
		return "device nodes and sockets are not applied";
	case CONFLICT_UNMERGED:
		return unmerged_text();
	}
	return "conflict";
}

const char *refusal_reason(const struct refusal *refusal)
{
	if (refusal->text)
		return refusal->text;
	switch (refusal->kind) {
	case REFUSED_SETID:
		return "carries set-id bits or file capabilities";
	case REFUSED_GIT:
		return "configures commands or paths of git";
	case REFUSED_UNREADABLE:
		return "would make a directory of yours unreadable for you";
	case REFUSED_COPY:
		return "has no other copy";
	case REFUSED_RISK:
		return "needs a consent of its own";
	}
	return "is refused";
}

/*
 * Order of the phases: deletions free names, also for another kind of entry;
 * replacements; creations, parents first; metadata of files; metadata of
 * directories last and deepest first, because all earlier steps change their
 * mtimes.
 */
static int phase(const struct step *s)
{
	switch (s->kind) {
	case STEP_DELETE:
		return 0;
	case STEP_REPLACE:
		return 1;
	case STEP_CREATE:
		return 2;
	case STEP_META:
		break;
	}
	return S_ISDIR(s->to.mode) ? 4 : 3;
}

static int compare_step_order(const void *a, const void *b)
{
	const struct step *p = a, *q = b;
	int pp = phase(p), pq = phase(q);

	if (pp != pq)
		return pp < pq ? -1 : 1;
	return pp == 4 ? path_compare(q->path, p->path)
		       : path_compare(p->path, q->path);
}

bool plan_step_is_time(const struct step *s)
{
	return s->kind == STEP_META && entry_same_meta(&s->from, &s->to);
}

bool plan_is_times(const struct plan *p)
{
	size_t i;

	for (i = 0; i < p->steps.count; i++)
		if (!plan_step_is_time(&p->steps.items[i]))
			return false;
	return true;
}

/* Whether an entry of the new directory is left out. A directory that takes the
 * place of another entry is none. */
static bool has_left_out(const struct plan *p, const char *dir)
{
	size_t i;

	for (i = 0; p->steps.items[i].kind == STEP_DELETE; i++)
		if (strcmp(p->steps.items[i].path, dir) == 0)
			return false;
	for (i = 0; i < p->excepted.count; i++)
		if (path_below(p->excepted.items[i], dir))
			return true;
	return false;
}

/* A new directory of which all is left out is left out, too, and so are times
 * that would be the only change. The steps are sorted: the one behind that of a
 * directory is below it, if any is. */
static void leave_remains(struct plan *p)
{
	const char *below = NULL;
	size_t i, k, n = p->steps.count;

	for (i = n; p->excepted.count && i-- > 0;) {
		struct step *s = &p->steps.items[i];

		if (s->kind != STEP_CREATE)
			continue;
		if (!S_ISDIR(s->to.mode) ||
		    (below && path_below(below, s->path)) ||
		    !has_left_out(p, s->path)) {
			below = s->path;
			continue;
		}
		plan_step_free(s);
		*s = (struct step){0};
	}
	for (i = k = 0; i < n; i++)
		if (p->steps.items[i].path)
			p->steps.items[k++] = p->steps.items[i];
	p->steps.count = k;
	/* The times of directories whose entries are left out. */
	if (!p->excepted.count || !plan_is_times(p))
		return;
	for (i = 0; i < k; i++)
		plan_step_free(&p->steps.items[i]);
	p->steps.count = 0;
}

bool plan_is_over(const struct plan *p, const char *path)
{
	return FIND_BY_PATH(path, p->over.items, p->over.count, path) != NULL;
}

int plan_make(struct store *store, const struct entry *base,
	      const struct entry *want, const struct entry *now,
	      const struct plan_options *options, struct plan *ret,
	      struct err *err)
{
	static const char *const nothing[] = {NULL};
	AUTO(plan)
	struct plan plan = {
		.prefix = "",
		.group = now->mode & S_ISGID ? now->gid : getegid(),
	};
	size_t i;
	AUTO(planner)
	struct planner pl = {
		.store = store,
		.base = base,
		.want = want,
		.now = now,
		.options = options,
		.meant = pathset_make(options->paths),
		.except = pathset_make(options->except ? options->except
						       : nothing),
		.plan = &plan,
		.find_base = {.store = store, .root = base},
		.find_want = {.store = store, .root = want},
		.find_now = {.store = store, .root = now},
	};

	if (plan_rows(&pl, err) < 0)
		return err_context(err, "create the plan");
	VEC_SORT(&plan.steps, compare_step_order);
	leave_remains(&plan);
	if (plan_links(&pl, err) < 0)
		return err_context(err, "create the plan");
	SORT_BY_PATH(plan.kept.items, plan.kept.count, path);
	SORT_BY_PATH(plan.over.items, plan.over.count, path);
	/* Steps that replace a change of the user. */
	for (i = 0; i < plan.steps.count && plan.over.count; i++)
		if (plan.steps.items[i].how == STEP_PLAIN &&
		    plan_is_over(&plan, plan.steps.items[i].path))
			plan.steps.items[i].how = STEP_OVER;
	*ret = TAKE(plan);
	return 0;
}
