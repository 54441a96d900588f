/*
 * `guard diff --json=hunks`: the changes of a run for programs, an object a
 * line, in the form that docs/guard.1 describes. Printable ASCII only.
 */
#ifndef GUARD_CLI_HUNKS_JSON_H
#define GUARD_CLI_HUNKS_JSON_H

#include "guard/change/resolve_run.h"
#include "guard/review/verdict.h"

/* All on stdout. c may open the store: the decisions of an ended run's review
 * belong to trees in it. Returns false when texts could not be compared. */
bool hunks_json_print(struct context *c, struct resolved_run *p,
		      const struct changes *changes, const struct judgement *j,
		      const struct verdict *verdict);

#endif
