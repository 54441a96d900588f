/*
 * What a run made unreadable even for its owner is opened up for the moment
 * that a plain user's guard looks at it: through a descriptor, never by name,
 * and the mode goes back afterwards.
 *
 * Whoever is killed in between would leave a layer behind that says something
 * else than the run did. So the mode is noted first, and the next command gives
 * it back. A note is a link in the folder "opened" of guard's state, named by
 * the inode's number in hexadecimal digits:
 *
 *	mode SP path		; octal; the path below the state
 *
 * It is on disk no later than the change that it tells of: both are no more
 * than metadata, which a journal keeps in order. Whoever has something opened
 * up holds a lock (flock, shared) on the folder.
 */
#ifndef GUARD_OVERLAY_TEMP_CHMOD_H
#define GUARD_OVERLAY_TEMP_CHMOD_H

#include <stdint.h>

#include "base/err.h"

/* An entry whose mode was widened; {.fd = -1} is none. */
struct temp_chmod {
	int fd; /* O_PATH */
	uint32_t mode; /* what goes back */
	uint64_t ino;
};

void temp_chmod_free(struct temp_chmod *o); /* gives the mode back */

/* Opens what path_fd (O_PATH) is, with the mode bits that are missing of
 * `want`. -EACCES: they are not what is missing, or are not ours to give. */
int temp_chmod_open(int path_fd, int flags, uint32_t want,
		    struct temp_chmod *ret, struct err *err);

/* From now on notes are made in this state (borrowed for good; -1: none are);
 * those of the killed are acted upon, unless somebody has things open. */
void temp_chmod_begin(int state_fd);

#endif
