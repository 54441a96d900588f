/*
 * What has to be on disk before the next step is taken. A few things are
 * synced by themselves, all at once, so that one commit of the file system
 * serves them all, and nobody waits for what other programs have written; for
 * many, or where one of them cannot be opened, the file system is.
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

/* More of them, and it is one syncfs for all. */
#define SYNC_EACH_MAX 64

struct syncs {
	int *fds; /* NULL: none yet */
	size_t count;
	bool whole_fs; /* the file system */
};

#define SYNCS_NONE                                                             \
	{                                                                      \
		0                                                              \
	}

/* A file or folder beneath dirfd; "": the folder itself. */
void syncs_add(struct syncs *s, int dirfd, const char *path);
/* All of it, and whatever else is on that file system. */
void syncs_add_all(struct syncs *s);
/* fs_fd: any folder, open, of the file system that all of them are on. */
int syncs_run(struct syncs *s, int fs_fd, struct err *err);
void syncs_free(struct syncs *s);

#endif
