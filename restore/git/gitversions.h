/*
 * The versions of files in a run's new commits. New is a commit that no ref of
 * the user reaches, also if only a stash, a tag or a reflog names it. Its
 * versions are the files that differ from its first parent. The caller marks
 * the versions that the work tree has.
 *
 *	gitversions_list()	after gitimport_open(); at most
 *				GITVERSIONS_COMMITS_MAX commits are read
 *	gitversions_ids()	of a file, to compare
 *	gitversions_read()	the bytes of those that are `wanted`
 *	gitversions_free()
 *
 * git reads the objects (gitrun.h), and the work tree's attributes say how git
 * would store a file.
 */
#ifndef GUARD_RESTORE_GIT_GITVERSIONS_H
#define GUARD_RESTORE_GIT_GITVERSIONS_H

#include "restore/git/gitimport.h"

#define GITVERSIONS_COMMITS_MAX 10000

struct git_repository;
struct libgit;

struct gitversion {
	char *path; /* in the work tree; the name of a ref to a single file */
	struct gitid commit, id; /* id: of the bytes, or a submodule's commit */
	uint32_t mode; /* git's */
	bool had_mode; /* before that commit, too */
	bool in_head; /* the commit is one of `head` */
	/* Set by the caller: for gitversions_read(); the work tree has it; a
	 * linked one has it. */
	bool wanted, known, elsewhere;
	bool unknown; /* set by the caller */
	size_t order;
};

struct gitversions {
	struct gitversion *items; /* by path, the newest commit first */
	size_t count, capacity;
	size_t unread; /* commits that were not read */
	struct gitimport *im; /* borrowed */
	const struct libgit *git;
	struct git_repository *work; /* NULL: files are stored as they are */
	bool no_modes; /* core.fileMode is false */
};

/* work_tree: its root, absolute; home: with the user's settings; head: ""
 * where in_head is of no interest. im may be NULL: there are none. */
int gitversions_list(struct gitimport *im, const char *work_tree,
		     const char *home, const struct gitid *head,
		     struct gitversions *ret, struct err *err);
/* The ids that git may store a file or link of the work tree under: as it is,
 * and converted by attributes; 1: a program converts it, and the second one is
 * unknown. -EFBIG: it is too large to compute one. */
int gitversions_ids(const struct gitversions *v, struct store *store,
		    const char *path, const struct entry *e,
		    struct gitid ret[2], struct err *err);
/* Calls each() with the index and the bytes of each wanted version; NULL: they
 * are more than max, or behind the first 64 MiB of all. */
int gitversions_read(const struct gitversions *v, uint64_t max,
		     int (*each)(void *arg, size_t index,
				 const struct buf *bytes, struct err *err),
		     void *arg, struct err *err);
void gitversions_free(struct gitversions *v);

#endif
