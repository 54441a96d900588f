/*
 * Start of a forked child of guard that continues after the command has ended.
 * The child closes all inherited descriptors: a lock would make an ended guard
 * look alive, and the reader of a terminal or pipe would wait for the end of
 * the child.
 */
#ifndef GUARD_STATE_BACKGROUND_H
#define GUARD_STATE_BACKGROUND_H

#include <stddef.h>
#include <sys/types.h>

#define BACKGROUND_FDS_MAX 8

/*
 * Starts a session of its own and closes every descriptor except the given
 * ones, which become 3, 4 and so on; 0 to 2 are /dev/null. name: for process
 * lists. background_enter() also gives the child idle CPU and I/O priority.
 * Returns 0, or -1.
 */
int background_detach(const char *name, int *const *fds, size_t count);
int background_enter(const char *name, int *const *fds, size_t count);

/* As child_fork(), with a pipe for the result of the child: *ret_fd is its end
 * in each of the two processes, close-on-exec and nonblocking; -1 on failure.
 */
pid_t background_fork(const char *name, int *ret_fd);

#endif
