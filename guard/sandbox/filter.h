/*
 * The seccomp programs of a run. pid 1 loads `calls` with filter_load(), which
 * holds for the command as well. It refuses arguments of a few calls, and
 * decides for the others by their number: allowed, EPERM, or ENOSYS for calls
 * in no list. i386 and x32 calls, which would bypass the numbers, end the
 * process. (In a libseccomp filter an unconditional ALLOW silently removes the
 * rules on arguments: TIOCSTI was allowed.)
 *
 * The other one, `notifier`, is only for the command. It refuses nothing, but
 * notifies pid 1 before a rename, before a file is overwritten in a way that
 * passes a lease by, and before the exit of a failed program (notifier.h).
 *
 * The kernel executes each program of a process for each call that one of them
 * does not always allow. openat(2) is such a call because of the notifier, so
 * there are only two programs, and both decide on it first.
 *
 * The programs are generated here as BPF in 0.1 ms; libseccomp takes 4 ms, as
 * long as all other steps of the start. libseccomp provides the numbers.
 */
#ifndef GUARD_SANDBOX_FILTER_H
#define GUARD_SANDBOX_FILTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"

struct filters {
	struct buf calls; /* arrays of struct sock_filter */
	struct buf notifier;
};

/* Frees the programs; f is empty then. */
void filters_free(struct filters *f);

struct filter_options {
	bool nested; /* allow namespaces and mounts for sandboxes in the run */
	bool pinned; /* refuse a change of the allowed processors */
	bool perf, io_uring, userfaultfd; /* allow */
	bool i386; /* allow calls of 32-bit programs */
};

/* Generates the programs, to be freed with filters_free(). */
int filters_make(const struct filter_options *wishes, struct filters *ret,
		 struct err *err);

/*
 * Appends the program of the parsing worker (parser.h): some 25 system calls
 * that use memory and open descriptors; any other call, executable memory and a
 * signal to another process than pid end the process.
 */
void filter_make_parser(pid_t pid, struct buf *to);

/*
 * Appends the program for git on objects of a run (git_process.h): calls that
 * read and write files, use memory and start threads. Sockets, processes,
 * signals to another process than pid, and changes of a file's owner or times
 * fail with ENOSYS; a change of its mode is ignored.
 */
void filter_make_git(pid_t pid, struct buf *to);

/* Loads a program for this process and its children. Needs no_new_privs. */
int filter_load(const void *program, size_t len, struct err *err);

/* Loads the notifying program and returns its listener. Returns -1 with errno,
 * and loads nothing, if the kernel (before Linux 5.19) would let any signal
 * interrupt a pending call. */
int filter_load_notifier(const void *program, size_t len);

/* The number of a call in calls.list; negative: the architecture or libseccomp
 * does not know it. */
int filter_call_number(uint32_t arch, const char *name);

#endif
