/*
 * Snapshots that guard itself still needs, whatever the user's rules say: what
 * a run that waits for a decision began with and left, also one that was
 * discarded and can be brought back, and what undo goes by.
 */
#ifndef GUARD_PINS_H
#define GUARD_PINS_H

#include <stddef.h>
#include <stdint.h>

#include "guard/state.h"

struct pins {
	uint64_t *items; /* numbers, in no order, some perhaps twice */
	size_t count, room;
};

/* A record that cannot be read is an error: it may name any of them. */
int pins_load(const struct state *state, struct pins *ret, struct err *err);
void pins_free(struct pins *p);

#endif
