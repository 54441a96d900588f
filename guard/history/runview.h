/*
 * What a run left, seen from outside of it: its own /tmp and /var/tmp, its
 * layers, its result. All of it was made by the run: nothing is followed, and
 * nothing but folders and plain files is opened.
 */
#ifndef GUARD_HISTORY_RUNVIEW_H
#define GUARD_HISTORY_RUNVIEW_H

#include "guard/context.h"
#include "snapshot/store/store.h"
#include "snapshot/tree/tree.h"
#include "overlay/session.h"

/* "RUN:PATH", "RUN:" or "RUN" (then *ret_path is ""): both to free, and true
 * when RUN has the form of a run's id. */
bool runview_split(const char *arg, char **ret_run, char **ret_path);

/*
 * Opens a file that the run left: an absolute path as the run saw it, or one
 * in its project. -ENOENT: it did not leave it (in its project: it did not
 * change it); -EXDEV: it is in none of these places.
 */
int runview_open(const struct session *s, const char *path, struct err *err);

/* The entry of a project's path in the run's stored result: 1, 0, negative. */
int runview_result(struct context *c, const struct session *s, const char *path,
		   struct entry *ret, struct err *err);

/* The entries of a directory, to free; "": all that lies in the private
 * folders. */
int runview_list(struct context *c, const struct session *s, const char *path,
		 struct tree *ret, struct err *err);
/* The entries of a directory, or e itself when it is none: into an empty tree,
 * to free. */
int runview_load_tree(struct store *store, const struct entry *e,
		      struct tree *ret, struct err *err);

#endif
