/*
 * The part of an apply that goes to the home folder: the paths that were
 * named, never more. Nothing of the home was stored when the run began, it is
 * far too large. What is there now is both base and present state; whatever of
 * it has a ctime from the run on was changed by the user meanwhile, and is
 * marked as moved, so that the plan finds a conflict there.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/path.h"
#include "guard/apply_log.h"
#include "guard/change/apply_plan.h"
#include "guard/recover.h"
#include "restore/result.h"

/* The change list's items that were named; the strings stay the list's. */
struct named_changes {
	struct change *items;
	size_t count;
};

static void named_changes_free(struct named_changes *n)
{
	free(n->items);
}

/* A cache is taken only by a path in it. */
static bool is_named_in_home(const char *path, char *const *paths)
{
	for (; *paths; paths++)
		if (path_below(path, *paths) &&
		    (!changes_is_cache(path) || changes_is_cache(*paths)))
			return true;
	return false;
}

static void find_named_changes(const struct change_list *list,
			       char *const *paths, struct named_changes *ret)
{
	size_t i;

	ret->items = mem_alloc((list->count + 1) * sizeof(*ret->items));
	for (i = 0; i < list->count; i++)
		if (is_named_in_home(list->items[i].path, paths))
			ret->items[ret->count++] = list->items[i];
}

static int compare_home_paths(const void *a, const void *b)
{
	return path_compare(*(char *const *)a, *(char *const *)b);
}

/*
 * What of the real home has to be looked at for them: of a folder whose rights
 * alone are others, the folder and nothing in it.
 */
static char **list_paths_to_read(const struct named_changes *n)
{
	char **only = mem_zalloc((n->count + 1) * sizeof(*only));
	size_t count = 0, i;

	for (i = 0; i < n->count; i++) {
		const struct change *c = &n->items[i];

		if (count && path_below(c->path, only[count - 1]))
			continue;
		only[count++] = c->kind == CHANGE_META && S_ISDIR(c->now.mode)
					? mem_printf("%s/", c->path)
					: mem_strdup(c->path);
	}
	if (count)
		qsort(only, count, sizeof(*only), compare_home_paths);
	return only;
}

int apply_home_refresh(struct apply_plan *a, struct err *err)
{
	struct apply_home *h = &a->home;
	const struct session *s = &a->p->session;

	if (!h->only || h->project.path)
		return 0;
	if (recover_project(a->c, s->home, err) < 0 ||
	    project_open(s->home, a->c->state.workspaces_fd, false, &h->project,
			 err) < 0)
		return -err->num;
	h->project.only = (const char *const *)h->only;
	h->project.moved_since = session_began(s);
	snapshot_free(&h->before);
	h->before = (struct snapshot){0};
	if (project_inspect(a->c->store, &h->project, "pre-apply", s->id,
			    &h->before, err) < 0)
		return -err->num;
	h->project.moved_since = (struct timestamp){0};
	return apply_log_filter_notes(a->c->store, s, &h->before, err);
}

int apply_home_load(struct apply_plan *a, struct err *err)
{
	struct apply_home *h = &a->home;
	struct changes *c = &a->changes;
	AUTO(named_changes) struct named_changes named_changes = {0};
	struct change_list list;

	if (!a->p->home_paths)
		return 0;
	if (changes_check(&c->home, c->home_upper_fd, c->home_lower_fd,
			  a->p->home_paths, err) < 0)
		return -err->num;
	find_named_changes(&c->home, a->p->home_paths, &named_changes);
	h->only = list_paths_to_read(&named_changes);
	if (apply_home_refresh(a, err) < 0)
		return -err->num;
	list = (struct change_list){.items = named_changes.items,
				    .count = named_changes.count};
	return result_make(a->c->store, &h->before.root, c->home_upper_fd,
			   &list, NULL, &h->want, err);
}

int apply_home_make_plan(struct apply_plan *a, enum plan_resolve resolve,
			 struct err *err)
{
	struct apply_home *h = &a->home;
	auto_free char *label = mem_printf("run %s", a->p->session.id);
	struct plan_options options = {
		.paths = (const char *const *)a->p->home_paths,
		.partial = true,
		.git_apart = true,
		.refuse_special = true,
		.refuse_unreadable = geteuid() != 0,
		.base_notes = &h->before,
		.resolve = resolve,
		.our_label = "home",
		.their_label = label,
	};
	struct plan_counts counts;

	if (!a->p->home_paths)
		return 0;
	plan_free(&h->plan);
	if (plan_make(a->c->store, &h->before.root, &h->want, &h->before.root,
		      &options, &h->plan, err) < 0 ||
	    plan_summary_count(a->c->store, &h->plan, &counts, err) < 0)
		return -err->num;
	h->plan.prefix = "~/";
	plan_summary_add(&a->counts, &counts);
	return 0;
}

size_t apply_home_count_left(const struct apply_plan *a)
{
	const struct change_list *list = &a->changes.home;
	size_t count = 0, i;

	for (i = 0; i < list->count; i++)
		count += !changes_is_cache(list->items[i].path) &&
			 !(a->p->home_paths &&
			   is_named_in_home(list->items[i].path,
					    a->p->home_paths));
	return count;
}

void apply_home_free(struct apply_home *h)
{
	plan_free(&h->plan);
	entry_free(&h->want);
	snapshot_free(&h->before);
	project_close(&h->project);
	mem_list_free(&h->only);
}
