/*
 * The snapshot beside a run, while it is being taken: what it has stored so
 * far, for `guard status` and the summary of the run, and its process, for
 * `guard stop --snapshot`.
 */
#ifndef GUARD_STATE_STORING_H
#define GUARD_STATE_STORING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* A workspace's lock for the time in which a snapshot beside a run is taken. */
#define STORING_LOCK "snapshot.lock"

/* So many files make a directory large. */
#define STORING_LARGE 10000

struct storing {
	pid_t pid;
	char *run_id; /* of storing_find(): the caller's to free */
	int64_t since; /* storing_clock() at its start */
	uint64_t files, bytes; /* stored so far */
	uint64_t total_files, total_bytes; /* 0: unknown */
	bool large; /* known to have STORING_LARGE files or more */
};

/* Seconds since boot. */
int64_t storing_clock(void);

/* Writes the workspace's record; s->pid is the caller, which holds the lock.
 * An error only means that others cannot see the progress. */
void storing_save(int workspace_fd, const struct storing *s);
/* The snapshot is taken. */
void storing_end(int workspace_fd);

/* Whether a snapshot of this directory is being taken now. *ret is set in any
 * case. */
bool storing_find(int workspaces_fd, const char *path, struct storing *ret);
/* Ends its process. What it has stored is reused by the next snapshot. */
int storing_stop(int workspaces_fd, const char *path, const struct storing *s,
		 struct err *err);
/* Whether it is under way long enough to be mentioned. */
bool storing_is_long(const struct storing *s);
/* "2.3 GB of 12 GB, 300 files of 90000"; the caller's to free. */
char *storing_text(const struct storing *s);

#endif
