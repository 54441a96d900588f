/*
 * Reads the files of a run from outside: its private /tmp and /var/tmp, its
 * layers and its result. The run is untrusted: symbolic links are not followed,
 * and only directories and regular files are opened.
 */
#ifndef GUARD_HISTORY_RUNVIEW_H
#define GUARD_HISTORY_RUNVIEW_H

#include "guard/state/context.h"
#include "snapshot/store/store.h"
#include "snapshot/tree/tree.h"
#include "overlay/session.h"

/*
 * Opens the run of "RUN:PATH", "RUN:" or "RUN" (then *ret_path is "", to free).
 * Returns 1; 0: no run is called so ("latest" is a snapshot here), and
 * *ret_path is NULL.
 */
int runview_find(struct context *c, const char *arg, struct session *ret,
		 char **ret_path, struct err *err);

/*
 * Opens a file of the run: an absolute path as in the run, or a path in its
 * project. -ENOENT: there is no such file (in a layer: the run did not change
 * it); -EXDEV: the path is in none of these directories.
 */
int runview_open(const struct session *s, const char *path, struct err *err);

/* The entry of a path in the run's stored result. 1: found, to free; 0: the
 * path or the result does not exist. */
int runview_result(struct context *c, const struct session *s, const char *path,
		   struct entry *ret, struct err *err);

/* The entries of a directory, to free; "": of the private /tmp and /var/tmp. */
int runview_list(struct context *c, const struct session *s, const char *path,
		 struct tree *ret, struct err *err);
/* Fills an empty tree with the entries of a directory, or with e itself when e
 * is no directory. *ret is the caller's to free. */
int runview_load_tree(struct store *store, const struct entry *e,
		      struct tree *ret, struct err *err);

#endif
