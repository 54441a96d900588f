/*
 * The verbs, and the headers that most of them need. Each verb takes argv from
 * the verb on (argv[0] is its name), talks to the user and returns the exit
 * status: 0 done, 1 conflicts or refused (nothing done), 2 usage; `run` ends
 * with the command's own status or 124-127 (see cmd_run).
 */
#ifndef GUARD_CLI_COMMANDS_H
#define GUARD_CLI_COMMANDS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/jsonstream.h"
#include "guard/cli/options.h"
#include "guard/cli/output.h"
#include "guard/cli/progress.h"
#include "guard/cli/table.h"
#include "guard/state/context.h"
#include "guard/state/exit_status.h"
#include "guard/cli/jsonout.h"

/* The verbs. argv[0] is the verb; the result is the exit status. */
int cmd_run(int argc, char **argv);
int cmd_exec(int argc, char **argv); /* ends as run does */
int cmd_shell(int argc, char **argv);
int cmd_stop(int argc, char **argv); /* also "kill" */
int cmd_shell_init(int argc, char **argv);
int cmd_status(int argc, char **argv); /* also "list" */
int cmd_diff(int argc, char **argv);
int cmd_review(int argc, char **argv);
int cmd_apply(int argc, char **argv); /* also "commit" */
int cmd_discard(int argc, char **argv);
int cmd_redo(int argc, char **argv);
int cmd_snapshot(int argc, char **argv);
int cmd_log(int argc, char **argv);
int cmd_purge(int argc, char **argv);
int cmd_pin(int argc, char **argv);
int cmd_unpin(int argc, char **argv);
int cmd_find(int argc, char **argv);
int cmd_grep(int argc, char **argv);
int cmd_ls(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_restore(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_undo(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_prune(int argc, char **argv);
int cmd_undelete(int argc, char **argv);
int cmd_patch(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_du(int argc, char **argv);
int cmd_repair(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_agents(int argc, char **argv);
int cmd_explain(int argc, char **argv);

#endif
