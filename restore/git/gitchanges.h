/*
 * The changes between two trees of the store as a commit on a branch: each
 * changed file becomes a blob in the repository, merged with the branch's
 * version where that differs from the change's base.
 *
 * The caller fills the fields above the empty line, which must outlive the
 * struct; tree_diff() then calls gitchanges_add(). Skipped and noted: ignored
 * files, files that git stores through a filter, paths in a .git or a
 * submodule, and kinds of files that git does not store.
 */
#ifndef GUARD_RESTORE_GIT_GITCHANGES_H
#define GUARD_RESTORE_GIT_GITCHANGES_H

#include "restore/git/libgit.h"
#include "snapshot/tree/tree.h"

/* One path of the commit. */
struct gitchange {
	char *path;
	git_oid id, had_id; /* had: in the branch's tree */
	uint32_t mode; /* 0: deleted */
	uint32_t had;
	bool was_dir; /* a directory, whose files are deleted by changes of
			 their own */
};

struct gitchanges {
	const struct libgit *git;
	struct store *store;
	git_repository *repo;
	git_tree *tree; /* the branch's; NULL: the branch is new */
	const char *branch; /* name, for messages */
	const char *const *paths; /* only these and all paths below, or NULL */

	struct gitchange *items;
	size_t count, capacity;
	char **notes; /* skipped paths, escaped */
	size_t note_count, note_capacity;
};

/* Adds a change. arg: struct gitchanges. -EEXIST: the change conflicts with the
 * branch's file. */
int gitchanges_add(void *arg, const char *path, const struct entry *a,
		   const struct entry *b, struct err *err);
/* Checks directories that become another kind of entry. without: the branch's
 * tree without the deleted paths. -EEXIST: the branch has more entries in such
 * a directory than the base of the run. */
int gitchanges_check_dirs(const struct gitchanges *c, const git_tree *without,
			  struct err *err);
/* Notes a skipped path with the reason. */
void gitchanges_skip(struct gitchanges *c, const char *path, const char *why);
/* Frees the changes and notes; the fields of the caller stay. */
void gitchanges_done(struct gitchanges *c);

#endif
