#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/path.h"
#include "guard/agent/agent.h"
#include "guard/change/changes.h"
#include "guard/state/report.h"
#include "restore/workspace.h"

/* ---- caches ---- */

static int open_agent_caches(struct agent *a, const struct state *state,
			     const struct session *s, struct buf *notes,
			     struct err *err)
{
	auto_close int caches_fd = -1, workspace = -1;
	int above = state->fd, got = 0;
	size_t i;

	for (i = 0; i < a->places.count; i++)
		if (a->places.items[i].item->word == PROFILE_CACHE)
			break;
	if (i == a->places.count)
		return 0;
	if (!a->options.shared_cache)
		above = workspace = workspace_open(state->workspaces_fd,
						   s->project, true, err);
	if (above < 0)
		got = above;
	else if (mkdirat(above, CACHES_DIR, 0700) < 0 && errno != EEXIST)
		got = fail_errno(err, "create a directory");
	else
		caches_fd = fd_open_dir(above, CACHES_DIR);
	if (got == 0)
		got = caches_fd < 0 ? fail_errno(err, "open their directory")
				    : persistent_mount_open_caches(
					      a->persistent_mount, state->home,
					      caches_fd, s->fd, err);
	if (got == -EBUSY)
		buf_printf(notes,
			   "another run %suses the kept caches: cache files of "
			   "this run stay in its layer\n",
			   a->options.shared_cache ? "" : "of this project ");
	else if (got == -EXDEV)
		buf_printf(notes, "caches are not kept for the next run (%s)\n",
			   err->text);
	else if (got < 0)
		return err_context(err, "caches of the run");
	for (; got == 0 && i < a->places.count; i++)
		if (a->places.items[i].item->word == PROFILE_CACHE)
			persistent_mount_add_cache(a->persistent_mount,
						   a->places.items[i].path);
	return 0;
}

/* ---- a run ---- */

int agent_open(struct agent *a, const struct state *state, struct session *s,
	       struct buf *notes, struct err *err)
{
	const struct profile_item *item = NULL;
	const char *place;
	size_t i;

	a->persistent_mount = persistent_mount_new();
	for (i = 0; i < a->places.count && !a->shared; i++) {
		const struct agent_place *home = &a->places.items[i];
		auto_free char *source = NULL;

		if (home->item->word != PROFILE_HOME)
			continue;
		source = agent_make_home(a, state, s->project, home->item,
					 notes, err);
		if (!source ||
		    persistent_mount_add_dir(a->persistent_mount, home->path,
					     source, err) < 0)
			return err_context(err, "home of %s", a->name);
	}
	if (open_agent_caches(a, state, s, notes, err) < 0)
		return -err->num;
	record_set(&s->more, PERSISTENT_MOUNT_PLACE, NULL);
	/* A resumed run with another command keeps its record. */
	if (a->name) {
		record_set(&s->more, CHANGES_NOISE_GLOB, NULL);
		record_set(&s->more, AGENT_NAME, a->name);
	}
	for (i = 0; (place = persistent_mount_place(a->persistent_mount, i));
	     i++)
		record_add(&s->more, PERSISTENT_MOUNT_PLACE, place);
	while ((item = profile_next(&a->profile, PROFILE_NOISE, item))) {
		auto_free char *glob = mem_printf(
			"%s%s", item->in_home ? "~/" : "", item->value);

		record_add(&s->more, CHANGES_NOISE_GLOB, glob);
	}
	return 0;
}

/* ---- afterwards ---- */

static void remove_mount_points(const struct agent *a, const struct session *s,
				const char *upper_name, const char *lower)
{
	auto_close int upper_fd = fd_open_dir_path(s->fd, upper_name);
	auto_close int lower_fd = open(lower, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *place;
	size_t i;

	for (i = 0; (place = persistent_mount_place(a->persistent_mount, i));
	     i++)
		if (upper_fd >= 0 && lower_fd >= 0 && path_below(place, lower))
			persistent_mount_remove_point(upper_fd, lower_fd,
						      path_rest(place, lower));
}

void agent_end(const struct agent *a, const struct session *s)
{
	persistent_mount_empty_work(a->persistent_mount);
	remove_mount_points(a, s, "upper", s->project);
	if (s->home && *s->home)
		remove_mount_points(a, s, "home-upper", s->home);
}

void agent_describe(const struct agent *a, struct buf *to)
{
	if (a->name)
		buf_printf(to, ", agent: %s", a->name);
	if (a->nested)
		buf_add_text(to, " with --nested");
	if (a->options.acp)
		buf_add_text(to, ", --acp");
	if (a->shared)
		report_warning(
			"--share-login: the run writes to your real "
			"directories of %s, with your login and settings",
			a->name);
	if (a->options.shared_cache)
		report_warning("--shared-cache: runs of other projects use the "
			       "cache files of this run");
}

/* A locked cache belongs to a run. The lock file stays: another guard process
 * may be waiting for it. */
static int visit_caches(int above, bool clear, struct caches *to,
			struct err *err)
{
	auto_close int dir = fd_open_dir(above, CACHES_DIR);
	auto_close int lock = -1;
	struct usage usage = {0};

	if (dir < 0)
		return 0;
	if (!clear) {
		usage_add(above, CACHES_DIR, &to->usage);
		to->count++;
		return 0;
	}
	lock = lock_take(dir, "lock", true, false, err);
	if (lock == -EWOULDBLOCK) {
		to->busy++;
		return 0;
	}
	if (lock < 0)
		return lock;
	usage_add(dir, "upper", &usage);
	if (dirtree_remove(dir, "upper", err) < 0 ||
	    dirtree_remove(dir, "work", err) < 0)
		return -err->num;
	to->usage.bytes += usage.bytes;
	to->usage.entries += usage.entries;
	to->count += usage.entries > 0;
	return 0;
}

static int visit_all_caches(const struct state *state, bool clear,
			    struct caches *ret, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;
	int got;

	*ret = (struct caches){0};
	got = visit_caches(state->fd, clear, ret, err);
	if (got == 0)
		got = dirlist_read(state->workspaces_fd, &list, err);
	if (got < 0)
		return -err->num;
	for (i = 0; i < list.count && got == 0; i++) {
		auto_close int workspace =
			fd_open_dir(state->workspaces_fd, list.items[i].name);

		if (workspace >= 0)
			got = visit_caches(workspace, clear, ret, err);
	}
	return got;
}

void caches_measure(const struct state *state, struct caches *ret)
{
	struct err ignored;

	(void)visit_all_caches(state, false, ret, &ignored);
}

int caches_clear(const struct state *state, struct caches *ret, struct err *err)
{
	return visit_all_caches(state, true, ret, err);
}
