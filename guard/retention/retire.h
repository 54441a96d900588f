/*
 * Retention of runs: layers of old runs move to guard's trash, which keeps them
 * for 7 days. An applied run moves 7 days after its end. A pending run is
 * warned of once, after 30 days (GUARD_PENDING_DAYS), and moves 7 days after
 * the warning, like a discarded one: `guard undo` in its project restores it.
 */
#ifndef GUARD_RETENTION_RETIRE_H
#define GUARD_RETENTION_RETIRE_H

#include "guard/state/context.h"

/* Does all of that, best effort, and says what it did; nothing while ages are
 * not believed (clock.h). warn_only: moves no run, for verbs that only read. */
void retire_runs(struct context *c, bool warn_only);
/* Removes the expired entries of the trash while ages are believed. Large ones
 * take time, so a run leaves this to a process in the background. */
int retire_trash(const struct state *state, struct err *err);

/* A locked run goes to the trash, as the last thing done in its project. */
int retire_discard(struct context *c, struct session *s, struct err *err);

#endif
