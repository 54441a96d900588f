#include <fnmatch.h>
#include <string.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "guard/changes.h"
#include "guard/risk.h"
#include "overlay/persistent_mount.h"

/* ---- noise ---- */

/* Whether the glob matches the path or a directory above it. */
static bool is_below_glob(const char *glob, const char *path)
{
	auto_free char *at = mem_strdup(path);

	while (*at) {
		char *up;

		if (fnmatch(glob, at, FNM_PATHNAME) == 0)
			return true;
		up = path_parent(at);
		free(at);
		at = up;
	}
	return false;
}

/* Never folded: deletions, executable changes, and deceptive changes. */
static bool may_fold(const struct change *c)
{
	enum risk_level level;

	if (c->kind != CHANGE_ADDED && c->kind != CHANGE_MODIFIED)
		return false;
	if (c->flags & (CHANGE_SETID | CHANGE_NODE | CHANGE_GIT))
		return false;
	if (!S_ISDIR(c->now.mode) &&
	    (!S_ISREG(c->now.mode) || c->now.mode & 0111))
		return false;
	return !risk_by_name(c->path, &level) || level < RISK_HIGH;
}

static void fold_noise(struct change_list *list, const char *glob)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (may_fold(&list->items[i]) &&
		    is_below_glob(glob, list->items[i].path))
			list->items[i].flags |= CHANGES_NOISE;
}

/* ---- mount points ---- */

/* Whether the change is the new directory of a persistent mount, or one above
 * it, without other entries. */
static bool is_mount_point_change(const struct change_list *list, size_t i,
				  const char *place)
{
	const char *path = list->items[i].path;

	if (list->items[i].kind != CHANGE_ADDED ||
	    !S_ISDIR(list->items[i].now.mode) || !path_below(place, path))
		return false;
	for (i++; i < list->count; i++) {
		if (!path_below(list->items[i].path, path))
			break;
		if (!path_below(place, list->items[i].path))
			return false;
	}
	return true;
}

/* The layer of a live run has the mount points. */
static void drop_mount_points(struct change_list *list, const char *place)
{
	size_t kept = 0, i;
	bool *dropped = mem_zalloc(list->count + 1);

	for (i = 0; i < list->count; i++)
		dropped[i] = is_mount_point_change(list, i, place);
	for (i = 0; i < list->count; i++)
		if (!dropped[i])
			list->items[kept++] = list->items[i];
	list->count = kept;
	free(dropped);
}

void changes_fold(const struct session *s, struct changes *c)
{
	const char *text;
	size_t i;

	for (i = 0; (text = record_get_nth(&s->more, CHANGES_NOISE_GLOB, i));
	     i++)
		if (strncmp(text, "~/", 2) == 0)
			fold_noise(&changes_home(c)->list, text + 2);
		else
			fold_noise(&changes_project(c)->list, text);
	for (i = 0;
	     (text = record_get_nth(&s->more, PERSISTENT_MOUNT_PLACE, i));
	     i++) {
		if (path_below(text, s->project))
			drop_mount_points(&changes_project(c)->list,
					  path_rest(text, s->project));
		else if (s->home && *s->home && path_below(text, s->home))
			drop_mount_points(&changes_home(c)->list,
					  path_rest(text, s->home));
	}
}
