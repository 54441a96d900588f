#include "guard/run/read_only_exec.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/auto.h"
#include "base/mem.h"
#include "base/dirtree.h"
#include "guard/changes.h"
#include "overlay/session.h"

struct read_only_exec {
	struct timestamp ended; /* before */
	/* Content of the home's layer. Caches get a mount point there while a
	 * command runs, so the mtime of that directory proves nothing. */
	struct dirlist home;
};

static int list_home(const struct session *s, struct dirlist *ret)
{
	struct err ignored;
	auto_close int fd = fd_open_dir(s->fd, "home-upper");

	return fd < 0 ? 0 : dirlist_read(fd, ret, &ignored);
}

struct read_only_exec *read_only_exec_begin(const struct session *s)
{
	struct read_only_exec *l;

	if (s->state != RUN_ENDED || !s->ended.sec)
		return NULL;
	l = mem_zalloc(sizeof(*l));
	l->ended = s->ended;
	if (list_home(s, &l->home) < 0) {
		read_only_exec_free(l);
		return NULL;
	}
	return l;
}

void read_only_exec_free(struct read_only_exec *l)
{
	if (l)
		dirlist_free(&l->home);
	free(l);
}

static bool same_names(const struct dirlist *a, const struct dirlist *b)
{
	size_t i;

	if (a->count != b->count)
		return false;
	for (i = 0; i < a->count; i++)
		if (strcmp(a->items[i].name, b->items[i].name) != 0)
			return false;
	return true;
}

static bool home_is_same(const struct read_only_exec *l,
			 const struct session *s,
			 const struct change_list *home)
{
	AUTO(dirlist) struct dirlist now = {0};

	return timestamp_compare(home->newest_below, l->ended) < 0 &&
	       list_home(s, &now) == 0 && same_names(&l->home, &now);
}

bool read_only_exec_is_unchanged(const struct read_only_exec *l,
				 const struct session *s,
				 const struct changes *c,
				 const struct change_list *git)
{
	size_t i;

	if (!l || timestamp_compare(l->ended, s->started) >= 0 ||
	    timestamp_compare(s->started, s->ended) > 0 ||
	    timestamp_compare(git->newest, l->ended) >= 0)
		return false;
	for (i = 0; i < s->root_count; i++)
		if (timestamp_compare(c->roots[i].list.newest, l->ended) >= 0)
			return false;
	return home_is_same(l, s, &changes_home(c)->list);
}
