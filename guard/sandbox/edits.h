/*
 * Makes the user's edits of the real files visible in a live run.
 *
 * overlayfs keeps each name that a process of the run has looked up, missing
 * names included: a file that an editor has replaced by a rename shows its
 * old content, and a new file is not found, until the kernel needs memory. A
 * reconfiguration of a mounted file system without any change drops all names
 * that no process uses (fs/super.c, reconfigure_super()); measured with Linux
 * 6.18, also by a plain user. Files that the run has changed itself stay as
 * they are in its layer.
 *
 * The same namespaces lead to a directory as the run has it: what guard writes
 * there goes the way of the run's own writes, and no name that the kernel
 * remembers contradicts it.
 */
#ifndef GUARD_SANDBOX_EDITS_H
#define GUARD_SANDBOX_EDITS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* The namespaces of a run in which its layers are mounted. */
struct edits {
	int user_fd, mount_fd; /* -1: not open */
};

#define EDITS_NONE                                                             \
	{                                                                      \
		.user_fd = -1, .mount_fd = -1                                  \
	}

/* Opens them while pid 1 is in its first user namespace, and has not closed
 * itself. Without them edits_show() does nothing. */
void edits_open(struct edits *e, pid_t pid1);
/* Before the end of the run: an open descriptor keeps the mounts. */
void edits_close(struct edits *e);

/* Drops the names in every layer of the run. Returns when that is done; the
 * run goes on meanwhile. */
void edits_show(const struct edits *e, pid_t pid1);

/* A directory as the run has it, open for reading. path: absolute, in the run.
 * Returns a descriptor, which works outside of the run, or a negative errno. */
int edits_open_dir(const struct edits *e, const char *path, struct err *err);

/* Asks guard's process that supervises the run for it: SIGURG with this value.
 * 0, or -1 with errno. */
int edits_ask(int supervisor_pidfd);
/* Whether a SIGURG with this code and value asks for it. */
bool edits_asked(int code, int value);

#endif
