/*
 * Taking a run's commits over into the user's repository: objects as one pack,
 * and refs below refs/guard/<run>/. Nothing else of the repository is written,
 * ever: no branch, HEAD, index, configuration, hook or reflog of its own.
 *
 *	gitimport_open()	looks: what is new, checks every object of it
 *	gitimport_write()	the pack, durable, then the refs
 *
 * Uses libgit2 only, which executes nothing, and belongs into a process of its
 * own: the objects are a stranger's.
 */
#ifndef GUARD_RESTORE_GIT_GITIMPORT_H
#define GUARD_RESTORE_GIT_GITIMPORT_H

#include "restore/git/gittips.h"

struct gitimport_ref {
	char *name; /* below the prefix */
	struct gitid id;
	enum gittype type;
	bool known; /* the user's repository reaches it already */
	char *subject; /* as it stands in the commit or tag */
};

struct gitimport;

struct gitimport_list {
	char *prefix; /* "refs/guard/<run>", with ".2" when that is taken */
	struct gitimport_ref *refs; /* by name */
	size_t count, room;
	uint64_t commits, objects, bytes; /* that the user's lacks */
};

void gitimport_list_free(struct gitimport_list *list);

/*
 * from: a repository of gitcopy_make(); to: the user's .git folder. Both
 * absolute. -EBADMSG: something in it is not what git makes, and what;
 * -ENODATA: an object is missing; -ENOTSUP: a kind of repository that libgit2
 * cannot handle.
 */
int gitimport_open(const char *from, const char *to, const char *run_id,
		   const struct gittips *tips, struct gitimport **ret,
		   struct err *err);
void gitimport_free(struct gitimport **im);
const struct gitimport_list *gitimport_listed(const struct gitimport *im);

/* What is new. Never moves a ref: -EEXIST. */
int gitimport_write(struct gitimport *im, struct err *err);

#endif
