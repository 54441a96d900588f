/*
 * Transactions: the only code that writes to the user's files. A transaction
 * executes a plan completely or not at all.
 *
 * Before the first rename all data is durable: the present state (a snapshot),
 * the new files (staged next to the project's root entries, in the same mount)
 * and the journal. New names are created with RENAME_NOREPLACE. Files are
 * replaced by RENAME_EXCHANGE (exchange.h), and the displaced file is compared
 *with the entry that the plan expects. Directories leave by rename. No file is
 * truncated in place, no symbolic link is followed, no mount is crossed, and no
 * entry is deleted that the plan's `now` did not record. After a crash at any
 * point transaction_recover() finishes the transaction or rolls it back.
 *
 *	project_open()		the lock
 *	transaction_recover()	an interrupted transaction first
 *	project_inspect()	the plan's `now`
 *	transaction_run()	the plan
 *	project_close()
 *
 * The journal is the file "journal" in the workspace; docs/formats.md has its
 * grammar.
 */
#ifndef GUARD_RESTORE_TRANSACTION_H
#define GUARD_RESTORE_TRANSACTION_H

#include "base/atomic.h"
#include "base/vec.h"
#include "overlay/change_list.h"
#include "restore/applied_ops.h"
#include "restore/plan/plan.h"
#include "snapshot/store/ingest_hint.h"
#include "snapshot/tree/catalog.h"

/* Prefix of the staging directory in the project's root. Readers without the
 * project's lock skip such a directory. */
#define TRANSACTION_STAGING_PREFIX ".guard-staging-"

/* An open project: the directory whose files are changed. All work is done
 * under the lock "lock" of workspace_fd. */
struct project {
	char *path; /* absolute, without symbolic links */
	int fd; /* O_PATH|O_DIRECTORY */
	int workspace_fd; /* workspaces/<id>/ of guard's state */
	char *cache_path; /* stat cache, in the workspace */
	int lock_fd;
	char **skip; /* absolute paths that are no part of the project: guard's
			state, and what the opener adds */
	/* Snapshots read and hold these paths only (take_options.only); NULL:
	 * all paths. */
	const char *const *only;
	/* The staging directory of a transaction exists now and is skipped. */
	bool staging;
	/* Sorted paths of directories that are read although their owner has no
	 * r or x, see unreadable_dirs.h. */
	char **unreadable_dirs;
	/* take_options.moved_since of the snapshots. */
	struct timestamp moved_since;
	/* Files written by the transaction: take_options.hints. */
	VEC(struct ingest_hint) hints;
	/* The operations of the transaction that transaction_recover() ended,
	 * one list per root. Filled in the project that was passed to it. */
	VEC(struct applied_ops) recovered;
	/* A staging directory of that transaction could not be removed: the
	 * journal stays for the next command. */
	bool left;
};

/* Opens and locks a project; the workspace (below workspaces_fd) is created
 * when missing. make: create a missing directory and its parents, for restore.
 * -EBUSY: another guard process holds the lock. */
int project_open(const char *path, int workspaces_fd, bool make,
		 struct project *ret, struct err *err);
/* Opens another project of the same action, with the same list `skip`. */
int project_open_beside(const struct project *first, const char *path,
			int workspaces_fd, struct project *ret,
			struct err *err);
/* No project: what project_close() leaves. */
#define PROJECT_NONE                                                           \
	((struct project){.fd = -1, .workspace_fd = -1, .lock_fd = -1})
/* Closes and unlocks the project. A project that was never opened is
 * ignored. */
void project_close(struct project *p);

/* Opens a directory (O_PATH) one path component at a time from "/", without
 * following symbolic links. path is absolute and canonical. make: create
 * missing components. Returns a descriptor. */
int project_open_dir(const char *path, bool make, struct err *err);

/* Makes a directory that was lost again. The records of its path are its own
 * then. An O_PATH descriptor. */
int project_make(const char *path, int workspaces_fd, struct err *err);
/* Whether files can be created in a directory that exists, or that would be
 * created with its parents. Returns 0, or a negative errno with the reason. A
 * later failure is still possible. */
int project_may_make(const char *path, struct err *err);

/* Arguments of project_snapshot_after(). */
struct project_after {
	const char *reason, *run_id;
	const struct snapshot
		*before; /* NULL: every change counts as the action */
	const struct applied_ops
		*did; /* sorted; only these operations count as the action */
	catalog_with with; /* see catalog_add_with() */
	void *with_arg;
};
/* Stores the state after an action as a snapshot: o->before plus the
 * operations in o->did; changes of other processes are not in it. */
int project_snapshot_after(struct store *store, struct project *p,
			   const struct project_after *o, struct snapshot *ret,
			   struct err *err);

/* Reads the present state of the project. *ret.root is the `now` of a plan.
 * catalog_add() stores *ret later, when an action follows. */
int project_inspect(struct store *store, struct project *p, const char *reason,
		    const char *run_id, struct snapshot *ret, struct err *err);

/*
 * Adds the entry as an unsorted hint in p->hints: the file at `path` is e as
 * long as its size and mtime agree. Skipped without an error: a missing file, a
 * file behind an unreadable directory, and a file with a ctime after `when`
 * ({0}: no limit) on file systems where a store through a mapping may leave the
 * times unchanged.
 */
int project_add_hint(struct project *p, const char *path, const struct entry *e,
		     struct timestamp when, struct err *err);

/* Adds the journal to a set of files; passed to transaction.begin(). */
typedef int (*transaction_add_journal)(void *journal, struct atomic_set *set,
				       struct err *err);

struct transaction {
	const char *action; /* "apply", "restore", "undo" */
	const char *run_id; /* "" for none */
	/*
	 * Makes the journal durable together with records of the caller. Called
	 * once before the first change: adds its files to a set, lets `note`
	 * add the journal, and publishes the set. The snapshots of the roots
	 * need their sequence numbers by then. note is NULL when the plans are
	 * empty. begin NULL: the journal is written alone.
	 */
	int (*begin)(void *arg, transaction_add_journal note, void *journal,
		     struct err *err);
	/*
	 * Called after the last step is durable, on any thread. The callback
	 * inspects the projects in their new state and calls `seen` (may be
	 * NULL) when done. Displaced files are removed at the same time,
	 * staging directories after `seen`. The journal is removed after the
	 * callback returns, because it names the applied operations until then.
	 * Result false: the outcome could not be recorded, and the journal
	 * stays for the next command. NULL: no callback.
	 */
	bool (*end)(void *arg, void (*seen)(void *seen_arg), void *seen_arg);
	void *callback_arg; /* passed to begin and end */
	/* Bytes of new files that are staged. Called on any thread, never on
	 * two at once. NULL: no callback. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
	/* Called before each staged file, on any thread. Result true cancels
	 * the transaction with -EINTR and without a change. NULL: no
	 * callback. */
	bool (*is_cancelled)(void);
};

/*
 * The upper layer of an ended and locked run without any live descriptor
 * (overlay/upper_busy.h): new directories may be renamed out of it. They may be
 * missing in the upper after the transaction, whatever its result;
 * restore_upper_dir() creates them again.
 */
struct transaction_layer {
	int upper_fd;
	struct timestamp before; /* the end of the run: an entry with a later
				    ctime differs from the stored one */
	char *const *paths; /* result of move_from_upper_choose(), recorded with
			       the run */
	const struct change_list *changes; /* result of a scan of the upper
					      since `before`, or NULL */
};

/* One directory and the plan for it. */
struct transaction_root {
	struct project *project;
	const struct plan *plan; /* may be empty */
	const struct snapshot
		*before; /* taken before the transaction, or NULL */
	const struct transaction_layer *layer; /* or NULL */
};

/*
 * Executes the plans of all roots, or of none. The journal lies in the
 * workspace of the first root, even when its plan is empty. Each root is opened
 * once. A root may lie below another root when no plan names a path in it.
 *
 * On return 0 all steps are done and durable, and the journal is removed unless
 * end() keeps it. On an error everything is as before: -EBUSY names a file that
 * changed between the plan and its step. When the rollback failed too, the
 * journal stays, and the message says that the next command finishes it.
 */
int transaction_run(struct store *store, const struct transaction_root *roots,
		    size_t count, const struct transaction *what,
		    struct err *err);

/* Runs the preflight of transaction_run() without a write. Returns its errors;
 * free disk space is not checked. */
int transaction_check(struct store *store, const struct transaction_root *roots,
		      size_t count, struct err *err);

/*
 * Ends an interrupted transaction, forward or by rollback. p is its first root;
 * the other roots are opened through workspaces_fd. roll_back: a prepared
 * transaction is rolled back instead of finished. Returns 0: no journal; 1:
 * finished, maybe already before; 2: rolled back; a negative errno.
 *
 * *ret_text (to free) is a message for people, and may be set after an error.
 * After 1 the journal still exists, and a second call returns the same;
 * transaction_close() removes it when p->recovered is recorded elsewhere.
 */
int transaction_recover(struct store *store, struct project *p,
			int workspaces_fd, bool roll_back, char **ret_text,
			struct err *err);

/* Removes the journal of a finished transaction, unless p->left is set. */
int transaction_close(struct project *p, int workspaces_fd, struct err *err);

/* Whether a journal exists. No lock is needed. */
bool transaction_pending(int workspaces_fd, const char *project_path);

enum transaction_stage {
	TRANSACTION_INTERRUPTED, /* can be finished or rolled back */
	TRANSACTION_ROLLBACK, /* rollback has begun; cannot be finished any more
			       */
	TRANSACTION_DONE, /* finished, but not recorded yet */
};
/* Title of the interrupted transaction, e.g. "apply of run 3mk9zq-4t", to free.
 * NULL: the journal is unreadable. */
char *transaction_title(int workspaces_fd, const char *project_path,
			enum transaction_stage *ret);
/* Path of the first root of a transaction in which this directory is a later
 * root, to free: the transaction must be ended there. NULL: no such
 * transaction. A join record without a journal is removed. */
char *transaction_first(int workspaces_fd, const char *project_path);

#endif
