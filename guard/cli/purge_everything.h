/*
 * guard purge --everything: removes guard's whole state, so that guard can be
 * removed. The state has directories that rm(1) cannot enter: those of the
 * store have mode 0500, the work directories of overlayfs have mode 000.
 *
 * Refused while a run is live. Interrupted actions on the user's files are
 * ended first, because their journal is part of the state. Entries of the
 * directory that are not guard's stay: GUARD_HOME may name any directory.
 */
#ifndef GUARD_CLI_PURGE_EVERYTHING_H
#define GUARD_CLI_PURGE_EVERYTHING_H

#include "guard/cli/options.h"
#include "guard/state/context.h"

/* o->confirm: the path of the state, instead of the typed word, or NULL;
 * o->dry_run: only lists what would be lost. Returns an exit status or a
 * negative errno. */
int purge_everything(struct context *c, const struct options *o,
		     struct err *err);

#endif
