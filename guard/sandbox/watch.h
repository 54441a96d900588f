/*
 * Periodic checks of a run, in guard's process: its threads and memory, where
 * the kernel enforces no limit; a run that stays at its limit of processes and
 * makes no progress (a fork bomb); and kernel resources that it takes away from
 * programs outside.
 *
 *	watch_begin()
 *	watch_tick()	every watch_interval() ms
 *	watch_end()
 */
#ifndef GUARD_SANDBOX_WATCH_H
#define GUARD_SANDBOX_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "guard/sandbox/sandbox.h"

/*
 * Kernel resources with a limit for the machine or the user that no namespace
 * divides: open files, aio requests, ports. A run could take all of them away
 * from the programs outside. (Two more have no check: epoll watches and
 * descriptors in flight between processes, which a run shares with its user.)
 *
 * guard periodically checks as such a program: whether it still gets one, or
 * how much is left. Only when a resource is short it measures the run's
 * usage, so that a run never ends for the usage of other programs.
 */

enum quota {
	QUOTA_NONE,
	QUOTA_FILES,
	QUOTA_REQUESTS,
	QUOTA_PORTS,
	QUOTA_KINDS,
};

struct kernel_quotas {
	const char *proc; /* "/proc"; a directory of a test */
	bool ports; /* the run uses the machine's network */
	/* The run's pid 1 if all commands have one seccomp filter more than pid
	 * 1; else 0. */
	pid_t init;
	bool open; /* the first check was made */
	/* bits of quotas that were short before the run */
	unsigned int external;
	int files_fd; /* or -1; opened while files can be opened */
};

#define KERNEL_QUOTAS_CLOSED                                                   \
	((struct kernel_quotas){.proc = "/proc", .files_fd = -1})

/* A clause "it had ...", for messages; static. */
const char *kernel_quotas_explain(enum quota quota);

struct watch {
	pid_t pid1;
	uint64_t pids, memory; /* memory 0: not watched */
	bool enforced; /* the kernel allows no more than pids */
	uint64_t machine, threads; /* last count: of the machine, of the run */
	unsigned int ticks;
	int stuck_ms;
	struct kernel_quotas kernel_quotas;
	enum quota quota; /* with SANDBOX_LIMIT_QUOTA: the exceeded one */
};

/* Takes the first measurements: resources that are short at this time are not
 * attributed to the run. */
void watch_begin(struct watch *w, pid_t pid1, uint64_t pids, bool enforced,
		 uint64_t memory, bool ports);
/* Closes the descriptors of the checks. */
void watch_end(struct watch *w);

/* Milliseconds until the next watch_tick(). */
int watch_interval(const struct watch *w);

/* Calls each() for every process of the run but pid 1. */
void watch_each(pid_t pid1, void (*each)(void *arg, pid_t pid), void *arg);

/* Returns the limit that the run exceeds, or SANDBOX_LIMIT_NONE. */
enum sandbox_limit watch_tick(struct watch *w);

#endif
