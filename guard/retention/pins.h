/*
 * Snapshots that no prune removes: those that guard itself needs, and those
 * that the user has pinned. guard needs the base and the result of every
 * pending run, also of a discarded run that can be restored, and the snapshots
 * of undo, for each project as far back as PINS_ACTIONS.
 */
#ifndef GUARD_RETENTION_PINS_H
#define GUARD_RETENTION_PINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guard/state/state.h"

#define PINS_ACTIONS 10

struct pins {
	uint64_t *items; /* numbers, in no order, some perhaps twice */
	size_t count, capacity;
};

/* Loads the numbers of all these snapshots. An unreadable record is an error:
 * it may name any snapshot. */
int pins_load(const struct state *state, struct pins *ret, struct err *err);
/*
 * The user's own, by `guard pin`; pins_load() has them, too. A file in the
 * state, "pins": a number a line.
 */
int pins_user_load(const struct state *state, struct pins *ret,
		   struct err *err);
/* Adds or (on false) removes pins; a pin that exists, or is missing, is no
 * error. */
int pins_user_change(const struct state *state, const uint64_t *seqs,
		     size_t count, bool on, struct err *err);
void pins_add(struct pins *p, uint64_t seq);
bool pins_has(const struct pins *p, uint64_t seq);
void pins_free(struct pins *p);

#endif
