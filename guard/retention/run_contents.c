#include "guard/retention/run_contents.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/auto.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/path.h"
#include "guard/state/clock.h"
#include "guard/timeline/drop.h"
#include "guard/timeline/import.h"
#include "overlay/session_list.h"

#define DAY ((int64_t)24 * 3600)
/* Message of the snapshot. */
#define THINNED "thinned"

/* --- the runs with versions --- */

/* A timeline in the store, with the run's directory if there is one. */
struct versions_of {
	struct store *store;
	struct session *s; /* NULL: none */
	struct snapshot *snapshot; /* NULL: nothing is stored */
	int64_t decided; /* seconds since 1970; 0: not yet */
	struct contents *c; /* after open_versions() */
};

typedef int versions_visit(void *arg, struct versions_of *v, struct err *err);

static int64_t decision_time(const struct session *s)
{
	struct stat st;

	if (run_state_pending(s->state) ||
	    fstatat(s->fd, "record", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return st.st_mtime;
}

static int visit_run(struct session *s, int64_t decided, struct store *store,
		     versions_visit *each, void *arg, struct err *err)
{
	struct versions_of v = {.store = store, .s = s, .decided = decided};

	return fd_exists(s->fd, TIMELINE_DIR) ? each(arg, &v, err) : 0;
}

/* Runs with a directory; names: theirs. */
static int each_directory(const struct state *state, struct store *store,
			  struct names *names, versions_visit *each, void *arg,
			  struct err *err)
{
	AUTO(session_list) struct session_list runs = {0};
	AUTO(dirlist) struct dirlist trash = {0};
	auto_close int trash_fd = fd_open_dir(state->trash_fd, ".");
	int64_t when;
	size_t i;
	int got = 0;

	if (trash_fd < 0 || dirlist_read(trash_fd, &trash, err) < 0 ||
	    session_list(state->runs_fd, false, &runs, err) < 0)
		return -err->num;
	for (i = 0; i < runs.count && got >= 0; i++) {
		struct session *s = &runs.items[i];

		names_add(names, s->id);
		got = visit_run(s, decision_time(s), store, each, arg, err);
	}
	for (i = 0; i < trash.count && got >= 0; i++) {
		AUTO(session) struct session s = SESSION_NONE;
		struct err ignored;

		if (session_open_trashed(trash_fd, trash.items[i].name, &s,
					 &when, &ignored) < 0)
			continue;
		names_add(names, s.id);
		got = visit_run(&s, when, store, each, arg, err);
	}
	return got;
}

static int each_run(const struct state *state, struct store *store,
		    versions_visit *each, void *arg, struct err *err)
{
	AUTO(names) struct names names = {0};
	auto_free uint64_t *seqs = NULL;
	size_t count = 0, i, k;
	int got = each_directory(state, store, &names, each, arg, err);

	if (got >= 0 && store)
		got = catalog_list(store, &seqs, &count, err);
	for (i = 0; i < count && got >= 0; i++) {
		AUTO(snapshot) struct snapshot s = {0};
		struct versions_of v = {.store = store, .snapshot = &s};
		struct err ignored;

		if (catalog_load(store, seqs[i], &s, &ignored) < 0 ||
		    strcmp(s.reason, CATALOG_TIMELINE) != 0)
			continue;
		v.decided = s.time.sec;
		for (k = 0; k < names.count; k++)
			if (strcmp(names.items[k], s.run_id) == 0)
				break;
		if (k == names.count)
			got = each(arg, &v, err);
	}
	return got;
}

static int open_versions(struct versions_of *v, struct err *err)
{
	return v->s ? contents_open(&v->c, v->store, v->s, err)
		    : contents_open_stored(&v->c, v->store, v->snapshot->run_id,
					   err);
}

/* --- maintenance --- */

struct maintaining {
	const struct state *state;
	int64_t now;
};

/* Whether the run's directory is the caller's, in *ret. One in the trash has no
 * lock. */
static bool lock_run(const struct state *state, const struct versions_of *v,
		     struct session *ret)
{
	struct err ignored;

	if (!v->s || session_exists(state->runs_fd, v->s->id, &ignored) == 0)
		return true;
	return session_open(state->runs_fd, v->s->id, true, ret, &ignored) == 0;
}

static int thin_run(struct versions_of *v, struct err *err)
{
	AUTO(drop_list) struct drop_list list = {0};
	int got = 0;

	if (open_versions(v, err) < 0)
		return -err->num;
	if (contents_snapshot(v->c)->seq &&
	    strcmp(contents_snapshot(v->c)->message, THINNED) != 0) {
		drop_list_thin(contents_timeline(v->c), &list);
		got = drop_contents(v->c, &list, TIMELINE_THINNED,
				    "shorter than others of its minute",
				    THINNED, false, err);
	}
	contents_close(&v->c);
	return got;
}

static int maintain_run(void *arg, struct versions_of *v, struct err *err)
{
	const struct maintaining *m = arg;
	AUTO(session) struct session locked = SESSION_NONE;

	if (v->s && v->s->live)
		return 0;
	if (v->s && import_spooled(v->s->fd, 0) >= 0 &&
	    import_run(v->store, v->s, true, err) < 0)
		return -err->num;
	/* One that goes on, or is in use: another time. */
	return v->decided && m->now - v->decided >= DAY &&
			       !(v->snapshot &&
				 strcmp(v->snapshot->message, THINNED) == 0) &&
			       lock_run(m->state, v, &locked)
		       ? thin_run(v, err)
		       : 0;
}

int run_contents_maintain(const struct state *state, struct store *store,
			  struct err *err)
{
	struct maintaining m = {state, timestamp_now().sec};
	int got = clock_believed(state->fd)
			  ? each_run(state, store, maintain_run, &m, err)
			  : 0;

	return got < 0 ? got : 0;
}

/* --- the trash --- */

static int keep_expired(void *arg, struct versions_of *v, struct err *err)
{
	const struct maintaining *m = arg;
	AUTO(store) struct store *store = NULL;

	if (v->decided > m->now)
		return 0;
	return store_open(&store, m->state->store_path, STORE_WRITE, err) < 0
		       ? -err->num
		       : import_run(store, v->s, true, err);
}

void run_contents_keep_trash(const struct state *state, int64_t max_age)
{
	struct maintaining m = {state, timestamp_now().sec - max_age};
	AUTO(dirlist) struct dirlist trash = {0};
	auto_close int trash_fd = fd_open_dir(state->trash_fd, ".");
	struct err ignored;
	int64_t when;
	size_t i;

	if (trash_fd < 0 || dirlist_read(trash_fd, &trash, &ignored) < 0)
		return;
	for (i = 0; i < trash.count; i++) {
		AUTO(session) struct session s = SESSION_NONE;

		if (session_open_trashed(trash_fd, trash.items[i].name, &s,
					 &when, &ignored) == 0)
			(void)visit_run(&s, when, NULL, keep_expired, &m,
					&ignored);
	}
}

/* --- purge --- */

struct purging {
	const struct state *state;
	const char *path;
	char note[80];
	bool dry;
	int count;
};

static int purge_run(void *arg, struct versions_of *v, struct err *err)
{
	struct purging *p = arg;
	AUTO(session) struct session locked = SESSION_NONE;
	AUTO(drop_list) struct drop_list list = {0};
	const struct contents_root *roots;
	size_t count, i;
	int got;

	if (open_versions(v, err) < 0)
		return -err->num;
	roots = contents_roots(v->c, &count);
	for (i = 0; i < count; i++) {
		if (path_below(roots[i].path, p->path))
			drop_list_path(contents_timeline(v->c), i, "", &list);
		else if (path_below(p->path, roots[i].path))
			drop_list_path(contents_timeline(v->c), i,
				       path_rest(p->path, roots[i].path),
				       &list);
	}
	got = drop_contents(v->c, &list, TIMELINE_GAP, p->note, "", true, err);
	if (got > 0 && !p->dry)
		got = lock_run(p->state, v, &locked)
			      ? drop_contents(v->c, &list, TIMELINE_GAP,
					      p->note, "", false, err)
			      : fail(err, EBUSY,
				     "run %s has versions of it and is still "
				     "running: wait for its end, or end it",
				     session_label(v->s));
	contents_close(&v->c);
	p->count += got > 0 ? got : 0;
	return got;
}

int run_contents_purge(const struct state *state, struct store *store,
		       const char *path, bool dry, struct err *err)
{
	struct purging p = {.state = state, .path = path, .dry = dry};
	time_t now = time(NULL);
	struct tm tm;
	int got;

	if (!localtime_r(&now, &tm) ||
	    !strftime(p.note, sizeof(p.note), NOTE_PURGED "%Y-%m-%d %H:%M",
		      &tm))
		(void)strcpy(p.note, NOTE_PURGED);
	got = each_run(state, store, purge_run, &p, err);
	return got < 0 ? got : p.count;
}
