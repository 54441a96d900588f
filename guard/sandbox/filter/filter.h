/*
 * The seccomp programs of a run. Two are loaded by its pid 1 with
 * filter_load(), arguments first, calls last.
 *
 *	calls		decides by the call's number alone: allowed, EPERM, or,
 *			for all that is in no list, ENOSYS. i386 and x32 calls,
 *			which would walk around the numbers, end the process.
 *	arguments	refuses arguments of a few calls that `calls` allows.
 *
 * A third, `renames`, is for the command alone: it refuses nothing, but asks
 * pid 1 before a rename (renames.h), and before the end of a program that has
 * failed (full.h). It is empty with nested.
 *
 * Two, so that neither can undo the other: of both answers the stricter one
 * counts. (In one libseccomp filter an unconditional ALLOW silently removes
 * the rules on arguments: TIOCSTI went through.) The programs are written
 * here as BPF: building them takes 0.1 ms instead of libseccomp's 4 ms, which
 * is as long as all the rest of the start. libseccomp gives the numbers.
 */
#ifndef GUARD_SANDBOX_FILTER_FILTER_H
#define GUARD_SANDBOX_FILTER_FILTER_H

#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"

struct filters {
	struct buf calls; /* arrays of struct sock_filter */
	struct buf arguments;
	struct buf rename_notifier;
};

void filters_free(struct filters *f);

struct filter_options {
	bool nested; /* namespaces and mounts stay possible for sandboxes */
	bool pinned; /* the processors that it may use stay as they are */
	bool perf, io_uring, userfaultfd; /* allowed */
	bool i386; /* calls of 32-bit programs, as far as there are any */
};

int filters_make(const struct filter_options *wishes, struct filters *ret,
		 struct err *err);

/* Needs no_new_privs. Holds for this process and all that it starts. */
int filter_load(const void *program, size_t len, struct err *err);

/* The same for `renames`: the descriptor where the questions come in, or -1
 * with errno where the kernel (before Linux 5.19) would let any signal break
 * off a rename that is under way: then nothing is loaded. */
int filter_load_notifier(const void *program, size_t len);

#endif
