/*
 * The set of files that must be durable before the next step.
 *
 * A small set is synced file by file, all requests at once: one journal commit
 * of the file system serves all of them, and data of other programs is not
 * waited for. For a large set, or after a failed open, syncfs(2) syncs the
 * whole file system.
 *
 *	AUTO(syncs) struct syncs s = SYNCS_NONE;
 *	syncs_add(&s, root_fd, path);
 *	syncs_run(&s, root_fd, err);
 */
#ifndef GUARD_RESTORE_SYNCS_H
#define GUARD_RESTORE_SYNCS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Above this number of files one syncfs(2) replaces the separate syncs. */
#define SYNC_EACH_MAX 64

struct syncs {
	int *fds; /* NULL: empty */
	size_t count;
	bool whole_fs; /* syncfs(2) instead of fds */
};

#define SYNCS_NONE                                                             \
	{                                                                      \
		0                                                              \
	}

/* Adds a file or directory beneath dirfd; "": dirfd itself. Never fails: a file
 * that cannot be opened switches to syncfs(2). */
void syncs_add(struct syncs *s, int dirfd, const char *path);
/* Switches to syncfs(2). */
void syncs_add_all(struct syncs *s);
/* Syncs the set. fs_fd: an open directory on the file system that holds all of
 * the files. Returns 0 or a negative errno. */
int syncs_run(struct syncs *s, int fs_fd, struct err *err);
/* Closes the descriptors and empties the set. */
void syncs_free(struct syncs *s);

#endif
