/*
 * Fields of proc(5) of a process, and lines of its tables.
 */
#ifndef GUARD_SANDBOX_PROCFS_H
#define GUARD_SANDBOX_PROCFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/mem.h"

struct procfs_stat {
	char state;
	pid_t parent;
	int threads;
	uint64_t start; /* clock ticks since boot */
	uint64_t pages; /* resident */
};

/* Reads the stat file in "/proc/PID" or in the directory of a thread. Returns
 * false if the process has ended or the file is unreadable. */
bool procfs_stat(const char *dir, struct procfs_stat *ret);
/* The same by pid. */
bool procfs_stat_of(pid_t pid, struct procfs_stat *ret);

/* Reads the status file; false as above. */
bool procfs_status(pid_t pid, struct buf *ret);
/* The value of a field in a status file, behind its tab; NULL: no such field.
 * Ends with the line. */
const char *procfs_field(struct buf *status, const char *name);

/* Appends the lines of a text file that are not empty, as text that the caller
 * may cut; none if the file cannot be read. */
void procfs_lines(const char *path, struct names *ret);

/* Opens a namespace of a process; -1 with errno. */
int procfs_namespace(pid_t pid, const char *name);

/* The path of a process ("self" or a number) in the hierarchy of a cgroup
 * controller ("": cgroup v2); "" for the root or without the hierarchy. The
 * caller frees it. */
char *procfs_cgroup(const char *process, const char *controller);

#endif
