/*
 * Carries out a plan on the user's files, all of it or nothing; the only code
 * that writes there.
 *
 * Before the first rename everything that will be needed is durable: the
 * present state (a snapshot), the new files (staged beside the project's
 * root, in its own mount), the journal. New names are made with
 * RENAME_NOREPLACE, files are replaced by RENAME_EXCHANGE and what came out
 * is compared with what the plan expected, folders leave by rename. Nothing is
 * truncated in place, no link is followed, no mount is crossed, nothing is
 * deleted that the plan's `now` did not record. Ended anywhere, the next call
 * of transaction_recover() finishes it or takes it back.
 *
 * The journal lies in the workspace's folder (state), "journal"; its grammar
 * is in docs/formats.md.
 */
#ifndef GUARD_RESTORE_TRANSACTION_H
#define GUARD_RESTORE_TRANSACTION_H

#include "base/atomic.h"
#include "overlay/change_list.h"
#include "restore/applied_ops.h"
#include "restore/plan/plan.h"
#include "snapshot/store/ingest_hint.h"
#include "snapshot/tree/catalog.h"

/* How the folder in the project's root begins in which new files wait for
 * their turn; whoever looks at the project without its lock leaves it out. */
#define TRANSACTION_STAGING_PREFIX ".guard-staging-"

/*
 * The folder whose files are changed. Everything is done under the lock
 * "lock" of workspace_fd.
 */
struct project {
	char *path; /* absolute, without links */
	int fd; /* O_PATH|O_DIRECTORY */
	int workspace_fd; /* workspaces/<id>/ in the state */
	char *cache_path; /* of the stat cache, in there */
	int lock_fd;
	const char *const *skip; /* guard's state, if it lies below; the
				    struct stays where it was opened */
	char *state[2]; /* what skip points to */
	/* Only these paths of it are looked at and kept in its snapshots
	 * (take_options.only); NULL: all. */
	const char *const *only;
	/* A transaction's own folder lies in it just now: it is left out. */
	bool staging;
	/* Folders in it that are looked into although their owner may not, see
	 * shut.h; sorted. */
	char **unreadable_dirs;
	/* take_options.moved_since of those snapshots. */
	struct timestamp moved_since;
	/* What a transaction has put there: take_options.known. */
	struct ingest_hint *hints;
	size_t hint_count, hint_capacity;
	/* What the transaction that transaction_recover() has ended did, root
	 * by root; filled in the project that it was called with. */
	struct recovered *recovered;
	size_t recovered_count;
	/* Of that one a staging folder could not be removed: its journal stays
	 * for the next command. */
	bool left;
};

struct recovered {
	char *path; /* of the root */
	struct applied_ops did;
};

/* Opens and locks. make: create the folder (and its parents) when it is gone,
 * for restore. -EBUSY: another guard is at work there. The folder of the
 * workspace (below workspaces_fd) is made when missing. */
int project_open(const char *path, int workspaces_fd, bool make,
		 struct project *ret, struct err *err);
void project_close(struct project *p);

/* A folder (O_PATH), part by part from "/", no link followed: path is absolute
 * and canonical. make: what is missing of it. */
int project_open_dir(const char *path, bool make, struct err *err);

/* Whether files can be put into a folder that is there or is to be made with
 * its parents, as far as that can be told: 0, or why not. */
int project_may_make(const char *path, struct err *err);

/*
 * The project as it is, stored: a snapshot with that reason. Its root is the
 * plan's `now`.
 */
int project_snapshot(struct store *store, struct project *p, const char *reason,
		     const char *run_id, const char *message,
		     struct snapshot *ret, struct err *err);
/* What an action has made of it. */
struct project_after {
	const char *reason, *run_id;
	const struct snapshot *before; /* NULL: all that is there is its own */
	const struct applied_ops *did; /* settled; of nothing else it is said */
	catalog_with with; /* see catalog_add_with() */
	void *with_arg;
};
int project_snapshot_after(struct store *store, struct project *p,
			   const struct project_after *o, struct snapshot *ret,
			   struct err *err);

/*
 * The same, but nothing is left behind: *ret becomes a snapshot by
 * catalog_add(), once something is to be done with it.
 */
int project_inspect(struct store *store, struct project *p, const char *reason,
		    const char *run_id, struct snapshot *ret, struct err *err);

/* The file there is the entry as long as it has its size and time: into known,
 * not yet sorted. What is not there, or in a folder that is shut, is passed
 * over; so is what was touched after `when` ({0}: all), where a file system
 * does not tell of every store. */
int project_add_hint(struct project *p, const char *path, const struct entry *e,
		     struct timestamp when, struct err *err);

/* Adds the journal to the set, for a begin() below. */
typedef int (*transaction_add_journal)(void *journal, struct atomic_set *set,
				       struct err *err);

struct transaction {
	const char *action; /* "apply", "restore", "undo" */
	const char *run_id; /* "" */
	/*
	 * What has to be durable together with the journal, once it is known
	 * that something will be done, and before it: called in its place, to
	 * put files into a set, let `note` add the journal to it, and publish
	 * it. The roots' snapshots need their numbers by then. Where nothing is
	 * to be done, note is NULL. begin NULL: the journal alone.
	 */
	int (*begin)(void *arg, transaction_add_journal note, void *journal,
		     struct err *err);
	/*
	 * Called when it is done, for good, from any thread: the place to look
	 * at the projects as they are now. What was displaced is removed
	 * meanwhile, and the staging folders once `seen` (may be NULL) has been
	 * called. The journal goes after it: up to there it says what was done,
	 * should we be ended. false: that could not be noted, and the journal
	 * stays for the next command. NULL: nobody wants to know.
	 */
	bool (*end)(void *arg, void (*seen)(void *seen_arg), void *seen_arg);
	void *callback_arg; /* of both */
	/* Bytes of new files that are staged; from any thread, never from two
	 * at once. NULL: nobody wants to know. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
	/* Asked before each file that is staged, from any thread: true ends
	 * it, -EINTR, and nothing was done. NULL: nobody does. */
	bool (*is_cancelled)(void);
};

/*
 * The layer of a run that has ended, is locked, and that nothing leads into any
 * more (overlay/upper_busy.h): new folders may be renamed out of it. Whatever
 * comes of the transaction, they may be missing there afterwards;
 * restore_upper_dir() makes them again.
 */
struct transaction_layer {
	int upper_fd;
	struct timestamp before; /* when the run ended: what has a ctime from
				 then on is not what was stored */
	char *const *paths; /* move_from_upper_choose()'s, noted with the run */
	const struct change_list *changes; /* what a scan of it since `before`
					      says, or NULL */
};

/* One folder, and what shall become of it. */
struct transaction_root {
	struct project *project;
	const struct plan *plan; /* may be empty */
	const struct snapshot *before; /* taken before it, or NULL */
	const struct transaction_layer *layer; /* or NULL */
};

/*
 * Does it, in all the roots or in none. The journal lies in the workspace of
 * the first one, even when nothing is to be done there. No root is opened
 * twice; one may lie in another as long as no plan names what is in it.
 *
 * On return 0 all is done and synced, and the journal is closed unless end()
 * wants it. On
 * an error everything is as before (-err says why; -EBUSY: a file changed
 * between the plan and its turn, it is named), or, when even that failed, the
 * journal is left and the text says that the next command finishes it.
 */
int transaction_run(struct store *store, const struct transaction_root *roots,
		    size_t count, const struct transaction *what,
		    struct err *err);

/* Whether transaction_run() would begin: as far as that can be told without
 * writing anything (the room on the disk cannot). Its errors. */
int transaction_check(struct store *store, const struct transaction_root *roots,
		      size_t count, struct err *err);

/*
 * Ends or takes back what was interrupted; p is the first root of it, the
 * others are opened through workspaces_fd. 0: there was nothing; 1: finished,
 * 2: taken back; *ret_text (to free) says what, for people, and also after an
 * error where there is something to say beside it. After 1 the journal
 * is still there, and says the same again: transaction_close() removes it, once
 * what p->recovered has is noted elsewhere.
 */
int transaction_recover(struct store *store, struct project *p,
			int workspaces_fd, char **ret_text, struct err *err);

/* The same, but what can be taken back is, also where the rest could be done;
 * 1: it was done already. */
int transaction_abort(struct store *store, struct project *p, int workspaces_fd,
		      char **ret_text, struct err *err);

/* Of what has just been finished the journal goes, unless p->left. */
int transaction_close(struct project *p, int workspaces_fd, struct err *err);

/* Whether a journal is there (no lock needed). */
bool transaction_pending(int workspaces_fd, const char *project_path);

enum transaction_stage {
	TRANSACTION_INTERRUPTED, /* it can be finished, or taken back */
	TRANSACTION_ROLLBACK, /* it is being taken back, and will not be
				 finished */
	TRANSACTION_DONE, /* but that is not noted yet */
};
/* What that journal is of, "apply of run 3mk9zq-4t", to free; NULL: it cannot
 * be read. */
char *transaction_title(int workspaces_fd, const char *project_path,
			enum transaction_stage *ret);
/*
 * The first root of a transaction that this folder was another root of, to
 * free: what is left of it must be ended there. NULL: there is none. A record
 * without a journal is cleared away.
 */
char *transaction_first(int workspaces_fd, const char *project_path);

#endif
