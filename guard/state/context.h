/*
 * Common start of nearly every verb: the state, the project around the current
 * directory, the store, and the signals during the work.
 */
#ifndef GUARD_STATE_CONTEXT_H
#define GUARD_STATE_CONTEXT_H

#include <signal.h>
#include <stdbool.h>

#include "guard/state/state.h"
#include "overlay/session.h"
#include "restore/transaction.h"
#include "snapshot/store/store.h"

struct context {
	struct state state;
	/* absolute, without symbolic links; NULL: not requested */
	char *project;
	struct store *store; /* NULL until context_store() */
	bool writable; /* the store */
	/* Wait for a while when another guard process uses a project, instead
	 * of failing with -EBUSY at once. */
	bool wait_for_lock;
	/* recover_project() rolls back also a transaction that it could
	 * finish. */
	bool roll_back;
	/* The user agreed to copy git objects of any size. */
	bool copies_large;
};

/* Initial value of a struct context; context_free() may always be called. */
#define CONTEXT_NONE                                                           \
	{                                                                      \
		.state = {                                                     \
			.fd = -1,                                              \
			.runs_fd = -1,                                         \
			.workspaces_fd = -1,                                   \
			.trash_fd = -1                                         \
		}                                                              \
	}

/* Opens the state. with_project: finds the project around the current
 * directory; no project is refused. */
int context_open(struct context *c, bool with_project, struct err *err);
void context_free(struct context *c);

/* Opens the store, unless it is open in this mode or for writing. A store that
 * is open for reading is closed and opened again: pointers to it become
 * invalid. -ENOENT, for reading only: no store exists yet. */
int context_store(struct context *c, enum store_mode mode, struct err *err);

/* project_open() with context_skip_private(), which waits when wait_for_lock is
 * set. */
int context_project(struct context *c, const char *path, bool make,
		    struct project *ret, struct err *err);

/* Excludes guard's own files, those of backups too, from the project. */
void context_skip_private(const struct context *c, struct project *p);

/* Blocks the signals that end a program (SIGINT and others) until
 * context_restore_signals(*ret_before). */
void context_block_signals(sigset_t *ret_before);
/* Whether one of them is pending. */
bool context_signal_pending(void);
/* Restores the signal mask. Returns true when one of the signals was pending;
 * that signal is discarded. */
bool context_restore_signals(const sigset_t *before);
/* Whether it has discarded a signal in this process: a verb with several
 * actions ends then. */
bool context_interrupted(void);

#endif
