/*
 * exec --all: one command in a throw-away copy of each pending run; and of one
 * run, for review.
 */
#ifndef GUARD_CLI_EXEC_ALL_H
#define GUARD_CLI_EXEC_ALL_H

#include <stdbool.h>

#include "guard/cli/run_parse.h"
#include "guard/state/context.h"

/* Executes the command in the pending runs of the project here, one after the
 * other, and prints a table, or JSON. glob: only in the runs whose name or id
 * it matches; NULL: in all. Returns the exit status: 0, 1 when a command
 * failed, 125 when one could not be started. */
int exec_all(const struct run_exec *v, const char *glob, bool json);

/* Executes the command in a throw-away copy of one run, which this process does
 * not hold locked, and prints its output, escaped. *ret_summary: "exit status
 * 1, 3.2 s: last line", to free. */
int exec_all_try(struct context *c, const struct session *s,
		 const struct run_exec *v, char **ret_summary, struct err *err);

#endif
