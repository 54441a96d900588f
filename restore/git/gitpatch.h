/*
 * The difference of two trees as a patch that git takes: what
 * `git apply --index --binary` makes of it is the second tree, but for what
 * git itself does not keep, which is told.
 *
 * Made in memory, by libgit2; of the work tree's own repository only settings
 * and attributes are read: a patch has the line ends that git keeps.
 */
#ifndef GUARD_RESTORE_GIT_GITPATCH_H
#define GUARD_RESTORE_GIT_GITPATCH_H

#include "snapshot/tree/entry.h"

/* A file above it is left out of a patch, and told. */
#define GITPATCH_MAX (256u << 20)

enum gitpatch_loss {
	GITPATCH_EMPTY_DIR, /* made or deleted */
	GITPATCH_MODE, /* more than whether it may be executed; a folder's */
	GITPATCH_OWNER,
	GITPATCH_ATTRS,
	GITPATCH_KIND, /* fifo, socket, device */
	GITPATCH_GIT, /* in a .git */
	GITPATCH_LARGE,
	GITPATCH_INCOMPLETE, /* not read whole when it was stored */
	GITPATCH_FILTER, /* git keeps what a program makes of it */
	GITPATCH_SAME, /* to git: only its line ends are others */
};

const char *gitpatch_loss_text(enum gitpatch_loss loss); /* for people */

struct gitpatch_sink {
	/* A piece of the patch: raw bytes. */
	int (*add)(void *arg, const void *data, size_t len, struct err *err);
	/* What the patch cannot hold. */
	void (*lost)(void *arg, const char *path, enum gitpatch_loss loss);
	void *arg;
};

struct gitpatch_job {
	const char *const *paths; /* only these and what is below; NULL: all */
	const char *repository; /* the work tree's root, or NULL */
	const char *home; /* whose settings count; NULL: the repository's */
};

int gitpatch_make(struct store *store, const struct entry *old,
		  const struct entry *now, const struct gitpatch_job *job,
		  const struct gitpatch_sink *sink, struct err *err);

/* The name as git quotes it, with that in front: a/x or "a/\303\266"; quoted
 * also where git could not read it else. */
void gitpatch_name(struct buf *to, const char *prefix, const char *path);

#endif
