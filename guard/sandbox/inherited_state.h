/*
 * Process state from guard's caller: ignored and blocked signals, the umask, a
 * low limit, a closed descriptor. guard cannot work with all of it (with
 * SIGCHLD ignored it is not notified when a child ends), so it changes the
 * state at its start and restores it in the command before the exec.
 *
 *	inherited_state_save()	   first call of main(); later calls do nothing
 *	inherited_state_restore()  in the command's process
 */
#ifndef GUARD_SANDBOX_INHERITED_STATE_H
#define GUARD_SANDBOX_INHERITED_STATE_H

#include <stdint.h>

/* Sent over the exec socket as well, in struct exec_header. */
struct inherited_state {
	uint64_t ignored, blocked; /* 1 << (signal number - 1) */
	uint64_t files, stack; /* soft limits: descriptors, bytes */
	uint32_t mask; /* of umask(2) */
	/* descriptors 0, 1, 2 that were closed, now /dev/null */
	uint8_t closed[3];
	uint8_t unused;
};

/* Saves and changes the state. Returns -1 with errno if a closed descriptor
 * could not be opened. */
int inherited_state_save(void);
/* The saved state, static. Saves it first if that has not been done. */
const struct inherited_state *inherited_state_get(void);

/* Makes only system calls, so that a child of vfork(2) may call it. The
 * child may share its parent's descriptors: those that were closed get
 * close-on-exec. */
void inherited_state_restore(const struct inherited_state *h);

#endif
