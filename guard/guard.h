/*
 * The face of libguard.a: the pending runs of a project, and applying them.
 *
 *	guard_open()		finds the project and opens guard's state
 *	guard_pending()		lists the project's pending runs
 *	guard_apply()		shows a run's plan to the caller and, if the
 *				caller agrees, executes it
 *	guard_close()
 *
 * An apply is one transaction, the same as that of `guard apply RUN`: after a
 * crash the next call of guard_apply(), or the next command of guard, finishes
 * it or rolls it back, and `guard undo` takes it back. The library never prints
 * and never asks; questions and messages go to the caller's functions.
 *
 * Functions return 0, or a negative errno with the text in *err. One struct
 * guard at a time and one thread: messages have one receiver in the process.
 */
#ifndef GUARD_GUARD_H
#define GUARD_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/err.h"

struct guard;

/* A run; the texts are valid during the call that passes them. */
struct guard_run {
	const char *id; /* e.g. "3mk9zq-4t" */
	const char *command; /* not escaped: a run may have any bytes in it */
	time_t started; /* 0: not yet */
	bool running; /* the command has not ended */
	int status; /* exit status of the command; -1: unknown */
};

enum guard_step_kind {
	GUARD_STEP_DELETE, /* a directory with all entries below it */
	GUARD_STEP_REPLACE,
	GUARD_STEP_CREATE,
	GUARD_STEP_META, /* mode, owner, attributes or time; the bytes stay */
	/* Not executed: the run and the user changed the path, or the change
	 * needs an agreement of its own (`guard apply --yes-to`). */
	GUARD_STEP_BLOCKED,
};

struct guard_step {
	enum guard_step_kind kind;
	const char *root; /* absolute path of the directory of the run */
	const char *path; /* relative to root; may contain any byte but 0 */
	/* Why a step is blocked, for people; NULL: it is not. */
	const char *reason;
};

/* The steps of an apply in the order of execution, then the blocked ones. */
struct guard_plan {
	const struct guard_step *steps;
	size_t count;
	size_t blocked; /* a plan with blocked steps is not executed */
};

struct guard_ui {
	/* Called once. Returns whether to execute the plan; the result for a
	 * plan with blocked steps is ignored. */
	bool (*agree)(void *arg, const struct guard_plan *plan);
	/* A note or warning for people, without a line feed; NULL: dropped. */
	void (*message)(void *arg, const char *text);
	void *arg;
};

/*
 * Opens guard's state for the project around `directory` (NULL: the current
 * directory). Free with guard_close(). -EPERM and -EACCES: the process may not
 * use the state, e.g. inside of a run.
 */
int guard_open(const char *directory, struct guard **ret, struct err *err);
void guard_close(struct guard **g);

/* The project's absolute path; valid until guard_close(). */
const char *guard_project(const struct guard *g);

/* Calls `each` for every pending run of the project, oldest first, until it
 * returns a value other than 0, which is the result then. A run whose record
 * cannot be read is skipped. */
int guard_pending(struct guard *g,
		  int (*each)(void *arg, const struct guard_run *run),
		  void *arg, struct err *err);

/*
 * Applies all changes of a run but those in a .git and in the home directory.
 * run: its id or an unambiguous beginning of it. Without changes the run counts
 * as applied, and `agree` is not called. Returns:
 *
 *	0		applied
 *	-ECANCELED	`agree` returned false; nothing has changed
 *	-EEXIST		the plan has blocked steps; nothing has changed
 *	-ENOENT		no such run, or it was discarded
 *	-EALREADY	the run was applied before
 *	-ENOTSUP	the run changed only the home directory
 *	-EBUSY		another guard process is working in the project
 *
 * or another negative errno: the transaction was rolled back, unless the text
 * says that it has yet to be finished.
 */
int guard_apply(struct guard *g, const char *run, const struct guard_ui *ui,
		struct err *err);

#endif
