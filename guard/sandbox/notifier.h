/*
 * pid 1's replies to the seccomp notifications of a command: its renames; calls
 * that overwrite a file and pass by a lease on it; and exits with a failure,
 * which are only inspected.
 *
 * Nearly all calls continue in the kernel. A directory on a layer is different:
 * if the lower layer contains it, the kernel returns EXDEV. So pid 1 makes the
 * call for the caller. After EXDEV a worker, a process with the permissions of
 * the run, renames the directory in several steps (rename_exdev.h), and the
 * caller gets the worker's result. Only a fatal signal to the caller interrupts
 * the wait; then the worker undoes its steps. Renames that cannot be read or
 * resolved are left to the kernel.
 *
 * guard holds read leases on files of the upper layer outside of the run, and
 * copies a file when the kernel breaks its lease. An open for writing waits for
 * that. truncate(2), an open with O_NONBLOCK and one with O_RDONLY|O_TRUNC
 * do not: overlayfs breaks only leases of its own inode, or the break is not
 * waited for. Before such a call pid 1 opens the file for writing, or has a
 * worker wait for that, and closes it; the call itself always continues in the
 * kernel, with the caller's permissions. (A caller that changes the path in its
 * memory meanwhile passes the lease by.)
 *
 * This gives no additional permissions under two conditions. pid 1 must not be
 * able to do more than the caller: in a run all processes have the same ids and
 * capabilities; paths are resolved in the caller's root and on its mounts,
 * which a nested sandbox may have of its own; once a program has entered a
 * Landlock ruleset, the kernel does all renames. And a path must mean the same
 * to both: magic links of /proc are refused.
 */
#ifndef GUARD_SANDBOX_NOTIFIER_H
#define GUARD_SANDBOX_NOTIFIER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "guard/sandbox/sandbox.h"

#define RENAME_WORKERS 16
#define LEASE_WORKERS 16

/* The start of the run on both clocks, in seconds. */
struct notifier_clock {
	time_t real, boot;
};

struct notifier {
	const struct sandbox_policy *policy;
	struct notifier_clock begin;
	int listener; /* -1: no program can send notifications */
	bool closed; /* the kernel does all renames */
	struct notifier_worker {
		pid_t pid; /* 0: unused */
		uint64_t id; /* of the notification */
		int to_fd;
		char temporary[48];
		char name[NAME_MAX + 1]; /* source of the rename */
	} workers[RENAME_WORKERS];
	/* The first directory that could not be renamed (EXDEV); "": none. */
	char refused[NAME_MAX + 1];
	enum sandbox_refused_rename
		refused_how; /* RENAME_UNREADABLE: name of the program */
	struct {
		pid_t pid; /* 0: unused */
		uint64_t id; /* of the notification */
	} lease_workers[LEASE_WORKERS];
	const char *unasked; /* see sandbox_unasked(); static */
};

/* Returns the current time on both clocks. */
struct notifier_clock notifier_clock(void);

/* policy stays the caller's. begin: the start of the run, also for an exec
 * session: files that the run's own command may be writing are not moved.
 * listener: from filter_load_notifier(), taken over; -1: none. */
void notifier_open(struct notifier *r, const struct sandbox_policy *policy,
		   struct notifier_clock begin, int listener);

/* True while all workers for leases wait: the next notification has to wait for
 * notifier_reap(). So a run that floods guard with calls has to wait itself. */
bool notifier_is_busy(const struct notifier *r);

/* Handles a notification, unless busy. Call when poll(2) reports the listener
 * as readable; does not block if the notification was withdrawn since. */
void notifier_answer(struct notifier *r);

/* Closes the listener after its last process has ended. */
void notifier_hang_up(struct notifier *r);

/* Handles the end of a child of pid 1. Returns true if it was a worker. The
 * caller of a worker that was killed (by the run, or for lack of memory) gets
 * its answer here. */
bool notifier_reap(struct notifier *r, pid_t pid, int status);

/* Ends all workers, waits a short time and removes their incomplete trees. */
void notifier_close(struct notifier *r);

#endif
