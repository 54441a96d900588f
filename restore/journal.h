/*
 * The journal of one transaction: a list of the operations, durable before the
 * first one. A transaction may have several roots (a project, a second project,
 * the home directory). The journal lies in the workspace of the first root; a
 * record "joined" in the workspaces of the others names that root.
 *
 * States in order, each one durable before the step that it announces:
 *
 *	staging		new files are written to the staging directory; the
 *			project is unchanged. Recovery removes the directory.
 *	prepared	all data is on disk. Recovery continues forward.
 *	back		a step failed. Recovery rolls back.
 *	done		all steps are done and durable. Recovery removes the
 *			staging directory.
 *
 * The file is written completely with the first state, with space for the inode
 * numbers that are known after staging. From then on only bytes in place
 * change. docs/formats.md has the grammar.
 *
 * The journal is removed without a sync: a journal that reappears after a power
 * failure says "done", and all of its work was done before.
 */
#ifndef GUARD_RESTORE_JOURNAL_H
#define GUARD_RESTORE_JOURNAL_H

#include "base/atomic.h"
#include "base/vec.h"
#include "restore/transaction.h"

#define JOURNAL_NAME "journal"
#define JOURNAL_ORPHAN JOURNAL_NAME ".orphan"
#define STAGING_PREFIX TRANSACTION_STAGING_PREFIX

enum journal_state {
	JOURNAL_STAGING = 'S',
	JOURNAL_PREPARED = 'P',
	JOURNAL_ROLLBACK = 'B',
	JOURNAL_DONE = 'D',
};

enum op_kind {
	OP_DELETE = 1, /* path is renamed into the staging directory */
	OP_REPLACE, /* path is exchanged with the staged file */
	OP_CREATE, /* the staged entry is renamed to path */
	OP_CHILD, /* entry of a new directory; part of the OP_CREATE before it
		   */
	OP_META, /* in place: mode, owner, xattrs, times */
};

struct op {
	enum op_kind kind;
	char *path;
	const struct entry *from, *to; /* mode 0: no entry */
	struct step *own; /* owner of path, from and to; NULL: the plan's step
			   */
	uint64_t old_ino; /* inode of path before */
	uint64_t new_ino; /* inode of the staged entry */
	/* In memory only: */
	struct timestamp new_ctime; /* ctime of the staged file */
	struct timestamp forward_ctime; /* after the rename; {0}: unknown */
	bool unmodified; /* times say that the displaced file was not
				  written to */
	bool from_upper; /* comes from a run's upper, see move_from_upper.h */
	bool has_layer_xattrs; /* of overlayfs */
	uint32_t nlink; /* links of a file from an upper */
	char *hardlink_to; /* an existing path whose file is linked while
			      staging, or NULL */
};

/* A directory whose entries change, and its mtime before. */
struct parent_mtime {
	char *path;
	struct timestamp mtime;
	bool keep; /* the mtime is restored after success, too */
	bool has_op; /* an OP_META of the directory; in memory only */
};

/* One directory with its operations. */
struct journal_root {
	char *path; /* absolute; "": the directory of this workspace */
	uint64_t before; /* sequence number of the snapshot before */
	char *staging; /* name of the staging directory in this root */
	VEC(struct op) ops;
	VEC(struct parent_mtime)
	parent_mtimes; /* sorted by path; the root first */
	struct timestamp root_time; /* mtime of the root after success ... */
	bool root_time_set; /* ... if it is set */
};

struct journal {
	enum journal_state state;
	char *action, *run_id;
	VEC(struct journal_root) roots;
};

/* Frees the journal and the entries that it owns. */
void journal_free(struct journal *j);
/* Allocates empty entries for an operation without a plan. They are freed with
 * the journal, and so is a path that the caller adds. */
struct step *journal_op_own(struct op *op);
/* Frees an operation that owns its path and entries. */
void journal_op_free(struct op *op);
/* Appends an empty root with this path. Valid until the next call. */
struct journal_root *journal_add_root(struct journal *j, const char *path);

/* Adds the complete journal, in state "staging", to a set of files. */
int journal_add_to_set(int workspace_fd, const struct journal *j,
		       struct atomic_set *to, struct err *err);
/* Writes the inode numbers of all staged files. They count from state
 * "prepared" on and must be durable before it. Not synced. */
int journal_write_table(int workspace_fd, const struct journal *j,
			struct err *err);
/* Syncs the journal. */
int journal_sync(int workspace_fd, struct err *err);
/* Sets the state on disk, durably, then in *j. */
int journal_set_state(int workspace_fd, struct journal *j,
		      enum journal_state state, struct err *err);
/* -ENOENT: no journal; -EPROTO: written by a newer guard; -EBADMSG: damaged. */
int journal_load(int workspace_fd, struct journal *ret, struct err *err);
/* The same from another file, JOURNAL_ORPHAN. */
int journal_load_from(int workspace_fd, const char *name, struct journal *ret,
		      struct err *err);
/* Removes the journal; not synced. */
int journal_remove(int workspace_fd, struct err *err);

/* Renames the journal to JOURNAL_ORPHAN: its directory is missing and may
 * lie on an unmounted disk. The journal is durable already, so no sync is
 * needed. */
int journal_orphan_set(int workspace_fd, struct err *err);
/* Whether an orphan exists and the staging directory of one of its roots is
 * back. project_path: of its first root. */
bool journal_orphan_is_available(int workspace_fd, const char *project_path);
/* Renames the orphan back to the journal: 1. 0: not available, or a journal
 * exists. Negative: an error. */
int journal_orphan_adopt(int workspace_fd, const char *project_path,
			 struct err *err);
/* Whether an orphan exists, wherever its directory is. */
bool journal_orphan_exists(int workspace_fd);

/* Join record in the workspace of a later root: names the project whose
 * workspace holds the journal. Durable before the journal and removed after it;
 * a record that names a project without a journal is a leftover. */
int journal_join_write(int workspace_fd, const char *first, struct err *err);
/* Path of the first root, to free; NULL: no join record. */
char *journal_join_first(int workspace_fd);
/* Removes the join record; not synced. A missing record is no error. */
void journal_join_drop(int workspace_fd);

#define JOURNAL_OP_NAME_LEN 32
/* Writes the name of the operation's entry in the staging directory: at most
 * JOURNAL_OP_NAME_LEN bytes with the terminator. */
void journal_op_name(const struct journal_root *j, const struct op *op,
		     char *ret);

#endif
