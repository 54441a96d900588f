/*
 * The functions of the verbs. Each verb cmd_NAME() takes its options and
 * operands (options.h), talks to the user and returns the exit status: 0 done,
 * 1 conflicts or refused (nothing done), 2 usage; `run` ends with the command's
 * own status or 124-127. Negative: an error, which the caller prints.
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

/* Files of their own for an option of a verb that does something else. */
int cmd_find(const struct options *o, struct context *c,
	     struct err *err); /* log --find */
int cmd_undelete(const struct options *o, struct context *c,
		 struct err *err); /* prune --undo */
int cmd_repair(const struct options *o, struct context *c,
	       struct err *err); /* verify --repair */
int cmd_du(const struct options *o, struct context *c,
	   struct err *err); /* status --disk */

/* At the end of a command that may have stored something, with no store open:
 * sends it to the destinations of the settings in a process of its own, which
 * continues after this one, at most every 15 minutes. */
void cmd_backup_start(void);

#endif
