/*
 * The verdict on a run as lines for people and as JSON.
 */
#ifndef GUARD_CLI_VERDICT_SHOW_H
#define GUARD_CLI_VERDICT_SHOW_H

#include <jansson.h>

#include "guard/change/changeset.h"
#include "guard/change/resolve_run.h"
#include "guard/review/verdict.h"

/* The key of the run's cache. */
struct verdict_key verdict_show_key(const struct session *s,
				    const struct changes *c);
/* A run, or the named paths of it, with losses and risks as far as they are
 * known by names, and the complete verdict, from the cache or by reading the
 * files. */
struct judged_run {
	struct changes changes;
	struct judgement judgement;
	struct verdict verdict;
	struct verdict_key key;
	bool complete; /* all changes of the run were judged */
};

/* The losses. Changes that the plans of an apply leave out, or of which no part
 * was picked, are not in it, so that they are no copies of others, either;
 * plans NULL: all are in it. loaded: the changes of the run where the caller
 * has them, borrowed until judged_run_free(), or NULL. The errors of
 * changes_load_own(). *ret is not moved. */
int judged_run_load(struct context *c, const struct resolved_run *p,
		    const struct changeset *plans, const struct changes *loaded,
		    struct judged_run *ret, struct err *err);
/* The risks and the verdict. */
void judged_run_end(const struct resolved_run *p, struct judged_run *r);
void judged_run_free(struct judged_run *r);
/* Judges a run as far as the end of a run does, and keeps the verdict for
 * status, also an incomplete one. */
void verdict_show_keep(const struct session *s, const struct changes *c,
		       struct judgement *ret_judgement, struct verdict *ret);
/* The same after a part of a pending run was applied, discarded or undone. */
void verdict_show_renew(struct context *context, const char *run_id);
/* [{"id", "level", "count", "text"}] */
json_t *verdict_show_json(const struct verdict *v);

#endif
