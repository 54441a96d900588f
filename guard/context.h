/*
 * What nearly every verb begins with: the state, the project around the
 * current folder, the store; and an end to what was interrupted.
 */
#ifndef GUARD_CONTEXT_H
#define GUARD_CONTEXT_H

#include <signal.h>
#include <stdbool.h>

#include "guard/state.h"
#include "overlay/session.h"
#include "restore/transaction.h"
#include "snapshot/store/store.h"

struct context {
	struct state state;
	char *project; /* absolute, without links; NULL: not asked for */
	struct store *store; /* NULL until context_store() */
	/* Waits a while for another guard at work in a project, instead of
	 * answering -EBUSY at once. */
	bool patient;
	/* context_recover() takes back what it could finish too. */
	bool take_back;
};

/* Before anything else on a struct context that will be closed. */
#define CONTEXT_NONE                                                           \
	{                                                                      \
		.state = {                                                     \
			.fd = -1,                                              \
			.runs_fd = -1,                                         \
			.workspaces_fd = -1,                                   \
			.trash_fd = -1                                         \
		}                                                              \
	}

/* with_project: find the project around the current folder; nothing is
 * refused for what it is. */
int context_open(struct context *c, bool with_project, struct err *err);
void context_free(struct context *c);

/* Opens the store once. For reading, -ENOENT says that nothing is stored. */
int context_store(struct context *c, enum store_mode mode, struct err *err);

/*
 * What was interrupted in the middle there, for people ("apply of run x"), to
 * free; NULL: nothing, or a guard is at work on it just now.
 */
char *context_unfinished(const struct context *c, const char *project);

/* project_open(), with patience where the context has it. */
int context_project(struct context *c, const char *path, bool make,
		    struct project *ret, struct err *err);

/*
 * If a transaction on that folder was interrupted: finishes it or takes it
 * back, says so on stderr, and brings the run's state in order. 1 finished,
 * 2 taken back, 0 when there was nothing; -EBUSY: another guard is at work
 * there just now.
 */
int context_recover(struct context *c, const char *project, struct err *err);

/*
 * Returns when every run that goes on there, or above or below, has stored what
 * it began with: what is changed before that counts as changed by somebody who
 * works on, and is a conflict for that run. One that cannot be read is passed
 * over.
 */
void context_await_starts(const struct context *c, const char *folder);

/*
 * The state a run has after an apply: applied when whole, or when nothing is
 * left in its layers outside of a .git and of the home's caches; else ended.
 */
int context_settle_run(struct session *s, const struct state *state, bool whole,
		       struct err *err);

/* Holds back what people end a program with until *ret_before is set again. */
void context_hold_signals(sigset_t *ret_before);
/* Whether one of them waits. */
bool context_signal_waits(void);
/* The same mask again; true: one of them waited, and is gone now. */
bool context_let_signals(const sigset_t *before);

#endif
