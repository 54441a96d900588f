/*
 * A transient scope of the user's systemd with the limits of a policy. systemd
 * owns the cgroup tree: it takes the controllers from a group that another
 * program made, and a process of an ssh login may not leave the cgroup of that
 * login. systemd itself may move it.
 *
 *	scope_make()	creates the scope around a holder process
 *	scope_enter()	moves the run in and ends the holder
 *	scope_end()	without scope_enter(): removes the scope
 *
 * The kernel removes the scope's group after its last process.
 */
#ifndef GUARD_SANDBOX_LIMITS_SCOPE_H
#define GUARD_SANDBOX_LIMITS_SCOPE_H

#include <stdbool.h>
#include <sys/types.h>

#include "guard/sandbox/sandbox.h"

struct scope {
	int fd; /* to systemd; -1: no scope, or it is complete */
	pid_t holder; /* keeps the scope alive while fd is open */
	char unit[48];
};

/* Returns false without systemd, or if it refuses. The scope's group is that
 * of s->holder. */
bool scope_make(struct scope *s, const struct sandbox_policy *p);

/* Moves pid into a group below the scope ("/NAME"), and calls scope_end().
 * Error: -EIO if systemd refuses. */
int scope_enter(struct scope *s, const char *group, pid_t pid, struct err *err);

/* Ends the holder and closes the connection. May be called again. */
void scope_end(struct scope *s);

#endif
