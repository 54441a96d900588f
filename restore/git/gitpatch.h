/*
 * The difference of two trees as a patch: `git apply --index --binary` on the
 * first tree makes the second one, except for properties that git does not
 * store, which are reported as losses.
 *
 * The patch is made in memory: texts by textdiff.h, binary files by libgit2 in
 * the parsing worker (restore/parse/parse.h). Only settings and attributes of
 * the work tree's repository are read, so that the patch has the line endings
 * that git stores.
 */
#ifndef GUARD_RESTORE_GIT_GITPATCH_H
#define GUARD_RESTORE_GIT_GITPATCH_H

#include "snapshot/tree/entry.h"

/* Larger files are skipped and reported. */
#define GITPATCH_MAX (256u << 20)

enum gitpatch_loss {
	GITPATCH_EMPTY_DIR, /* created or deleted */
	GITPATCH_MODE, /* mode bits other than executable; any mode of a
			  directory */
	GITPATCH_OWNER,
	GITPATCH_ATTRS,
	GITPATCH_KIND, /* fifo, socket, device */
	GITPATCH_GIT, /* in a .git */
	GITPATCH_LARGE,
	GITPATCH_INCOMPLETE, /* not read completely when it was stored */
	GITPATCH_FILTER, /* git stores the output of a program */
	GITPATCH_SAME, /* equal for git: only line endings differ */
};

struct gitpatch_sink {
	/* Receives a piece of the patch: raw bytes. */
	int (*add)(void *arg, const void *data, size_t len, struct err *err);
	/* Reports a property that the patch cannot hold. */
	void (*lost)(void *arg, const char *path, enum gitpatch_loss loss);
	void *arg;
};

struct gitpatch_job {
	const char *const
		*paths; /* only these and all paths below; NULL: all */
	const char *repository; /* the work tree's root, or NULL */
	const char *home; /* for the user's settings; NULL: the repository's */
};

/* Prints the patch from old to now to the sink. Returns 0 or a negative
 * errno; errors of sink->add() are returned unchanged. */
int gitpatch_make(struct store *store, const struct entry *old,
		  const struct entry *now, const struct gitpatch_job *job,
		  const struct gitpatch_sink *sink, struct err *err);

#endif
