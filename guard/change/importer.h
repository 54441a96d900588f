/*
 * Import of a run's commits into the user's repository: the trees from the
 * store, a private copy of the run's objects, and git, which packs and checks
 * them there (restore/git/gitrun.h says what git may do).
 */
#ifndef GUARD_CHANGE_IMPORTER_H
#define GUARD_CHANGE_IMPORTER_H

#include "guard/state/context.h"
#include "restore/git/gitimport.h"

/*
 * Lists new refs. The session is locked, and is freed after *ret, which the
 * caller frees with gitimport_free(). *ret NULL: the run's .git is as it was.
 * check: git checks all of it, and gitimport_write() may be called. -ENOENT:
 * there is no repository on one of the sides; -EBADMSG, -E2BIG: refused, and
 * why.
 */
int importer_open(struct context *c, struct session *s, bool check,
		  struct gitimport **ret, struct err *err);

/* gitimport_write(); the run's record and the log get the import. */
int importer_write(struct context *c, struct session *s, struct gitimport *im,
		   struct err *err);

/* The commits or refs that the user's repository lacks: "3 commits", "1 ref";
 * "" when none is missing, or there is no repository. To free. NULL: the run's
 * repository cannot be read. */
char *importer_left(struct context *c, struct session *s, struct err *err);

#endif
