#include "guard/retention/run_contents.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/path.h"
#include "guard/state/clock.h"
#include "guard/timeline/drop.h"
#include "guard/timeline/import.h"
#include "overlay/session_list.h"
#include "snapshot/maintain/purge.h"

#define DAY ((int64_t)24 * 3600)
/* Message of the snapshot. */
#define THINNED "thinned"

/* --- the runs with versions --- */

struct visit {
	const struct state *state;
	struct store *store;
	/* decided: seconds since 1970, 0: not yet. c: NULL, if it cannot be
	 * read. */
	int (*each)(struct visit *v, struct session *s, struct contents *c,
		    int64_t decided, struct err *err);
	struct names seen; /* runs with a directory */
	/* Of the caller: */
	int64_t before;
	const char *path;
	char note[PURGE_NOTE_LEN];
	bool dry;
	int count;
};

static int visit_directory(struct visit *v, struct session *s, int64_t decided,
			   struct err *err)
{
	struct contents *c = NULL;
	int got = 0;

	names_add(&v->seen, s->id);
	if (!fd_exists(s->fd, TIMELINE_DIR))
		return 0;
	if (v->store)
		got = contents_open(&c, v->store, s, err);
	if (got == 0)
		got = v->each(v, s, c, decided, err);
	contents_close(&c);
	return got;
}

static int visit_trash(struct visit *v, struct err *err)
{
	AUTO(dirlist) struct dirlist trash = {0};
	auto_close int fd = fd_open_dir(v->state->trash_fd, ".");
	int64_t when;
	size_t i;
	int got = 0;

	if (fd < 0 || dirlist_read(fd, &trash, err) < 0)
		return -err->num;
	for (i = 0; i < trash.count && got == 0; i++) {
		AUTO(session) struct session s = SESSION_NONE;
		struct err ignored;

		if (session_open_trashed(fd, trash.items[i].name, &s, &when,
					 &ignored) == 0)
			got = visit_directory(v, &s, when, err);
	}
	return got;
}

static int visit_runs(struct visit *v, struct err *err)
{
	AUTO(session_list) struct session_list runs = {0};
	size_t i;
	int got = session_list(v->state->runs_fd, false, &runs, err);

	for (i = 0; i < runs.count && got == 0; i++) {
		const struct session *s = &runs.items[i];
		AUTO(session) struct session locked = SESSION_NONE;
		struct err ignored;
		struct stat st = {0};

		/* In use: only what changes nothing. */
		if ((v->path ? !v->dry : !run_state_pending(s->state)) &&
		    session_open(v->state->runs_fd, s->id, true, &locked,
				 &ignored) == 0 &&
		    !run_state_pending(locked.state))
			(void)fstatat(locked.fd, "record", &st, 0);
		got = visit_directory(
			v, locked.lock_fd < 0 ? &runs.items[i] : &locked,
			st.st_mtime, err);
	}
	return got;
}

static int visit_stored(struct visit *v, struct err *err)
{
	auto_free uint64_t *seqs = NULL;
	size_t count = 0, i, k;
	int got = catalog_list(v->store, &seqs, &count, err);

	for (i = 0; i < count && got == 0; i++) {
		AUTO(snapshot) struct snapshot s = {0};
		struct contents *c = NULL;
		struct err ignored;

		if (catalog_load(v->store, seqs[i], &s, &ignored) < 0 ||
		    strcmp(s.reason, CATALOG_TIMELINE) != 0)
			continue;
		for (k = 0; k < v->seen.count; k++)
			if (strcmp(v->seen.items[k], s.run_id) == 0)
				break;
		if (k < v->seen.count)
			continue;
		got = contents_open_stored(&c, v->store, s.run_id, err);
		if (got == 0)
			got = v->each(v, NULL, c, s.time.sec, err);
		contents_close(&c);
	}
	return got;
}

static int visit_all(struct visit *v, struct err *err)
{
	int got = visit_runs(v, err);

	if (got == 0)
		got = visit_trash(v, err);
	if (got == 0)
		got = visit_stored(v, err);
	names_free(&v->seen);
	return got;
}

/* --- maintenance --- */

static int maintain_run(struct visit *v, struct session *s, struct contents *c,
			int64_t decided, struct err *err)
{
	AUTO(drop_list) struct drop_list list = {0};
	int got;

	if (s && s->live)
		return 0;
	if (s && import_spooled(s->fd, 0) >= 0)
		return import_run(v->store, s, true, err);
	if (!decided || decided > v->before || !contents_snapshot(c)->seq ||
	    strcmp(contents_snapshot(c)->message, THINNED) == 0)
		return 0;
	drop_list_thin(contents_timeline(c), &list);
	got = drop_contents(c, &list, TIMELINE_THINNED,
			    "shorter than others of its minute", THINNED, false,
			    err);
	return got < 0 ? got : 0;
}

int run_contents_maintain(const struct state *state, struct store *store,
			  struct err *err)
{
	struct visit v = {
		.state = state,
		.store = store,
		.each = maintain_run,
		.before = timestamp_now().sec - DAY,
	};

	return clock_believed(state->fd) ? visit_all(&v, err) : 0;
}

/* --- the trash --- */

static int keep_expired(struct visit *v, struct session *s, struct contents *c,
			int64_t decided, struct err *err)
{
	AUTO(store) struct store *store = NULL;

	(void)c;
	if (decided <= v->before &&
	    store_open(&store, v->state->store_path, STORE_WRITE, err) == 0)
		(void)import_run(store, s, true, err);
	return 0;
}

void run_contents_keep_trash(const struct state *state, int64_t max_age)
{
	struct visit v = {
		.state = state,
		.each = keep_expired,
		.before = timestamp_now().sec - max_age,
	};
	struct err ignored;

	(void)visit_trash(&v, &ignored);
	names_free(&v.seen);
}

/* --- purge --- */

static int purge_run(struct visit *v, struct session *s, struct contents *c,
		     int64_t decided, struct err *err)
{
	AUTO(drop_list) struct drop_list list = {0};
	const struct contents_root *roots;
	size_t count, i;
	int got;

	(void)decided;
	roots = contents_roots(c, &count);
	for (i = 0; i < count; i++) {
		if (path_below(roots[i].path, v->path))
			drop_list_path(contents_timeline(c), i, "", &list);
		else if (path_below(v->path, roots[i].path))
			drop_list_path(contents_timeline(c), i,
				       path_rest(v->path, roots[i].path),
				       &list);
	}
	got = drop_contents(c, &list, TIMELINE_GAP, v->note, "",
			    v->dry || (s && s->live), err);
	if (got > 0 && !v->dry && s && s->live)
		return fail(err, EBUSY,
			    "run %s has versions of it and is still running: "
			    "wait for its end, or end it",
			    session_label(s));
	v->count += got > 0 ? got : 0;
	return got < 0 ? got : 0;
}

int run_contents_purge(const struct state *state, struct store *store,
		       const char *path, bool dry, struct err *err)
{
	struct visit v = {
		.state = state,
		.store = store,
		.each = purge_run,
		.path = path,
		.dry = dry,
	};

	purge_note(v.note, timestamp_now());
	return visit_all(&v, err) < 0 ? -err->num : v.count;
}
