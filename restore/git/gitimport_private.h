/*
 * The state of an import, for gitimport.c, which reads, and gitimport_write.c,
 * which writes into the user's repository and calls gitimport.c.
 */
#ifndef GUARD_RESTORE_GIT_GITIMPORT_PRIVATE_H
#define GUARD_RESTORE_GIT_GITIMPORT_PRIVATE_H

#include "base/vec.h"
#include "restore/git/gitimport.h"
#include "restore/git/gitlfs.h"
#include "restore/git/gitrun.h"
#include "restore/git/libgit.h"

/* The checked pack in the copy, without ".pack" or ".idx". */
#define GITIMPORT_PACK "objects/pack/new"

/* An object that a ref of the user's, or a ref or reflog of the run, names. */
struct gitimport_object {
	struct gitid id;
	char type[8]; /* "": the object is missing */
	uint64_t size;
	bool pointed; /* a ref of the user names the object */
	bool own; /* a ref of the user outside of refs/guard */
	bool named; /* a ref of the run names the object */
	bool apart; /* a ref of the run outside of it, or a reflog */
	bool fresh; /* a commit that no ref of the user reaches */
	bool lost; /* a fresh commit that nothing but reflogs of the run
		      reaches, and no other lost commit */
};

struct gitimport {
	const struct libgit *git;
	char *to_path;
	git_repository *to;
	int dirfd; /* has the copy, borrowed */
	char *copy; /* its name */
	struct gitrun run; /* run.dirfd: the copy; -1: none */
	enum gitrun_objects where; /* the run's objects, as far as checked */
	struct gittips tips;
	struct gitlfs lfs;
	VEC(struct gitimport_object) objects; /* sorted by id, each once */
	VEC(struct gittip) imported; /* the user's refs below refs/guard */
	struct gitid pack; /* name of the pack, with `check` */
	struct gitimport_list list;
};

/* Since the check a git gc of the user's may have deleted objects on which
 * those of the pack are built: -EBUSY. */
int gitimport_check_complete(struct gitimport *im, struct err *err);
/* The error about a line of git's that has another form. */
int gitimport_fail_line(const char *line, struct err *err);

#endif
