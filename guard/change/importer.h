/*
 * Import of a run's commits into the user's repositories: the trees from the
 * store, a private copy of the run's objects, and git, which packs and checks
 * them there (restore/git/gitrun.h says what git may do).
 *
 * A run has one repository of the project, wherever its .git leads to, and any
 * number of others: of submodules, in directories of the project, in those of
 * --cow. Their commits are imported before those of the project, so that a
 * commit that names one of a submodule never arrives without it. A submodule
 * that the run added has no repository of the user's: its commits go into the
 * project's, below refs/guard/RUN/modules/NAME/.
 */
#ifndef GUARD_CHANGE_IMPORTER_H
#define GUARD_CHANGE_IMPORTER_H

#include "base/vec.h"
#include "guard/change/changes.h"
#include "guard/state/context.h"
#include "restore/git/gitimport.h"

/* In the record, beside LAYERS_GIT: "<id> <branch>", HEAD when the run began;
 * "-": no commit; no branch: detached. */
#define IMPORTER_HEAD "git-head"

/* Absolute paths in the run's roots that were masked in it, or seen without
 * their secrets. */
#define IMPORTER_MASKED "masked"

/* A repository that the run may have changed; its directory is that of objects
 * and refs. */
struct importer_repository {
	char *name; /* for people: path; "": the project's */
	size_t root; /* index of the run's root with the directory */
	bool outside; /* the layer over LAYERS_GIT has it instead */
	char *path; /* below the root or the layer */
	char *git; /* the user's directory, absolute */
	char *own; /* directory of HEAD and index in it: "", "worktrees/NAME" */
	/* The directory before and after the run; of one outside, only the
	 * changed files. */
	struct entry then, now;
	bool missing; /* the user has none */
	struct gitimport *im; /* NULL: the repository is unchanged */
};

/* A root of the run, before and after it. */
struct importer_root {
	struct entry base, want;
};

struct importer {
	/* The project's is the first one, if it has one. */
	VEC(struct importer_repository) items;
	VEC(struct importer_root) roots; /* none: not stored */
	struct changes changes; /* of them */
	uint64_t commits; /* number that the user's repositories lack */
	size_t fresh; /* the same of refs */
	/* Such paths that the commits change, with `check`: they have the mask
	 * or the copy in place of the user's file. */
	struct names masked;
};

/*
 * Lists new refs. The session is locked, and is freed after *ret, which the
 * caller frees. check: git checks all of it, and importer_write() may be
 * called. -ENOENT: there is no repository on one of the sides; -EBADMSG,
 * -E2BIG: refused, and why.
 */
int importer_open(struct context *c, struct session *s, bool check,
		  struct importer *ret, struct err *err);
void importer_free(struct importer *imp);

/* Where HEAD was when the run began; false: that is not recorded. */
bool importer_began(const struct session *s, struct githead *ret);

/* The work tree of a repository, absolute, to free. */
char *importer_work_tree(const struct session *s,
			 const struct importer_repository *r);

/* gitimport_write() of all; the run's record and the log get the import. */
int importer_write(struct context *c, struct session *s, struct importer *imp,
		   struct err *err);

/* The commits or refs that the user's repositories lack: "3 commits", "1 ref";
 * "" when none is missing, or there is no repository. To free. NULL: a
 * repository of the run cannot be read. */
char *importer_left(struct context *c, struct session *s, struct err *err);

#endif
