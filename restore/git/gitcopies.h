/*
 * Where the user's own repository has the bytes of a file: in the index, in
 * HEAD, or somewhere in its object database; and how many commits a ref would
 * lose.
 *
 * Opened is the real repository, never the .git of a run. No filter, hook or
 * other program is run, and no file outside of the repository is read: the
 * search paths of libgit2 are empty. An index entry with the same size and
 * mtime as the file needs no read of the file.
 *
 *	gitcopies_open()
 *	gitcopies_is_staged(), else read the file and gitcopies_find()
 *	gitcopies_free()
 */
#ifndef GUARD_RESTORE_GIT_GITCOPIES_H
#define GUARD_RESTORE_GIT_GITCOPIES_H

#include "overlay/change_list.h"
#include "restore/git/gittips.h"

enum gitcopy {
	GITCOPY_NONE,
	GITCOPY_HISTORY, /* an object, but not of this path now */
	GITCOPY_CURRENT, /* in the index or in HEAD, at this path */
};

struct gitcopies;

/* The repository whose work tree the absolute path lies in; below: only one
 * whose .git lies in the path itself. 1: opened; 0: there is none; -ENOPKG:
 * libgit2 is missing; -EIO: it cannot be read. */
int gitcopies_open(const char *path, bool below, struct gitcopies **ret,
		   struct err *err);
void gitcopies_free(struct gitcopies **pg);

/* Paths are relative to the path of gitcopies_open(). */

/* Whether the index has the file as it is, by size and mtime. False for a file
 * that may have changed within the timestamp of the index. An LFS object that
 * is missing counts as not staged. */
bool gitcopies_is_staged(const struct gitcopies *g, const char *path,
			 const struct change_side *file);
/* Whether the index or HEAD has an entry at the path. */
bool gitcopies_is_tracked(const struct gitcopies *g, const char *path);
/* Finds the bytes, as they are and with LF line ends. */
enum gitcopy gitcopies_find(const struct gitcopies *g, const char *path,
			    const struct buf *bytes);
/* The same for an open file of any size, as it is. */
enum gitcopy gitcopies_find_file(const struct gitcopies *g, const char *path,
				 int fd);
/* Appends the blob that HEAD has at the path. 1; 0: none. */
int gitcopies_head(const struct gitcopies *g, const char *path, struct buf *to);
/* Whether the repository's own ignore rules match the path. */
bool gitcopies_is_ignored(const struct gitcopies *g, const char *path);

/* Calls each() with every ref, and then with "HEAD". Stops at a result other
 * than 0 and returns it. */
int gitcopies_each_ref(const struct gitcopies *g, gitid_each_ref *each,
		       void *arg, struct err *err);
/* The object is in the object database. */
bool gitcopies_has(const struct gitcopies *g, const struct gitid *id);
/* How many commits are reachable from old and from none of the others, at most
 * GITCOPIES_COMMITS_MAX; ids that are not in the repository are skipped. 0 also
 * when old is no commit. */
#define GITCOPIES_COMMITS_MAX 10000u
size_t gitcopies_count_commits(const struct gitcopies *g,
			       const struct gitid *old,
			       const struct gitid *others, size_t count);

#endif
