/*
 * The changes of a run, for display and for an apply: loaded from its layers as
 * one list for each root (the project, the directories of --cow, the home
 * directory), counted, filtered, and the changes in a .git summed up by name.
 *
 *	changes_load_own(), changes_load_trees() or changes_load()
 *	changes_find_moves()	where moves are shown
 *	resolve_run_filter()	keeps the named paths
 *	changes_free()
 */
#ifndef GUARD_CHANGE_CHANGES_H
#define GUARD_CHANGE_CHANGES_H

#include "base/vec.h"
#include "guard/rules/risk.h"
#include "guard/state/state.h"
#include "overlay/scan.h"
#include "overlay/session.h"
#include "snapshot/tree/catalog.h"

/* A flag of a change, beside those of the scan: the real file has changed since
 * the run began, so that an apply will find a conflict. */
#define CHANGES_EDITED 0x100u
#define CHANGES_EDITED_TEXT "  ! CHANGED HERE SINCE THE RUN STARTED"
/* The path matches `noise` of the profile: lists show only the number. */
#define CHANGES_NOISE 0x200u
/* The change is a part of a worktree of git, for which lists have one line: the
 * first of its changes stands for it (worktrees.h). */
#define CHANGES_WORKTREE 0x800u
#define CHANGES_WORKTREE_FIRST 0x20000u
/* A file that `git worktree add` wrote, as it was written. */
#define CHANGES_CHECKOUT 0x40000u
/* A power cut may have damaged the file: overlay/torn.h. */
#define CHANGES_TORN 0x80000u
/* The key of the noise globs in the run's record; "~/" in front: in the home
 * directory. */
#define CHANGES_NOISE_GLOB "noise"
/* Whether the change matches the glob, and may be noise: sets the flag. */
bool changes_make_noise(struct change *c, const char *glob);

/* A worktree of git: see worktrees.h. */
struct worktree {
	/* In the root, after and before the run; NULL: none. */
	char *path, *from;
	size_t owner; /* the root that has the repository, and its path */
	char *repository;
	char *admin; /* in that root: ".git/worktrees/x" */
	char *branch; /* without refs/heads/; NULL: detached, or removed */
	/* Stands for the path where names are judged: without the directory
	 * "worktrees" of an agent, whose files no program reads as its own. */
	char *judged;
	/* Commits that its reflog got; changed files that the user has not
	 * committed anywhere and does not ignore, of worktrees_count(). */
	size_t commits, files;
	bool counted;
	bool named; /* an apply takes it, */
	bool left; /* or leaves it out though it has commits */
	bool said; /* a warning named it */
	bool outside; /* the repository is in no root: none can take it */
};

struct changes_refs {
	char *path, *home; /* of the root, and of the user or NULL */
	bool found;
	struct risk_refs list;
};

/*
 * One directory that a run has a layer over: the project, one of --cow, or the
 * home directory.
 */
struct changes_root {
	struct change_list list;
	struct store *store; /* has the trees; borrowed */
	/* The run's upper layer and the real directory; -1: no such layer. */
	int upper_fd, lower_fd;
	char *prefix; /* printed before its paths: "", "~/other/", "~/" */
	char *where; /* for people: "", " in ~/other/"... */
	char *above; /* risk_above() of the directory */
	struct changes_refs *refs; /* of changes_refs() */
	bool borrowed; /* changes_borrow(): owns the items and moves alone */
	bool home; /* caches are not shown, and a .git is like the rest */
	/* The changes in a .git are taken, too: a path names one. */
	bool git_taken;
	/* An apply leaves them, so that their risks are none of the apply's. */
	bool git_left;
	bool lfs_taken; /* objects of git-lfs alone: --commits */
	VEC(struct worktree) worktrees; /* with files in the root */
	bool worktrees_listed; /* each has a line */
	/* For a filtered list: all changes, borrowed; else NULL. */
	const struct change_list *all;
	/* The base and the result that the list compares, owned; NULL: the list
	 * compares the layer with the real directory. */
	struct delta *delta;
	struct snapshot base; /* of delta */
	/* When the result was stored: an older file of the layer has the bytes
	 * of the tree. 0: now, from the layer. */
	struct timestamp stored;
};

/* A move from one root to another. Where only the bytes are similar, the last
 * part of the path must be equal, too. */
struct changes_across {
	size_t from_root, to_root;
	const char *from, *to; /* owned by the lists */
	bool equal; /* the bytes are the same, or it is a directory */
};

/*
 * All directories of a run: the project first, then the others of session.roots
 * in their order, the home directory last. Each of them is there after
 * changes_load(), with an empty list when the run has no layer over it.
 */
struct changes {
	struct changes_root *roots;
	size_t root_count;
	/* Moves from one root to another, by changes_find_moves(). The lists
	 * show each end as a deletion or an addition. */
	VEC(struct changes_across) across;
	bool searched_across; /* changes_find_moves() was called */
	/* The results come from the store: no layer but the home's was read. */
	bool stored;
};

#define CHANGES_NONE                                                           \
	{                                                                      \
		0                                                              \
	}

/* The project's root, and the home directory's. */
struct changes_root *changes_project(const struct changes *c);
struct changes_root *changes_home(const struct changes *c);
/* Changes that consist of one root, the project's, without a layer. */
struct changes changes_of_project(void);

/* The directory of a root's layer in that of the run, to free: "upper",
 * "upper-2", "home-upper". */
char *changes_layer_name(const struct changes *c, size_t index);

/* The directory of the root, which is not the project, no longer exists: its
 * list is that of the stored trees, or empty. */
bool changes_is_gone(const struct changes_root *root);

/* Opens a file of the layer (now), or the real file. */
int changes_open(const struct changes_root *root, const char *path, bool now,
		 struct err *err);
/* Whether the path is a directory in the real directory. */
bool changes_is_dir(const struct changes_root *root, const char *path);
/* changes_refs.c: the files of the root that critical and high files of the
 * user or of the run execute or read. Searched at the first call; as long as
 * the root. */
const struct risk_refs *changes_refs(const struct changes_root *root);
/* The next call searches again: the user's files may have changed. */
void changes_refs_forget(const struct changes_root *root);
/* Whether the layer or the real directory has the path. */
bool changes_exists(const struct changes_root *root, const char *path);
/* Larger files are not read. */
#define CHANGES_READ_MAX (1u << 20)
/* Appends the bytes of a regular file or the target of a symbolic link, before
 * or after (now) the run; which one, says the mode. Before the run means the
 * base of the delta, or, where there is none, the real file. */
int changes_read(const struct changes_root *root, const char *path,
		 uint32_t mode, bool now, struct buf *to, struct err *err);

/* Explains why a root could not be opened: got is the error. If the directory
 * is gone or replaced, the text says so. Returns a negative errno. */
int changes_explain(int got, const char *path, struct err *err);

/* Scans the layers. state: guard's own, which is left out; NULL: the home
 * directory is not scanned. -ENOENT: a root is gone. */
int changes_load(const struct session *s, const struct state *state,
		 struct changes *ret, struct err *err);
/* The same with another source of the lists. list(): fills the list of a root
 * whose directories are open; an error ends the load. */
typedef int changes_list(void *arg, const struct session *s,
			 const struct state *state, size_t index,
			 struct changes_root *root, struct err *err);
int changes_load_by(const struct session *s, const struct state *state,
		    changes_list *list, void *arg, struct changes *ret,
		    struct err *err);
/* Scans the layer of one root, whose directories are open, into its list. */
int changes_scan(const struct session *s, const struct state *state,
		 size_t index, struct changes_root *root, struct err *err);
/*
 * The changes of a run as the delta of its base and its result. The result of
 * an ended run comes from the store: its layers are not read, and later writes
 * into them are no changes of the run. That of any other run is made from its
 * layers now; the processes of a live one are suspended. The home directory is
 * scanned, and so are all roots where no base is known yet, or the store
 * cannot be written.
 */
struct context;
int changes_load_trees(struct context *c, const struct session *s,
		       struct changes *ret, struct err *err);
/* The same, but the layers of a live run of which nothing was applied are only
 * scanned: a file that the user has edited is in the list if the run has opened
 * it for writing. */
int changes_load_own(struct context *c, const struct session *s,
		     struct changes *ret, struct err *err);
/* Beside SESSION_STORED: the same for the home directory. Changes of caches are
 * never stored; without any its layer is not read. */
#define CHANGES_HOME "home-stored"
#define CHANGES_HOME_ALL "all"
#define CHANGES_HOME_BUT_CACHES "but-caches"
/* Warns once of the torn files, with the remedy. */
void changes_torn_report(const struct session *s, const struct changes *c);
/* Notes which files are torn now, before the run's layer is written: their
 * ctimes will be younger than the next sync. c: all its changes. */
int changes_torn_keep(const struct session *s, struct changes *c,
		      struct err *err);
/* changes_torn.c: sets CHANGES_TORN in the lists of all roots. */
void changes_torn_mark(const struct session *s, struct changes *c);
/* Whether all changes could be read: only then the results have all of them. */
bool changes_complete(const struct changes *c);
/* Removes the key durably: the caller is about to edit the layer of an ended
 * run (discard of paths, purge). */
int changes_edit_layer(struct session *s, struct err *err);
void changes_free(struct changes *c);
/* Frees all that *w owns. */
void changes_free_worktree(struct worktree *w);
/* The same changes with lists of their own, to filter them; all else is
 * borrowed. To free before *from. */
struct changes changes_borrow(const struct changes *from);

/*
 * changes_moves.c: finds the moves, pairs of a deletion and an addition of the
 * same content: first in each root, then from one root to another. Reads at
 * most 2 GB of files of a root that may be the same. The lists are in the order
 * of the scan. Caches, noise and files in a .git are skipped. A second call
 * does nothing.
 */
void changes_find_moves(struct changes *c);
/* Whether a plain user's entry gets another group with the same owner, because
 * the layer cannot have its group (overlay/pre_copy_up.h). Lists name that once
 * for each directory. */
bool changes_group_alone(const struct change_side *a,
			 const struct change_side *b);
/* Mode, owner and flags are the same, or differ by changes_group_alone(). */
bool changes_same_meta(const struct change_side *a,
		       const struct change_side *b);
/* Both halves of the change's move are in the list: it is shown as a move, and
 * neither as deleted nor as added. */
bool changes_is_moved(const struct change_list *list, const struct change *c);
/* The change's move, or NULL. */
const struct change_move *changes_move(const struct change_list *list,
				       const struct change *c);
/* Fills in the number of files in each moved directory; the moves are sorted by
 * target path. */
void changes_moves_count(struct change_move *moves, size_t count);
/* Appends "src/a.c -> lib/a.c  2 KB  92 % alike": escaped, with prefix
 * before each name. A text longer than width is split into two lines; width
 * 0: never. */
void changes_move_text(const struct change_move *m, const char *prefix,
		       size_t width, struct buf *to);

/* Sets CHANGES_EDITED on the changes of paths where the real files differ from
 * the base. While there is no base yet, nothing is marked. */
int changes_edited_mark(struct context *c, struct session *s,
			struct changes *changes, struct err *err);
/* Whether the real entry of a delta's change has another stat than the base. */
bool changes_is_edited(const struct changes_root *root, const struct change *c);
/* Drops the changes of a delta that the real files have already. */
int changes_drop_present(struct changes_root *root, struct store *store,
			 struct err *err);

/* The prefix of the paths in a directory, for people: "~/other/" below home,
 * else the absolute path. To free. */
char *changes_prefix(const char *path, const char *home);

/* The number of changes in all roots but the home directory. */
size_t changes_total(const struct changes *c);

struct change_counts {
	size_t total, deleted, modified, type, meta, added;
	/* In a .git, and worktrees: not part of the five counts above. */
	size_t git, worktrees;
	/* Moves, and how many of the deleted, the modified and the added
	 * changes are halves of a move. */
	size_t moved, moved_from, moved_over, moved_to;
};
/* Counts the changes of one list. */
void changes_count(const struct change_list *list, struct change_counts *ret);
/* The same for all roots but the home directory together. */
void changes_count_all(const struct changes *c, struct change_counts *ret);
/* Appends "3 deleted, 2 moved, 1 added" or "no changes". The two halves of a
 * move are not counted as deleted and added. */
void changes_summary(const struct change_counts *counts, struct buf *to);

/* Reports the changes in additional roots, for verbs that only handle the
 * project. what: "patches are". */
void changes_report_excluded(struct changes *c, const char *what);
/* The path is a change or a directory with a change in it; the list is in the
 * order of the scan. */
bool changes_has(const struct change_list *list, const char *path);

/* Keeps the changes at or below the paths (NULL-terminated). */
void changes_filter(struct change_list *list, const char *const *paths);
/* Drops them. */
void changes_exclude(struct change_list *list, const char *const *paths);

/*
 * Checks that each path exists: as a change (or above one), in the real
 * directory, or in the layer. A path that both the run and the user have
 * deleted is no change, so the layer is checked, too. -ENOENT names the first
 * path that does not exist, most likely a typing error. run: the run that the
 * user named beside the paths, for that text; NULL: none, a path may be meant
 * as a run.
 */
int changes_check(const struct changes_root *root, char *const *paths,
		  const char *run, struct err *err);

/* The letter of a kind: D T M P A. */
char changes_letter(enum change_kind kind);

/* A cache, a history or the like in a home directory: lists show only the
 * number. */
bool changes_is_cache(const char *home_path);
/* Whether a change is one of root->delta: those of caches in a home directory
 * are in the layer alone. */
bool changes_in_trees(const struct changes_root *root, const char *path);
/* Moves the changes of caches to the end of another list, and back to their
 * places. */
void changes_take_caches(struct change_list *home, struct change_list *to);
void changes_add_caches(struct change_list *home, struct change_list *from);

/* Noise, a cache of the home directory, or a change in any other root's .git:
 * lists have a number or a summary of them. */
bool changes_is_apart(const struct change *c, bool home);

/* A stored entry as one side of a change. */
struct change_side changes_side(const struct entry *e);

/* Appends the text behind a name in a list: " folder", " 12 KB", " 1.2 KB -> 3
 * KB", " file -> link", " 0644 -> 0755". */
void changes_detail(const struct change *change, struct buf *to);

/* The number of changes in the home directory without caches and noise. */
size_t changes_count_home(const struct changes *c);

/* One line of the summary of the changes in .git directories. */
struct git_line {
	char *text; /* escaped */
	bool deleted;
	bool runs; /* git will execute it, or it names a command */
};

struct changes_git {
	struct git_line *items;
	size_t count, capacity;
	bool gone; /* the root's own .git is deleted */
};

/* Appends the summary's lines to *ret, the caller's to free. Without the
 * directories of the root contents (commit ids) are left out. */
void changes_git_make(const struct changes_root *root, struct changes_git *ret);
void changes_git_free(struct changes_git *g);

#endif
