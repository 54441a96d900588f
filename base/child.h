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

#include <stdbool.h>
#include <sys/types.h>

#include "base/mem.h"

/* As fork(2). The child has this name in process lists, all its signals are
 * blocked, and the kernel kills it when the parent ends. */
pid_t child_fork(const char *name);

/* Waits for the end of a child and returns its status as of waitpid(2); -1: it
 * is none (pid may be -1). */
int child_wait(pid_t pid);

/*
 * Runs a program, with an absolute path, and appends its output. It has no
 * input, and its errors are dropped. prepare() is called in the child, with a
 * directory; false: the program is not started. Returns its status as of
 * waitpid(2); -1: there is none, or the output is longer than max.
 */
int child_output(const char *program, char *const *argv,
		 bool (*prepare)(const char *dir), const char *dir, size_t max,
		 struct buf *ret);

/* Kills the child, waits for its end, and sets *pid to 0; 0 or -1: none. */
void child_end(pid_t *pid);

#endif
