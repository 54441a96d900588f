#include "guard/run/gid_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "overlay/layers.h"
#include "restore/workspace.h"

#define NAME "groups"
#define VERSION 1
#define GID "gid"
#define MORE "more"
#define DEV "dev"
#define INO "ino"

/* Root's runs have every group. */
static bool list_other_gids(gid_t **ret, int *ret_count)
{
	gid_t *gid_summary;
	int count = getgroups(0, NULL), i;
	bool any = false;

	if (count <= 0 || geteuid() == 0)
		return false;
	gid_summary = mem_alloc((size_t)count * sizeof(*gid_summary));
	count = getgroups(count, gid_summary);
	for (i = 0; i < count; i++)
		any |= gid_summary[i] != getegid();
	*ret = gid_summary;
	*ret_count = count;
	return any;
}

void gid_cache_save(int workspace_fd, int dir_fd, const struct gid_summary *g)
{
	AUTO(record) struct record r = {0};
	struct err ignored;
	struct meta m;
	size_t i;

	if (geteuid() == 0 || meta_get(dir_fd, "", &m) < 0)
		return;
	record_set_int(&r, DEV, (int64_t)m.dev);
	record_set_int(&r, INO, (int64_t)m.ino);
	for (i = 0; i < g->count; i++) {
		auto_free char *gid = mem_printf("%u", g->gids[i]);

		record_add(&r, GID, gid);
	}
	if (g->more)
		record_set_int(&r, MORE, 1);
	(void)record_save(workspace_fd, NAME, NAME, VERSION, &r, ATOMIC_NO_SYNC,
			  &ignored);
}

static bool is_other_gid(const char *text, const gid_t *gid_summary, int count)
{
	gid_t gid = (gid_t)strtoul(text, NULL, 10);
	int i;

	for (i = 0; i < count; i++)
		if (gid_summary[i] == gid && gid != getegid())
			return true;
	return false;
}

/* 1: no file of the other groups was seen in it, 0: one was seen, -ENOENT: the
 * directory is unknown. */
static int find_recorded_gids(int workspaces_fd, const char *path, uint64_t dev,
			      uint64_t ino, const gid_t *gid_summary, int count)
{
	AUTO(record) struct record r = {0};
	struct err ignored;
	auto_close int fd =
		workspace_open(workspaces_fd, path, false, &ignored);
	const char *gid;
	size_t i;

	if (fd < 0 || record_load(fd, NAME, NAME, VERSION, &r, &ignored) < 0 ||
	    record_get_int(&r, DEV) != (int64_t)dev ||
	    record_get_int(&r, INO) != (int64_t)ino)
		return -ENOENT;
	for (i = 0; (gid = record_get_nth(&r, GID, i)); i++)
		if (is_other_gid(gid, gid_summary, count))
			return 0;
	return !record_get_int(&r, MORE);
}

void gid_cache_recall(struct session *s, int workspaces_fd)
{
	auto_free gid_t *gid_summary = NULL;
	int count = 0;
	size_t i;

	if (!list_other_gids(&gid_summary, &count))
		return;
	for (i = 0; i < s->root_count; i++)
		if (find_recorded_gids(workspaces_fd, s->roots[i].path,
				       s->roots[i].dev, s->roots[i].ino,
				       gid_summary, count) > 0)
			record_add(&s->more, LAYERS_ONE_GROUP,
				   s->roots[i].path);
}

const char *gid_cache_find_stale(const struct session *s, int workspaces_fd)
{
	auto_free gid_t *gid_summary = NULL;
	const char *path;
	int count = 0;
	size_t i, k;

	if (!record_get(&s->more, LAYERS_ONE_GROUP) ||
	    !list_other_gids(&gid_summary, &count))
		return NULL;
	for (i = 0; (path = record_get_nth(&s->more, LAYERS_ONE_GROUP, i));
	     i++) {
		uint64_t dev = s->roots[0].dev, ino = s->roots[0].ino;

		for (k = 1; k < s->root_count; k++) {
			if (strcmp(s->roots[k].path, path) != 0)
				continue;
			dev = s->roots[k].dev;
			ino = s->roots[k].ino;
		}
		if (find_recorded_gids(workspaces_fd, path, dev, ino,
				       gid_summary, count) == 0)
			return path;
	}
	return NULL;
}
