/*
 * The journal of one transaction: what is being done to whose files, written
 * down before it is begun. A transaction may have several roots (a project, a
 * second one, the home folder): the journal lies in the workspace of the
 * first, and in those of the others a record "joined" names that one.
 *
 * States, in order, each durable before what it announces:
 *
 *	staging		new files are made in the staging folder; nothing of
 *			the project has changed. Recovery removes the folder.
 *	prepared	all that is needed is on disk. Recovery goes on.
 *	back		it could not be done. Recovery takes it back.
 *	done		all is done and synced. Recovery removes the folder.
 *
 * The file is written whole with the first, with room for what is only known
 * when all is staged; from then on nothing but its bytes in place changes. Its
 * grammar is in docs/formats.md.
 *
 * It is removed without a sync: one that is there again after a power cut says
 * "done", and all that is left to do then was done before.
 */
#ifndef GUARD_RESTORE_JOURNAL_H
#define GUARD_RESTORE_JOURNAL_H

#include "base/atomic.h"
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
	OP_DELETE = 1, /* path leaves for the staging folder */
	OP_REPLACE, /* exchanged with its staged successor */
	OP_CREATE, /* the staged thing gets the name */
	OP_CHILD, /* comes along in a folder of the OP_CREATE before it */
	OP_META, /* in place: mode, owner, attributes, times */
};

struct op_sides {
	struct entry from, to;
};

struct op {
	enum op_kind kind;
	char *path;
	const struct entry *from, *to; /* mode 0: nothing */
	struct op_sides *own; /* these two; NULL: they are the plan's */
	uint64_t old_ino; /* what has the name before */
	uint64_t new_ino; /* what was staged for it */
	/* In memory only: */
	struct timestamp new_ctime; /* of a file, staged */
	struct timestamp forward_ctime; /* in its place; {0}: not known */
	bool unmodified_since; /* nobody was at what came out, as far as times
				  tell */
	bool from_upper; /* comes out of a run's layer, see taking.h */
	bool has_layer_xattrs; /* with marks that are the layer's own */
	uint32_t nlink; /* of a file that comes out of a layer */
	char *hardlink_to; /* a path whose file is linked to, while staging;
			      NULL */
};

/* A folder whose list changes, and its time before. */
struct parent_mtime {
	char *path;
	struct timestamp mtime;
	bool keep; /* gets that time back also when all is done */
};

/* One folder in which something is done. */
struct journal_root {
	char *path; /* absolute; "": the one whose workspace this lies in */
	uint64_t before; /* the snapshot taken before it */
	char *staging; /* name of the folder in this root */
	struct op *ops;
	size_t op_count, op_capacity;
	bool borrowed; /* what ops point to is somebody else's: the plan's */
	struct parent_mtime
		*parent_mtime; /* sorted by path; the root is first */
	size_t parent_mtime_count, parent_mtime_capacity;
	struct timestamp root_time; /* the root's when all is done ... */
	bool root_time_set; /* ... if it is to be set */
};

struct journal {
	enum journal_state state;
	char *action, *run_id;
	struct journal_root *roots;
	size_t root_count, root_capacity;
};

void journal_free(struct journal *j);
/* Room for both sides of its own, empty, for one that is no plan's; goes with
 * the journal. */
struct op_sides *journal_op_own(struct op *op);
/* One more, empty but for its path; holds until the next call. */
struct journal_root *journal_add_root(struct journal *j, const char *path);

/* All of it, into a set of files; its state is "staging". */
int journal_add_to_set(int workspace_fd, const struct journal *j,
		       struct atomic_set *to, struct err *err);
/* All is staged: new_ino of each operation, which means nothing before the
 * state is "prepared", and has to be durable before that. Not synced. */
int journal_write_table(int workspace_fd, const struct journal *j,
			struct err *err);
/* Makes that durable. */
int journal_sync(int workspace_fd, struct err *err);
/* Changes its state on disk, durably, then in *j. */
int journal_set_state(int workspace_fd, struct journal *j,
		      enum journal_state state, struct err *err);
/* -ENOENT: none; -EPROTO: of a newer guard; -EBADMSG: damaged. */
int journal_load(int workspace_fd, struct journal *ret, struct err *err);
/* The same of another file, JOURNAL_ORPHAN. */
int journal_load_from(int workspace_fd, const char *name, struct journal *ret,
		      struct err *err);
/* Removes it; not synced. */
int journal_remove(int workspace_fd, struct err *err);

/*
 * One whose folder is not at its path now is set aside: it may be on a disk
 * that is not mounted. It is on disk before it is renamed, so is not synced.
 */
int journal_orphan_set(int workspace_fd, struct err *err);
/* Whether one was, and the staging folder of one of its roots is in its place;
 * project_path is that of the first. */
bool journal_orphan_is_available(int workspace_fd, const char *project_path);
/* It is the journal again; 0: it is not back, or there is a journal. */
int journal_orphan_adopt(int workspace_fd, const char *project_path,
			 struct err *err);
/* Whether one was, wherever its folder is. */
bool journal_orphan_exists(int workspace_fd);

/*
 * The record in the workspace of another root than the first: which project's
 * workspace has the journal. Made durably before the journal, removed after
 * it; one that names a project without a journal is left over.
 */
int journal_join_write(int workspace_fd, const char *first, struct err *err);
/* The path of the first (to free); NULL when there is no such record. */
char *journal_join_first(int workspace_fd);
void journal_join_drop(int workspace_fd);

#define JOURNAL_OP_NAME_LEN 32
/* The name of an operation's thing in the staging folder, JOURNAL_OP_NAME_LEN
 * bytes at most. */
void journal_op_name(const struct journal_root *j, const struct op *op,
		     char *ret);

#endif
