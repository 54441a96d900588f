/* The io_uring of the store in a test: switched off, or with a function before
 * and after each call. */
#ifndef GUARD_TESTS_UNIT_RING_HOOKS_H
#define GUARD_TESTS_UNIT_RING_HOOKS_H

#include "snapshot/store/ring_private.c"

/* Makes all later calls behave as without io_uring. */
__attribute__((unused)) static void ring_forbid(bool on)
{
	forbidden = on;
}

/* NULL, NULL: no function. */
__attribute__((unused)) static void
ring_hook(int (*before)(enum ring_call call, int fd),
	  void (*after)(enum ring_call call, int fd))
{
	hook_before = before;
	hook_after = after;
}

#endif
