/*
 * What changed between two trees of the store, put path by path on the tree
 * of a branch: as blobs in the repository, each merged with the branch's own
 * file where that is another than the one the change began with.
 *
 * The fields above the line are the caller's and must live as long; then
 * gitchanges_add() is what tree_diff() calls. What git ignores, what it keeps
 * through a filter, what lies in a .git or a submodule, and kinds of files that
 * git does not keep are left out and noted.
 */
#ifndef GUARD_RESTORE_GIT_GITCHANGES_H
#define GUARD_RESTORE_GIT_GITCHANGES_H

#include "restore/git/libgit.h"
#include "snapshot/tree/tree.h"

/* One path of the commit. */
struct gitchange {
	char *path;
	git_oid id, had_id; /* had: in the branch's own tree */
	uint32_t mode; /* 0: it goes */
	uint32_t had;
	bool was_dir; /* and its files go by changes of their own */
};

struct gitchanges {
	const struct libgit *git;
	struct store *store;
	git_repository *repo;
	git_tree *tree; /* of the branch; NULL: it is to begin */
	const char *branch; /* its name, for messages */
	const char *const *paths; /* only these and what is below; or NULL */

	struct gitchange *items;
	size_t count, capacity;
	char **notes; /* what was left out, escaped */
	size_t note_count, note_capacity;
};

/* arg: struct gitchanges. -EEXIST: the branch's file and the change do not go
 * together. */
int gitchanges_add(void *arg, const char *path, const struct entry *a,
		   const struct entry *b, struct err *err);
/* without: the branch's tree, without the paths that go. -EEXIST: of a folder
 * that becomes something else there is more in it than the run began with. */
int gitchanges_check_dirs(const struct gitchanges *c, const git_tree *without,
			  struct err *err);
void gitchanges_skip(struct gitchanges *c, const char *path, const char *why);
void gitchanges_done(struct gitchanges *c);

#endif
