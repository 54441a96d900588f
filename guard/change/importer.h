/*
 * Import of a run's commits into the user's repository: the trees from the
 * store, a private copy of the run's objects, and git, which packs and checks
 * them there (restore/git/gitrun.h says what git may do).
 */
#ifndef GUARD_CHANGE_IMPORTER_H
#define GUARD_CHANGE_IMPORTER_H

#include "guard/state/context.h"
#include "restore/git/gitimport.h"

struct importer {
	struct gitimport *git; /* NULL: the run's .git is as it was */
	const struct gitimport_list *list;
	struct gittips tips; /* with notes of skipped refs */
	size_t fresh; /* refs of the list that are not known */
	int run_fd; /* the session's directory, borrowed */
	int copy_fd; /* the directory of gitcopy_make() */
};

#define IMPORTER_NONE                                                          \
	{                                                                      \
		.run_fd = -1, .copy_fd = -1                                    \
	}

/*
 * Lists new refs. The session is locked. check: git checks all of it, and
 * importer_write() may be called. -ENOENT: there is no repository on one of the
 * sides; -EBADMSG, -E2BIG: refused, and why. The run's .git as it was: an empty
 * list.
 */
int importer_open(struct context *c, struct session *s, bool check,
		  struct importer *ret, struct err *err);
int importer_write(struct importer *im, struct err *err);
/* Removes the copy. */
void importer_free(struct importer *im);

/* The commits or refs that the user's repository lacks: "3 commits", "1 ref";
 * "" when none is missing or the number is unknown. To free. Never fails. */
char *importer_left(struct context *c, struct session *s);

#endif
