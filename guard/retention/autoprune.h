/*
 * Old snapshots go by themselves, by the rules of the config or the default
 * ones, once a day, and every hour while there is a max-size; auto-prune = no
 * switches it off. What the user has stored by hand stays: only a prune of his
 * own takes that.
 */
#ifndef GUARD_RETENTION_AUTOPRUNE_H
#define GUARD_RETENTION_AUTOPRUNE_H

#include "guard/state.h"
#include "snapshot/maintain/prune.h"

/*
 * At the end of a command that may have stored something, with no store open:
 * when it is time, starts a process of its own for it, which goes on after
 * this one. Costs nothing to speak of when it is not; says nothing.
 */
void autoprune_start(void);

/* That process's work, at a certain time. 0 also when nothing was to go. */
int autoprune(const struct state *state, struct timestamp now,
	      struct prune_result *ret, struct err *err);

#endif
