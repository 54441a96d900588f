/*
 * Exit statuses of guard: those of its verbs and those of a run. A run whose
 * command was started ends with the status of the command.
 */
#ifndef GUARD_STATE_EXIT_STATUS_H
#define GUARD_STATE_EXIT_STATUS_H

enum {
	STATUS_OK = 0,
	STATUS_REFUSED = 1,
	STATUS_USAGE = 2,
	STATUS_AMBIGUOUS = 4, /* several pending runs, none was named */
};

/* Statuses of guard itself in a run, with the numbers of env(1), timeout(1) and
 * docker. */
enum {
	RUN_STATUS_STOPPED = 124, /* guard ended the run: time limit, disk */
	/* guard failed before, during or after the run */
	RUN_STATUS_GUARD = 125,
	RUN_STATUS_NO_EXEC = 126, /* the command cannot be executed */
	RUN_STATUS_NOT_FOUND = 127, /* no such command */
};

#endif
