/*
 * One commit of what changed between two trees of the store, in the user's own
 * repository.
 *
 *	gitcommit_make()	objects: blobs, trees, the commit; no ref
 *	gitcommit_point()	the branch, if it is where it was; and, for
 *				HEAD's branch, what the index says of the paths
 *
 * The changes are put on the commit that the branch is at: where its file is
 * another than the one the changes began with, both are merged. So the
 * worktree's own edits are in no commit that is made here.
 *
 * The author is the one of the environment (GIT_AUTHOR_NAME, GIT_AUTHOR_EMAIL),
 * else of the configuration.
 *
 * By libgit2: no hook, no filter and no program is run, and nothing is signed;
 * the user's name, ignore rules and line ends are those of his own settings.
 * What git ignores, what it keeps through a filter, what lies in a .git or a
 * submodule, and kinds of files that git does not keep are left out and named.
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
	const char *const *paths; /* only these and what is below; or NULL */
	bool dry; /* nothing is written into the repository: what is made
		     cannot be pointed to */
	const char *home; /* whose settings count; NULL: the repository's */
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
 * repository; -ENODATA: no name or no branch; -ENOTSUP: libgit2 cannot handle
 * the repository.
 */
int gitcommit_make(struct store *store, const struct entry *old,
		   const struct entry *now, const struct gitcommit_job *job,
		   struct gitcommit **ret, struct err *err);
/* -EBUSY: the branch has moved. */
int gitcommit_point(struct gitcommit *c, struct err *err);
void gitcommit_free(struct gitcommit **c);

#endif
