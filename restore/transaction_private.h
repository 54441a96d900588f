/*
 * Internals of a transaction: the state of a transaction in progress, and its
 * phases in the order of their calls. Each root has a struct txn; the roots
 * share the journal, so all of them go forward or none.
 *
 *	preflight.c		turns the plan's steps into operations, compares
 *				them with the disk and checks permissions
 *	move_from_upper.c	finds new directories in a run's upper layer
 *	stage.c			writes new files into the staging directory
 *	forward.c		applies the operations
 *	rollback.c		reverts the operations
 *	finish.c		removes the staging directory and the journal
 *	txn.c			what several of them ask about an operation
 *
 * execute_plan.c calls them for a new transaction, recover.c for an interrupted
 * one.
 *
 * The staging directory, which only guard writes to, tells whether an operation
 * is done: an operation whose staged file is still there, with its inode
 * number, is not; an operation whose displaced file is there is done.
 */
#ifndef GUARD_RESTORE_TRANSACTION_PRIVATE_H
#define GUARD_RESTORE_TRANSACTION_PRIVATE_H

#include "restore/path_cursor.h"
#include "restore/journal.h"
#include "restore/syncs.h"
#include "restore/transaction.h"

/* Below this number of operations a second thread costs more than it saves. */
#define TXN_THREADS_MIN 32

struct txn {
	struct store *store;
	struct project *project;
	struct journal_root *part; /* this root's part of the journal */
	const struct journal *journal;
	const struct transaction *what; /* NULL during recovery */
	const struct transaction_layer *from; /* or NULL */
	int staging_fd; /* -1: none */
	const struct snapshot *before; /* NULL: none, or during recovery */
	struct timestamp unmodified_since; /* take_unmodified_before() of the
					      snapshot before; {0}: unknown */
	struct buf displaced; /* lines about displaced files, for people */
	struct path_cursor
		path_cursor; /* to the directory of the current operation */
};

/* Closes the staging directory and frees everything but the operations. */
void txn_free(struct txn *t);

/* Whether the caller cancels the transaction, see struct transaction. */
bool txn_is_cancelled(const struct txn *t);
/* -EINTR with this text when the transaction is cancelled, else 0. */
int txn_check_cancelled(const struct txn *t, const char *text, struct err *err);

/* Turns the steps of the plan into operations in t->part and compares each
 * with the disk. -EBUSY: an entry differs from the plan. */
int txn_preflight(struct txn *t, const struct plan *plan, struct err *err);
/* Checks the permissions for all operations of the
 * preflight. Returns 0 or a negative errno with the path. */
int txn_check_permissions(struct txn *t, struct err *err);
/* -EBUSY when a file that would be displaced, or lies in a displaced directory,
 * is open for writing. Valid for the moment only, so used for a dry run. */
int txn_check_writers(struct txn *t, struct err *err);
/* Creates the staging directory and all new files in it. Files that must be
 * durable are added to `to`. */
int txn_stage(struct txn *t, struct syncs *to, struct err *err);
/* Creates the new files in an existing staging directory. Uses only t->store,
 * the operations and t->staging_fd. */
int txn_stage_into(struct txn *t, struct syncs *to, struct err *err);
/* Applies all operations and syncs the project. On an error some of them may
 * be done: txn_rollback() reverts these. */
int txn_forward(struct txn *t, struct err *err);
/* Reverts all operations that are done. Continues after a failure and returns
 * the first error. */
int txn_rollback(struct txn *t, struct err *err);

/* Renames a staged file into the project, next to the path, under a displaced
 * name; what: for the line about it. */
int txn_keep_displaced(struct txn *t, const char *staged, const struct op *op,
		       const char *what, struct err *err);

/* Opens the staging directory that the journal names. */
int txn_open_staging(struct txn *t, struct err *err);
/* 1: done; 0: not yet; or a negative errno. OP_META and OP_CHILD leave no
 * trace: 0. Ends an operation that was killed between two calls (exchange.h,
 * fd_rename_new()). */
int txn_op_is_done(struct txn *t, const struct op *op, struct err *err);
/* Whether fd is the error of opening a directory that was removed or replaced
 * by another kind of entry. */
bool txn_is_gone(int fd);
/* The name under which the directory lists the entry that `path` finds, as a
 * path to free: different when the file system treats both names as one. NULL:
 * the same name, or unknown. */
char *txn_colliding_path(const struct txn *t, const char *path);
/* Error for a new name that exists already: -EBUSY, or -EEXIST when the file
 * system treats two names as one. */
int txn_fail_exists(const struct txn *t, const char *path, struct err *err);
/* Adds the owner's write bit to a directory, which a rename into another parent
 * needs. */
int txn_add_owner_write(int dirfd, const char *name, struct err *err);

/* Adds w and x for the owner to the user's directories that have an OP_META,
 * which removes the bits. */
int txn_open_dirs(struct txn *t, struct err *err);
/* Whether the directory belongs to the user, who is not root, and lacks w or x
 * for its owner. */
bool txn_is_shut_dir(const struct meta *m);
/* Whether an OP_META passes through this mode. Any other mode was set by
 * another process. */
bool txn_own_mode(const struct op *op, uint32_t mode);

/* Sets the root's mtime, which the staging directory changed: back to the time
 * before, or (forward) to the time of the end. */
int txn_set_root_time(struct txn *t, bool forward, struct err *err);
/* Removes the content of the staging directory; failures are ignored. */
void txn_empty_staging(struct txn *t);
/* Removes the staging directory and sets the root's mtime. */
int txn_finish(struct txn *t, bool forward, struct err *err);

/* Passes hints to the snapshot that follows: the bytes of all staged files came
 * out of the store. The content of directories that are unreadable now could
 * not be stored otherwise. */
void txn_add_ingest_hints(struct txn *t);

/* Frees the operations except those with immutable flags. Only these are needed
 * from here on, and a large transaction holds much memory. */
void txn_drop_ops(struct txn *t);

/* All roots of one transaction and its journal. */
struct txn_all {
	struct store *store;
	struct project *first; /* holds the journal in its workspace */
	struct journal journal;
	struct txn *roots; /* in the journal's order */
	size_t count;
};

/* Frees all roots and the journal. */
void txn_all_free(struct txn_all *all);
/* Creates a struct txn for each root of the journal, without a project. */
void txn_all_make_roots(struct txn_all *all);
/* Rolls all roots back, the last one first. Continues after a failure and
 * returns the first error. */
int txn_all_rollback(struct txn_all *all, struct err *err);
/* Calls txn_finish() for each root. */
int txn_all_remove_staging(struct txn_all *all, bool forward, struct err *err);
/* The same, then removes the journal. */
int txn_all_finish(struct txn_all *all, bool forward, struct err *err);
/* Appends the lines about displaced files of all roots. */
void txn_all_displaced(const struct txn_all *all, struct buf *to);
/* Removes the journal and the join records of the other workspaces. */
int txn_all_close(struct txn_all *all, struct err *err);

#endif
