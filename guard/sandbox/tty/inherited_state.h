/*
 * What guard's caller left in its process: ignored and blocked signals, the
 * mask for new files, a low limit, a closed descriptor. guard itself cannot
 * live with some of that (a process that ignores SIGCHLD hears of no child's
 * end), so it changes them at its start, and the command gets all back at its
 * exec, as if guard were not there.
 *
 *	inherited_state_save()		once, first of all in main(); a later
 *call does nothing inherited_state_restore()	in the command's process
 */
#ifndef GUARD_SANDBOX_TTY_INHERITED_STATE_H
#define GUARD_SANDBOX_TTY_INHERITED_STATE_H

#include <stdint.h>

/* As it goes over the run's door too (struct exec_header). */
struct inherited_state {
	uint64_t ignored, blocked; /* 1 << (signal number - 1) */
	uint64_t files, stack; /* soft limits: descriptors, bytes */
	uint32_t mask; /* of umask(2) */
	uint8_t closed[3]; /* descriptors 0, 1, 2: /dev/null is there now */
	uint8_t unused;
};

/* -1 with errno: nothing could be put in the place of a closed descriptor. */
int inherited_state_save(void);
const struct inherited_state *inherited_state_get(void);

/* Only system calls, so that a child as of vfork(2) may do it. Its descriptors
 * may be those of its parent too: what was closed is closed by the exec. */
void inherited_state_restore(const struct inherited_state *h);

#endif
