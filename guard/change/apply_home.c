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
#include "base/sorted.h"
#include "guard/apply_log.h"
#include "guard/change/apply_plan.h"
#include "guard/recover.h"
#include "restore/result.h"

/* A cache is taken only by a path in it. */
static bool is_named_in_home(const char *path, char *const *paths)
{
	for (; *paths; paths++)
		if (path_below(path, *paths) &&
		    (!changes_is_cache(path) || changes_is_cache(*paths)))
			return true;
	return false;
}

struct change_list apply_home_named_changes(const struct apply_plan *a)
{
	const struct change_list *list = &changes_home(&a->changes)->list;
	char *const *paths = resolve_run_home_paths(a->p);
	struct change_list named = {
		.items = mem_alloc((list->count + 1) * sizeof(*named.items)),
	};
	size_t i;

	for (i = 0; i < list->count; i++)
		if (is_named_in_home(list->items[i].path, paths))
			named.items[named.count++] = list->items[i];
	return named;
}

/* Of a directory of which only the permissions change, the directory itself and
 * nothing in it. */
char **apply_home_paths_to_read(const struct change_list *named)
{
	char **only = mem_zalloc((named->count + 1) * sizeof(*only));
	size_t count = 0, i;

	for (i = 0; i < named->count; i++) {
		const struct change *c = &named->items[i];

		if (count && path_below(c->path, only[count - 1]))
			continue;
		only[count++] = c->kind == CHANGE_META && S_ISDIR(c->now.mode)
					? mem_printf("%s/", c->path)
					: mem_strdup(c->path);
	}
	if (count)
		qsort(only, count, sizeof(*only), sorted_compare_paths);
	return only;
}

size_t apply_home_count_left(const struct apply_plan *a)
{
	const struct change_list *list = &changes_home(&a->changes)->list;
	char *const *named = resolve_run_home_paths(a->p);
	size_t count = 0, i;

	for (i = 0; i < list->count; i++)
		count += !changes_is_cache(list->items[i].path) &&
			 !(named &&
			   is_named_in_home(list->items[i].path, named));
	return count;
}
