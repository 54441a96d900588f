/*
 * Automatic prune by the rules of the config or the default ones: once a day,
 * and every hour while a max-size is set; auto-prune = no turns it off. It
 * keeps snapshots that the user has taken by hand: only `guard prune` removes
 * those.
 */
#ifndef GUARD_RETENTION_AUTOPRUNE_H
#define GUARD_RETENTION_AUTOPRUNE_H

#include "guard/state/state.h"
#include "snapshot/maintain/prune.h"

/*
 * At the end of a command that may have stored something, with no store open:
 * when it is time, starts a process of its own for it, which goes on after
 * this one. Costs nothing to speak of when it is not; says nothing.
 */
void autoprune_start(void);

/* Notes a prune that removed something in the oplog. by: NULL for the user. */
void autoprune_log(const struct state *state, const char *by,
		   const struct prune_result *r);

#endif
