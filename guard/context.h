/*
 * What nearly every verb begins with: the state, the project around the
 * current folder, the store; what may happen while it works.
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
	bool wait_for_lock;
	/* recover_project() takes back what it could finish too. */
	bool roll_back;
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

/* project_open(), with patience where the context has it. */
int context_project(struct context *c, const char *path, bool make,
		    struct project *ret, struct err *err);

/*
 * Returns when every run that goes on there, or above or below, has stored what
 * it began with: what is changed before that counts as changed by somebody who
 * works on, and is a conflict for that run. One that cannot be read is passed
 * over.
 */
void context_wait_starting_runs(const struct context *c, const char *dir);

/* Holds back what people end a program with until *ret_before is set again. */
void context_block_signals(sigset_t *ret_before);
/* Whether one of them waits. */
bool context_signal_pending(void);
/* The same mask again; true: one of them waited, and is gone now. */
bool context_restore_signals(const sigset_t *before);

#endif
