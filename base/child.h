/*
 * Helper processes: children that do one thing beside guard and end with it,
 * however guard ends.
 *
 *	pid = child_fork("guard-thing");
 *	if (pid == 0)
 *		do_thing();	which calls _exit(2)
 *	child_wait(pid), or child_end(&pid)
 *
 * A helper reports by its exit status, or by a pipe.
 */
#ifndef GUARD_BASE_CHILD_H
#define GUARD_BASE_CHILD_H

#include <sys/types.h>

/* As fork(2). The child has this name in process lists, all its signals are
 * blocked, and the kernel kills it when the parent ends. */
pid_t child_fork(const char *name);

/* Waits for the end of a child and returns its status as of waitpid(2); -1: it
 * is none (pid may be -1). */
int child_wait(pid_t pid);

/* Kills the child, waits for its end, and sets *pid to 0; 0 or -1: none. */
void child_end(pid_t *pid);

#endif
