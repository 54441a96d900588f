#include "guard/agent/caches.h"

#include <errno.h>
#include <fcntl.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/lock.h"
#include "base/dirtree.h"

struct caches_visit {
	struct caches *to;
	bool clear_caches_dir;
};

static int open_caches_subdir(int dirfd, const char *name)
{
	struct err ignored;

	return beneath_open(dirfd, name, O_RDONLY | O_DIRECTORY, 0, &ignored);
}

/* A locked cache belongs to a run. The lock file stays: another guard process
 * may be waiting for it. */
static int clear_caches_dir(int dir, struct caches *to, struct err *err)
{
	auto_close int lock = lock_take(dir, "lock", true, false, err);
	struct usage usage = {0};
	int got;

	if (lock == -EWOULDBLOCK) {
		to->busy++;
		return 0;
	}
	if (lock < 0)
		return lock;
	usage_add(dir, "upper", &usage);
	got = dirtree_remove(dir, "upper", err);
	if (got == 0)
		got = dirtree_remove(dir, "work", err);
	if (got < 0)
		return got;
	to->usage.bytes += usage.bytes;
	to->usage.entries += usage.entries;
	to->count += usage.entries > 0;
	return 0;
}

static int visit_caches(const struct caches_visit *v, int above,
			struct err *err)
{
	auto_close int dir = open_caches_subdir(above, CACHES_DIR);

	if (dir < 0)
		return 0;
	if (v->clear_caches_dir)
		return clear_caches_dir(dir, v->to, err);
	usage_add(above, CACHES_DIR, &v->to->usage);
	v->to->count++;
	return 0;
}

static int visit_all_caches(const struct caches_visit *v,
			    const struct state *state, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;
	int got = visit_caches(v, state->fd, err);

	if (got < 0 || dirlist_read(state->workspaces_fd, &list, err) < 0)
		return got;
	for (i = 0; i < list.count && got == 0; i++) {
		auto_close int workspace = open_caches_subdir(
			state->workspaces_fd, list.items[i].name);

		if (workspace >= 0)
			got = visit_caches(v, workspace, err);
	}
	return got;
}

void caches_measure(const struct state *state, struct caches *ret)
{
	struct err ignored;

	*ret = (struct caches){0};
	(void)visit_all_caches(&(struct caches_visit){ret, false}, state,
			       &ignored);
}

int caches_clear(const struct state *state, struct caches *ret, struct err *err)
{
	*ret = (struct caches){0};
	return visit_all_caches(&(struct caches_visit){ret, true}, state, err);
}
