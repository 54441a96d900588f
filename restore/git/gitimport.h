/*
 * A run's commits in the user's repository: objects as one pack, and refs
 * below refs/guard/<run>/. Nothing else of the repository is written, ever: no
 * branch, HEAD, index, configuration, hook or reflog of its own.
 *
 *	gitimport_open()	what is new; with `check` every object of it is
 *				packed and checked by git
 *	gitimport_write()	the pack, durable, then the refs
 *
 * git packs what the run's refs and reflogs reach and no ref of the user does
 * (git pack-objects), into a bare repository of guard's, and checks it there
 * as git fetch does with fetch.fsckObjects (git index-pack --strict): the bytes
 * and form of each object, and that nothing is missing. gitrun.h says what git
 * may do. The user's own repository is read and written by libgit2.
 */
#ifndef GUARD_RESTORE_GIT_GITIMPORT_H
#define GUARD_RESTORE_GIT_GITIMPORT_H

#include "restore/git/gitrun.h"
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
	size_t count, capacity;
	uint64_t commits; /* that no ref of the user's reaches */
	uint64_t objects, bytes; /* of the pack; 0 without `check` */
};

struct gitimport_job {
	int dirfd; /* of gitcopy_make(), borrowed */
	uint64_t bytes; /* of the run's object files */
	const char *to; /* the user's .git directory, absolute */
	const char *run_id;
	const struct gittips *tips;
	bool check;
};

/*
 * -EBADMSG: git refuses an object of the run, and why; -ENODATA: an object is
 * missing; -E2BIG: too much; -ETIMEDOUT: git took too long; -ENOTSUP: a kind of
 * repository that libgit2 cannot handle; -ENOENT: git is not installed.
 */
int gitimport_open(const struct gitimport_job *job, struct gitimport **ret,
		   struct err *err);
void gitimport_free(struct gitimport **im);
const struct gitimport_list *gitimport_listed(const struct gitimport *im);

/*
 * Writes what is new, after an open with `check`. tips: the same. Never moves a
 * ref: -EEXIST; -EBUSY: objects that the user's repository had are not there
 * any more.
 */
int gitimport_write(struct gitimport *im, const struct gittips *tips,
		    struct err *err);

#endif
