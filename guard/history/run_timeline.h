/*
 * The timeline of a run that the user names, and its states as snapshots that
 * are in no catalog.
 *
 *	got = run_timeline_find(c, "fix-login@14:03", &run, &moment, &err)
 *	run_timeline_snapshot(&run, &moment, path, &snapshot, &err)
 *	moment_free(&moment)
 *	run_timeline_free(&run)
 */
#ifndef GUARD_HISTORY_RUN_TIMELINE_H
#define GUARD_HISTORY_RUN_TIMELINE_H

#include "guard/state/context.h"
#include "guard/timeline/contents.h"
#include "guard/timeline/moment.h"

struct run_timeline {
	struct session *session; /* NULL: the run's directory is gone */
	struct contents *contents;
	char *id, *label; /* as session_label() */
	bool live;
};

void run_timeline_free(struct run_timeline *r);

/* Opens the timeline of the run that the text names (resolve_run_text()), or
 * the stored one of a run without a directory, by its id; where it is not
 * stored, or not completely, that of the trash. Opens the store for writing.
 * 1; 0: no run is called so. */
int run_timeline_open(struct context *c, const char *run,
		      struct run_timeline *ret, struct err *err);

/* The length of RUN in "RUN@WHEN"; 0: the text does not have this form. */
size_t run_timeline_name_len(const char *text);
/* The length of RUN@WHEN in "RUN@WHEN[:PATH]"; 0: no run is called so. */
size_t run_timeline_len(struct context *c, const char *text);
/* The run and the moment of "RUN@WHEN". Results as above; errors of
 * moment_find(). */
int run_timeline_find(struct context *c, const char *text,
		      struct run_timeline *ret, struct moment *ret_moment,
		      struct err *err);

/* The index of the run's directory that has the path (absolute; a directory
 * above all of them: the project). -EXDEV: none has it. */
int run_timeline_root(const struct run_timeline *r, const char *path,
		      struct err *err);
/* "fix-login@14:03:12.412", to free. */
char *run_timeline_moment(const struct run_timeline *r, struct timestamp time);

/*
 * The state of run_timeline_root(). seq is 0, and the message names the moment.
 * Losses are notes and a warning. A live run is suspended meanwhile. -ENODATA:
 * the content of the path is lost, with the nearest versions that are not.
 */
int run_timeline_snapshot(struct context *c, struct run_timeline *r,
			  const struct moment *m, const char *path,
			  struct snapshot *ret, struct err *err);

#endif
