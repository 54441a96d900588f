/*
 * Inside of a transaction: one under way, and its parts in the order in which
 * they are called. Each root is a struct txn of its own; they share the
 * journal, so that all of them are put or none.
 *
 *	survey.c	the plan's steps as operations, and what is on disk now
 *	allowed.c	whether the system will let them happen
 *	taking.c	new folders that a run's layer has
 *	stage.c		the new files, in the staging folder
 *	put.c		each operation forward, and all of them
 *	back.c		each operation back, and all of them
 *	finish.c	staging folder, times and journal out of the way
 *
 * carryout.c calls them for a new transaction, recover.c for one that was
 * ended in the middle.
 *
 * Whether an operation has happened is told from the staging folder alone
 * (which only guard writes in): a staged thing that is still there, by its
 * inode, has not been put; a displaced one that is there has.
 */
#ifndef GUARD_RESTORE_TXN_H
#define GUARD_RESTORE_TXN_H

#include "base/path_cursor.h"
#include "restore/journal.h"
#include "restore/syncs.h"
#include "restore/transaction.h"

/* A second thread is not worth it for fewer operations. */
#define TXN_THREADS_MIN 32

struct txn {
	struct store *store;
	struct project *project;
	struct journal_root *part; /* this root's part of the journal */
	const struct journal *journal;
	const struct transaction *what; /* NULL: it is recovered */
	const struct transaction_layer *from; /* or NULL */
	int staging_fd; /* -1 while there is none */
	const struct snapshot *before; /* NULL: none, or it is recovered */
	struct timestamp unmodified_since; /* take_unmodified_before() the
			       snapshot before it, {0}: not known */
	struct buf kept; /* for people: what was put beside */
	struct path_cursor path_cursor; /* to what is at work in the project */
};

void txn_free(struct txn *t);

/* Nobody wants it any more, see struct transaction. */
bool txn_is_cancelled(const struct txn *t);
/* -EINTR, with the text, when it is so. */
int txn_check_cancelled(const struct txn *t, const char *text, struct err *err);

int txn_preflight(struct txn *t, const struct plan *plan, struct err *err);
/* allowed.c: the system's rights over what was surveyed. */
int txn_check_permissions(struct txn *t, struct err *err);
/* Nobody has a file open for writing that is to go or to be replaced, or that
 * lies in a folder that is to go: now, and so for a dry run alone. */
int txn_check_writers(struct txn *t, struct err *err);
/* What has to be synced comes into `to`. */
int txn_stage(struct txn *t, struct syncs *to, struct err *err);
/* The same in a staging folder that is there; all that is needed of t are its
 * store, the operations and staging_fd. */
int txn_stage_into(struct txn *t, struct syncs *to, struct err *err);
int txn_forward(struct txn *t, struct err *err);
/* Takes back whatever has happened; goes on after a failure, whose error is
 * returned. */
int txn_rollback(struct txn *t, struct err *err);

/* Opens the staging folder of the journal. */
int txn_open_staging(struct txn *t, struct err *err);
/* 1: has happened, 0: not yet. OP_META and OP_CHILD have no trace: 0. */
int txn_op_is_done(const struct txn *t, const struct op *op, struct err *err);
/* What an open of a folder below the root says when somebody has removed it, or
 * has put something else in its place. */
bool txn_is_gone(int fd);
/* A name that was to be new is there: -EBUSY, or -EEXIST when it is the file
 * system that takes two names for one. */
int txn_fail_exists(const struct txn *t, const char *path, struct err *err);
/* Gives a folder that shall be moved the right to be written by its owner,
 * which a rename into another folder needs. */
int txn_add_owner_write(int dirfd, const char *name, struct err *err);

/*
 * Folders that may be written to before or after, but not in between, are
 * opened for their owner while the work in them goes on; OP_META shuts them.
 */
int txn_open_dirs(struct txn *t, struct err *err);
/* Whether the folder is one of them, when it is the user's own. */
bool txn_opens_dir(const struct txn *t, const char *path);
/* The mode is one that an OP_META passes through: nobody else has set it. */
bool txn_own_mode(const struct op *op, uint32_t mode);

/* The root gets its time back (forward: the one of the end), which the
 * staging folder's coming and going has changed. */
int txn_set_root_time(struct txn *t, bool forward, struct err *err);
/* Removes what is in the staging folder; what cannot be is left. */
void txn_empty_staging(struct txn *t);
/* Removes the staging folder and sets the root's time. */
int txn_finish(struct txn *t, bool forward, struct err *err);

/*
 * For the look afterwards, in the project: the bytes of all that was staged
 * came out of the store, and what is in folders that are shut against their
 * owner now, nobody could store otherwise.
 */
void txn_add_ingest_hints(struct txn *t);

/* For the rest of it only the operations count that set immutable and the like;
 * a transaction of many holds much memory in the others. */
void txn_drop_ops(struct txn *t);

/* All roots of one transaction, and its journal. */
struct txn_all {
	struct store *store;
	struct project *first; /* its workspace has the journal */
	struct journal journal;
	struct txn *roots; /* in the order of the journal's */
	size_t count;
};

void txn_all_free(struct txn_all *all);
/* The roots for the journal's, without projects yet. */
void txn_all_make_roots(struct txn_all *all);
/* Whatever happened in each root is taken back, the last first. Goes on after
 * a failure, whose error is returned. */
int txn_all_rollback(struct txn_all *all, struct err *err);
/* txn_finish() each. */
int txn_all_remove_staging(struct txn_all *all, bool forward, struct err *err);
/* The same, then the journal goes. */
int txn_all_finish(struct txn_all *all, bool forward, struct err *err);
/* What was put beside in any of them, appended. */
void txn_all_displaced(const struct txn_all *all, struct buf *to);
/* The journal goes, and what the other workspaces say of it. */
int txn_all_close(struct txn_all *all, struct err *err);

#endif
