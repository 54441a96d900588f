/* How a run with these options would see paths, and what decides. Nothing is
 * started or stored. */
#ifndef GUARD_RUN_RUN_EXPLAIN_H
#define GUARD_RUN_RUN_EXPLAIN_H

#include "guard/agent/run_options.h"
#include "guard/sandbox/explain.h"

/* text: the reason, for people; rule: the same as a word for programs. All
 * arguments are valid until the function returns. */
typedef void run_explain_each(void *arg, const char *path,
			      const struct path_view *view, const char *text,
			      const char *rule);

/* Calls each for every path of the NULL-terminated list; paths NULL: for all
 * that a run does not see as it is. Errors are those of
 * the options, as a run would report them, and of sandbox_explain(). */
int run_explain(const struct run_options *options, char *const *paths,
		run_explain_each *each, void *arg, struct err *err);

#endif
