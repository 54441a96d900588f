/*
 * Temporary permissions for entries that a run made unreadable even for their
 * owner. guard of a plain user adds the missing mode bits while it reads such
 * an entry, through a descriptor and never by name, and restores the mode
 * afterwards.
 *
 * A guard that is killed in between would leave a layer that differs from the
 * run's result. So the mode is recorded first, and the next command restores
 * it. A note is a symbolic link in the directory "opened" of guard's state; its
 * name is the inode number in hexadecimal digits, its target:
 *
 * 	mode SP path		; octal; the path below the state
 *
 * A note is on disk no later than the change of mode: both are metadata only,
 * and a journal keeps their order. A process with changed modes holds a shared
 * flock(2) on the directory.
 */
#ifndef GUARD_OVERLAY_TEMP_CHMOD_H
#define GUARD_OVERLAY_TEMP_CHMOD_H

#include <stdint.h>

#include "base/err.h"

/* An entry with added mode bits; {.fd = -1} is none. */
struct temp_chmod {
	int fd; /* O_PATH */
	uint32_t mode; /* the original mode */
	uint64_t ino;
};

/* Restores the mode, removes the note and closes the descriptor. Keeps
 * errno. */
void temp_chmod_free(struct temp_chmod *o);

/*
 * Opens the file of path_fd (O_PATH) with the flags of open(2), after adding
 * the missing mode bits of `want`. Returns a descriptor or a negative errno;
 * *ret must be freed with temp_chmod_free(). -EACCES: the entry already has
 * these bits, or belongs to another user.
 */
int temp_chmod_open(int path_fd, int flags, uint32_t want,
		    struct temp_chmod *ret, struct err *err);

/* Selects the state directory in which this process records its notes (borrowed
 * until the process ends; -1: no notes). Restores the modes that killed
 * processes left behind, unless another process holds the lock. */
void temp_chmod_begin(int state_fd);

#endif
