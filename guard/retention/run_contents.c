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
	struct names seen; /* runs with a directory: names that end so */
	/* Set by the caller: */
	int64_t before;
	const char *path;
	char note[PURGE_NOTE_LEN];
	bool dry;
	int count;
};

static int visit_runs(struct visit *v, struct err *err)
{
	AUTO(session_list) struct session_list runs = {0};
	size_t i;
	int got = session_list(v->state->runs_fd, false, &runs, err);

	for (i = 0; i < runs.count && got == 0; i++) {
		struct session *s = &runs.items[i];
		AUTO(session) struct session locked = SESSION_NONE;
		struct contents *c = NULL;
		struct err ignored;
		struct stat st = {0};

		names_add(&v->seen, s->id);
		/* In use: only what changes nothing. */
		if ((v->path ? !v->dry : !run_state_pending(s->state)) &&
		    session_open(v->state->runs_fd, s->id, true, &locked,
				 &ignored) == 0) {
			s = &locked;
			if (!run_state_pending(s->state))
				(void)fstatat(s->fd, "record", &st, 0);
		}
		if (!fd_exists(s->fd, TIMELINE_DIR))
			continue;
		got = contents_open(&c, v->store, s, err);
		if (got == 0)
			got = v->each(v, s, c, st.st_mtime, err);
		contents_close(&c);
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
			if (strstr(v->seen.items[k], s.run_id))
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
		got = visit_stored(v, err);
	names_free(&v->seen);
	return got;
}

/* --- maintenance --- */

static int maintain_run(struct visit *v, struct session *s, struct contents *c,
			int64_t decided, struct err *err)
{
	auto_free bool *gone = NULL;
	int got;

	if (s && s->live)
		return 0;
	if (s && import_is_due(s->fd, 0))
		return import_run(v->store, s, true, true, err);
	if (!decided || decided > v->before || !contents_snapshot(c)->seq ||
	    strcmp(contents_snapshot(c)->message, THINNED) == 0)
		return 0;
	gone = drop_thin(contents_timeline(c));
	got = drop_contents(c, gone, TIMELINE_THINNED,
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
	AUTO(dirlist) struct dirlist trash = {0};
	auto_close int fd = fd_open_dir(state->trash_fd, ".");
	size_t i;

	if (!clock_believed(state->fd))
		return 0;
	if (fd < 0 || dirlist_read(fd, &trash, err) < 0)
		return -err->num;
	/* An undo may make one of these pending again. */
	for (i = 0; i < trash.count; i++)
		names_add(&v.seen, trash.items[i].name);
	return visit_all(&v, err);
}

/* --- purge --- */

static int purge_run(struct visit *v, struct session *s, struct contents *c,
		     int64_t decided, struct err *err)
{
	const struct timeline *t = contents_timeline(c);
	auto_free bool *gone = mem_zalloc(t->count + 1);
	const struct contents_root *roots;
	size_t count, i;
	int got;

	(void)decided;
	roots = contents_roots(c, &count);
	for (i = 0; i < count; i++) {
		if (path_below(roots[i].path, v->path))
			drop_path(t, i, "", gone);
		else if (path_below(v->path, roots[i].path))
			drop_path(t, i, path_rest(v->path, roots[i].path),
				  gone);
	}
	got = drop_contents(c, gone, TIMELINE_GAP, v->note, "",
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
