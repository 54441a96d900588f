/*
 * The cgroup of a run, with those of the policy's limits that this user can
 * have: cgroup v2 in a scope of systemd's, else in the nearest group above
 * guard's that allows it, else v1. It works in guard's process and never fails:
 * the caller reads from `holds` which limits the kernel enforces.
 *
 * The group with the limits has an inner group without any, and the run is in
 * that one: a cgroup namespace of a nested sandbox begins at the inner group,
 * so that the limits, which belong to the same user, are out of its reach.
 */
#ifndef GUARD_SANDBOX_CGROUP_H
#define GUARD_SANDBOX_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "guard/sandbox/sandbox.h"

/* A transient scope of the user's systemd, by libsystemd, which is loaded only
 * for this. */
struct sd_bus;
struct scope {
	struct sd_bus *bus; /* to systemd; NULL: no scope, or it is complete */
	pid_t holder; /* keeps the scope alive while bus is open */
	char unit[48];
};

enum { CGROUP_MEMORY, CGROUP_CPU, CGROUP_PIDS, CGROUP_KINDS };

struct cgroup {
	char name[32];
	int version; /* 0: none */
	bool holds[CGROUP_KINDS];
	/* The group, the group above (-1 if systemd made the group), the inner
	 * group. v2 uses only the first of each. */
	int fd[CGROUP_KINDS], parent[CGROUP_KINDS], inner[CGROUP_KINDS];
	struct scope scope;
};

#define CGROUP_NONE                                                            \
	((struct cgroup){.fd = {-1, -1, -1},                                   \
			 .parent = {-1, -1, -1},                               \
			 .inner = {-1, -1, -1}})

/* Makes the group. root: /sys/fs/cgroup, or a directory of a test. */
void cgroup_make(struct cgroup *c, const char *root,
		 const struct sandbox_policy *p);

/* Moves pid into the inner group; no-op without a group. */
int cgroup_enter(struct cgroup *c, pid_t pid, struct err *err);

/* The number of processes that the kernel killed at the memory limit. */
uint64_t cgroup_killed(const struct cgroup *c);

/* Removes the group, after its last process. May be called again. */
void cgroup_remove(struct cgroup *c);

#endif
