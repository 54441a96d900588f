/*
 * What a forked child of guard does first when it is to go on after the
 * command has ended: nothing of guard's may stay open in it, neither a lock (a
 * dead guard would look alive) nor the terminal or a pipe, whose reader would
 * wait for its end.
 */
#ifndef GUARD_BACKGROUND_H
#define GUARD_BACKGROUND_H

#include <stddef.h>

#define BACKGROUND_FDS_MAX 8

/*
 * Leaves the session and closes everything but the given descriptors, which
 * become 3, 4 and so on; 0 to 2 are /dev/null. name: for process lists. Uses
 * only what nobody else wants of the processors and the disk. 0, or -1.
 */
int background_enter(const char *name, int *const *fds, size_t count);

#endif
