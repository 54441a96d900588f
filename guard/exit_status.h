/*
 * Exit statuses of guard: of its verbs, and of a run. A run that was started
 * ends with the status of its command.
 */
#ifndef GUARD_EXIT_STATUS_H
#define GUARD_EXIT_STATUS_H

enum {
	STATUS_OK = 0,
	STATUS_REFUSED = 1,
	STATUS_USAGE = 2,
	STATUS_PENDING = 4
};

/* Exit statuses of guard's own in a run, as env(1), timeout(1) and docker have
 * them. */
enum {
	RUN_STATUS_STOPPED = 124, /* guard ended it: time, disk */
	RUN_STATUS_GUARD = 125, /* guard failed before or around it */
	RUN_STATUS_NO_EXEC = 126, /* cannot be executed */
	RUN_STATUS_NOT_FOUND = 127, /* no such command */
};

#endif
