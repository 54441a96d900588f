/*
 * The verdict on a run as lines for people and as JSON.
 */
#ifndef GUARD_CLI_VERDICT_SHOW_H
#define GUARD_CLI_VERDICT_SHOW_H

#include <jansson.h>
#include <stdio.h>

#include "guard/change/resolve_run.h"
#include "guard/review/verdict.h"

/* The key of the run's cache. */
struct verdict_key verdict_show_key(const struct session *s,
				    const struct changes *c);
/* Makes the verdict on the complete changes of a run, or the named paths of it,
 * from the cache or by reading the files. The errors of changes_load_own(). */
int verdict_show_make(struct context *c, const struct resolved_run *p,
		      struct verdict *ret, struct err *err);
/* A line each; nothing for an empty verdict. */
void verdict_show(const struct verdict *v, FILE *to);
/* [{"id", "level", "count", "text"}] */
json_t *verdict_show_json(const struct verdict *v);

#endif
