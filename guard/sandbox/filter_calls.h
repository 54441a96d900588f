/*
 * The lists of system calls in guard/sandbox/calls.list: a line is blank, a
 * comment, or the name of a list and names of calls. A number stands for a call
 * that libseccomp does not know. Lists:
 *
 *	allow, x86_64, i386	allowed (on any machine, or on such a one)
 *	refuse			EPERM instead of ENOSYS: the call exists
 *	nested			EPERM, but allowed for nested sandboxes
 *	nested-new		ENOSYS, but allowed for nested sandboxes
 *	git			what git may call on objects of a run
 *	git-ignore		what git believes to have done
 *	perf, userfaultfd, io_uring	allowed by the option of that name
 *	affinity		EPERM where the run's processors are given
 */
#ifndef GUARD_SANDBOX_FILTER_CALLS_H
#define GUARD_SANDBOX_FILTER_CALLS_H

#include "base/err.h"
#include "base/mem.h"

/* Appends the names of a list. */
void filter_calls(const char *list, struct names *ret);
/* -EINVAL names the file and the line that is none of a list. */
int filter_calls_check(const char *path, const char *text, struct err *err);

#endif
