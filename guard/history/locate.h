/*
 * Finds the snapshot and the path in it that operands of the command line name.
 */
#ifndef GUARD_HISTORY_LOCATE_H
#define GUARD_HISTORY_LOCATE_H

#include "guard/state/context.h"
#include "snapshot/tree/catalog.h"

/*
 * when: as in catalog_find(), NULL: the latest; a plain number is a snapshot of
 * any root. arg: a path as typed, NULL: the project (with a number: the root of
 * the snapshot). A relative path starts at the current directory, or at the
 * snapshot's root if the current directory is not below it. *ret_path: the path
 * in the snapshot, to free; it need not exist there.
 */
int locate_snapshot(struct context *c, const char *when, const char *arg,
		    struct snapshot *ret, char **ret_path, struct err *err);

/* catalog_find(), also for RUN@WHEN (run_timeline.h). */
int locate_find(struct context *c, const char *when, const char *path,
		bool need_path, struct snapshot *ret, struct err *err);
/* Whether the text is a point in time, as locate_find() takes it. The time of a
 * RUN@WHEN may not exist. */
bool locate_is_point(struct context *c, const char *text);

/* The error for a path that the snapshot lacks. -ENODATA: it was purged;
 * -ENOENT. */
int locate_missing(const struct snapshot *s, const char *path, struct err *err);

/* The error of a path that no version of the real files has, with the commands
 * for the newest result of a run that has it. path: absolute. Returns
 * -err->num. */
int locate_only_run(struct store *store, const char *path, struct err *err);

/* Splits "SNAP:PATH", where SNAP may be a time such as "2026-11-21 14:30", or
 * RUN@WHEN with colons; *ret_path is NULL without a path. Both are to free. */
void locate_split(struct context *c, const char *arg, char **ret_when,
		  char **ret_path);

#endif
