/*
 * One commit of the difference between two trees of the store, in the user's
 * own repository.
 *
 *	gitcommit_make()	objects: blobs, trees, the commit; no ref
 *	gitcommit_point()	the branch, if it is unchanged; for HEAD's
 *				branch also the index entries of the paths
 *
 * The changes are added to the branch's latest commit: where its file differs
 * from the file before the changes, both are merged. So no commit contains
 * other edits of the work tree.
 *
 * The author comes from the environment (GIT_AUTHOR_NAME, GIT_AUTHOR_EMAIL) or
 * the configuration.
 *
 * By libgit2, because a commit must not depend on the git program and on
 * Landlock: no hook, no filter and no program is run, and nothing is signed;
 * name, ignore rules and line ends come from the user's settings. Files that
 * git ignores or keeps through a filter, files in a .git or a submodule, and
 * kinds of files that git does not store are skipped and named.
 */
#ifndef GUARD_RESTORE_GIT_GITCOMMIT_H
#define GUARD_RESTORE_GIT_GITCOMMIT_H

#include <stdbool.h>

#include "base/mem.h"
#include "snapshot/tree/entry.h"

struct gitcommit_job {
	const char *repository; /* the work tree's root, absolute */
	const char *branch; /* without refs/heads/; NULL: HEAD's */
	const char *message;
	const char *const *paths; /* only these and paths below; or NULL */
	bool dry; /* nothing is written into the repository, so no ref can point
		     to the commit */
	const char *home; /* the home directory with the settings; NULL: only
			     the repository's settings */
};

struct gitcommit {
	const char *branch;
	char id[41]; /* hex */
	size_t count; /* number of paths that the commit changes */
	struct names notes; /* skipped paths with the reason, escaped */
};

/*
 * -EEXIST: a file of the branch cannot be merged with a change, or the branch
 * is checked out; -EALREADY: nothing is to be committed; -ENOENT: there is no
 * repository; -ENODATA: no name or address of the user, HEAD is detached, or a
 * merge or rebase is in progress; -EINVAL: no valid branch name; -EBUSY: git is
 * at work in the repository; -ENOTSUP: libgit2 cannot handle the repository or
 * its index.
 */
int gitcommit_make(struct store *store, const struct entry *old,
		   const struct entry *now, const struct gitcommit_job *job,
		   struct gitcommit **ret, struct err *err);
/* -EBUSY: the branch has moved. */
int gitcommit_point(struct gitcommit *c, struct err *err);
void gitcommit_free(struct gitcommit **c);

#endif
