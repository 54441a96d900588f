/*
 * Files of git-lfs: a commit has only a text with the SHA-256 of such a file,
 * and the file itself lies beside git's objects, in .git/lfs/objects. An import
 * of commits without these files would leave commits that cannot be checked out
 * or pushed.
 *
 *	gitlfs_find()	the files of a run that the user's repository lacks
 *	gitlfs_write()	copies them
 *	gitlfs_free()
 *
 * git-lfs takes a file by its name, and does not check its bytes. A file whose
 * bytes have another hash is therefore left out: a run could put it there in
 * place of a file that the user has not fetched yet. libcrypto computes the
 * hashes.
 */
#ifndef GUARD_RESTORE_GIT_GITLFS_H
#define GUARD_RESTORE_GIT_GITLFS_H

#include "base/vec.h"
#include "snapshot/tree/tree.h"

struct gitlfs_file {
	char *path; /* "aa/bb/<hash>" */
	struct oid content;
	mode_t mode;
};

struct gitlfs {
	struct store *store; /* borrowed */
	VEC(struct gitlfs_file) files;
	uint64_t bytes;
	size_t refused; /* files with another hash than their name */
};

/* now: the git directory after the run; git: the user's. *ret
 * is to be freed in any case. -ENOPKG: there is such a file, and libcrypto is
 * missing. */
int gitlfs_find(struct store *store, const struct entry *now, const char *git,
		struct gitlfs *ret, struct err *err);
/* Whether the text, which git-lfs committed, has the hash of this file. */
bool gitlfs_names(struct store *store, const struct buf *text,
		  const struct entry *file);
/* A file that exists stays as it is. */
int gitlfs_write(const struct gitlfs *l, const char *git, struct err *err);
void gitlfs_free(struct gitlfs *l);

#endif
