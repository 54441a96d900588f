/*
 * Bringing a run's commits into the user's repository: the trees from the
 * store, a private copy of the run's objects, and the process of its own that
 * reads them and alone writes into the repository.
 *
 * That process gets no descriptors but its pipes, limits on memory, time and
 * files, and, where the kernel has Landlock, may execute nothing and write
 * nowhere but in objects/pack, refs/guard and logs.
 */
#ifndef GUARD_CHANGE_IMPORTER_H
#define GUARD_CHANGE_IMPORTER_H

#include "guard/change/importer_child.h"
#include "guard/context.h"
#include "restore/git/gitimport.h"

struct importer {
	struct gitimport_list list;
	struct gittips tips; /* its notes say what was left out */
	size_t fresh; /* refs of the list that are not known */
	struct importer_child child;
	int run_fd; /* borrowed: the session's folder */
	char *made; /* refs/guard, when it had to be made */
};

#define IMPORTER_NONE                                                          \
	{                                                                      \
		.child = {.report_fd = -1, .go_fd = -1}, .run_fd = -1          \
	}

/*
 * Looks and checks. The session is locked. write: importer_write() may be
 * called. -ENOENT: there is no repository on one of the sides; -EBADMSG,
 * -E2BIG: refused, and why. The run's .git as it was: an empty list.
 */
int importer_open(struct context *c, struct session *s, bool write,
		  struct importer *ret, struct err *err);
int importer_write(struct importer *im, struct err *err);
/* Ends the process, removes the copy. */
void importer_free(struct importer *im);

/* "3 commits", "1 ref": what the user's repository has not; "" when nothing
 * is missing or it cannot be told. To free. Never fails. */
char *importer_left(struct context *c, struct session *s);

#endif
