/*
 * Whether this process is in a run. A variable or a file could say so by
 * mistake, or because a program wants guard to run a command without a sandbox.
 * A seccomp filter cannot be taken off, and its answer cannot be forged from
 * below it: in a run prctl(2) fails with INSIDE_ERRNO for an option that it
 * does not have (guard/sandbox/filter.c). Outside it fails with EINVAL.
 */
#ifndef GUARD_BASE_INSIDE_H
#define GUARD_BASE_INSIDE_H

#include <errno.h>
#include <stdbool.h>

#define INSIDE_OPTION 0x44524147u
#define INSIDE_ERRNO EALREADY

bool inside_run(void);

/* The name or the id of that run, quoted and in parentheses behind a blank; ""
 * if it is unknown. For messages only: the command may have changed it. Valid
 * until the next call. */
const char *inside_label(void);

#endif
