/*
 * Runs that have had their time: their layers leave for guard's trash, which
 * keeps 7 days.
 *
 * An applied run goes 7 days after its end. One that waits for a decision is
 * warned of after 30 days (GUARD_PENDING_DAYS), once, and goes 7 days after
 * that warning, as if it had been discarded: `guard undo` in its project
 * brings it back, to be applied or not.
 */
#ifndef GUARD_RETENTION_RETIRE_H
#define GUARD_RETENTION_RETIRE_H

#include "guard/context.h"

/* Does all of that, best effort, and says what it did. */
void retire_runs(struct context *c);
/* Removes what has lain in the trash for long enough: takes time where there
 * is much of it, so a run leaves it to a process in the background. */
int retire_trash(const struct state *state, struct err *err);

/* A locked run goes to the trash, as the last thing done in its project. */
int retire_discard(struct context *c, struct session *s, struct err *err);

#endif
