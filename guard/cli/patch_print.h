/*
 * The changes of a run as a patch, for the verbs patch and review.
 */
#ifndef GUARD_CLI_PATCH_PRINT_H
#define GUARD_CLI_PATCH_PRINT_H

#include <stdio.h>

#include "guard/change/resolve_run.h"
#include "guard/state/context.h"

/* Prints the patch from base to result, of the named paths alone. raw: the
 * bytes as they are, else escaped for a terminal. What a patch cannot hold is
 * reported. 1; 0: changes that are no mere metadata were left out. */
int patch_print(struct context *c, const struct resolved_run *run,
		const struct entry *base, const struct entry *result, FILE *to,
		bool raw, struct err *err);

#endif
