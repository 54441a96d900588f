/*
 * The steps of pid 1, from its first system call to the supervision of the
 * command. Only the sources of pid 1 include this header (see setup.h).
 */
#ifndef GUARD_SANDBOX_NAMESPACES_PRIVATE_H
#define GUARD_SANDBOX_NAMESPACES_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "guard/sandbox/message.h"
#include "guard/sandbox/namespaces.h"
#include "guard/sandbox/setup.h"

/* ---- mounts.c ---- */

/* Mounts a read-only copy of the machine's root as s->root_fd. */
int mounts_begin(struct setup *s, struct err *err);
/* Opens the directories and paths that are mounted later, while no mount
 * covers them. */
int mounts_open(struct setup *s, struct err *err);
/* Mounts the list on the new root and makes it the root of this process. */
int mounts_build(struct setup *s, struct err *err);

/* ---- proc.c ---- */

/* Mounts a new /proc and sets the limits of the user namespace in it. */
int proc_place(struct setup *s, const char *path, struct err *err);
/* Appends to the list the entries of /proc and /sys through which uid 0 has
 * power without any capability, each masked or read-only. Call with the new
 * /proc mounted. */
int proc_restrict(struct setup *s, struct err *err);

/* ---- stdio_fds.c ---- */

/* Opens the nodes of s->replace_node from the new root. */
int stdio_fds_replace_nodes(const struct setup *s, struct err *err);

/* ---- lockdown.c ---- */

/* Before any mount: keyring, host name, loopback device. */
int lockdown_early(const struct setup *s, struct err *err);
/* Sets the resource limits and the processors. */
int lockdown_limits(const struct setup *s, struct err *err);
/* Sets no_new_privs, drops all capabilities and takes on the run's user. */
int lockdown_capabilities(const struct setup *s, struct err *err);
/* Puts the run's terminal at replaced descriptors and closes all others but
 * those named in s, which get new numbers. */
int lockdown_descriptors(struct setup *s, struct err *err);

/* ---- lockdown.c, Landlock: need no_new_privs ---- */

/* Confines abstract sockets and signals to the run. Returns 0 as well if the
 * kernel cannot (before Linux 6.12). */
int landlock_scope(struct err *err);
/* For --strict: the same, and files open for writing only on writable mounts of
 * the run, found through the run's own /proc. Forbids all mounts, so not with
 * nested. Error: -ENOSYS without Landlock ABI 2. */
int landlock_writes(struct err *err);

/* ---- command.c ---- */

/* Opens a terminal of the run's own for a session leader without one, if any
 * descriptor is replaced. Fills s->master_fd and s->slave_fd. */
int command_terminal(struct setup *s, struct err *err);
/* Changes to the policy's directory, with the permissions of the command. */
int command_enter_cwd(const struct setup *s, struct err *err);
/* Explains why errno num keeps path closed: which user lacks which permission
 * on which directory. Returns -num. */
int command_explain_closed(const struct setup *s, const char *path, int num,
			   struct err *err);
/* Starts the command. Returns 0 once it is executed, else the errno of the
 * exec. *ret and *ret_listener are set in both cases: its process and the
 * listener of its renames, or 0 and -1. */
int command_start(const struct setup *s, pid_t *ret, int *ret_listener);

/* ---- pid1.c ---- */

/* Waits for the release, starts the command, supervises the run. */
void pid1_main(struct setup *s) __attribute__((noreturn));

#endif
