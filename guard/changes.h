/*
 * What a run changed, for people: its groups (the project, the folders of
 * --cow, the home), counted, filtered, and the .git part of it summed up by
 * name.
 */
#ifndef GUARD_CHANGES_H
#define GUARD_CHANGES_H

#include "guard/state.h"
#include "overlay/scan.h"
#include "overlay/session.h"
#include "snapshot/tree/catalog.h"

/* In a change's flags, beside the scan's own: the real path is not what it was
 * when the run began, so that apply will find a conflict there. */
#define CHANGES_EDITED 0x100u
/* One of the profile's `noise`: lists show a number only. */
#define CHANGES_NOISE 0x200u
/* In the run's record, repeated: a glob of it, "~/" in front for the home. */
#define CHANGES_NOISE_GLOB "noise"

/*
 * One directory that a run has a layer over: the project, one of --cow, or the
 * home directory.
 */
struct changes_root {
	struct change_list list;
	/* The run's bytes and the real ones; -1: there is no such layer. */
	int upper_fd, lower_fd;
	char *prefix; /* before its paths, for people: "", "~/other/", "~/" */
	char *where; /* "", " in ~/other/", " in your home folder" */
	bool home; /* its caches are not shown, and a .git is like the rest */
};

/*
 * All directories of a run: the project first, then the others of session.roots
 * in their order, the home directory last. Each of them is there after
 * changes_load(), with an empty list when the run has no layer over it.
 */
struct changes {
	struct changes_root *roots;
	size_t root_count;
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

/* got: why the folder that a run has a layer over cannot be opened now; where
 * it is gone, or something else is there, the text says so. */
int changes_explain(int got, const char *path, struct err *err);

/* state: for the home group too, which needs to know what to leave out; NULL:
 * the project alone. A project whose folder is gone is -ENOENT. */
int changes_load(const struct session *s, const struct state *state,
		 struct changes *ret, struct err *err);
/*
 * The same for whoever says what the run changed: what it has only opened or
 * touched lies in its layer as it was when the run began, and what the user has
 * changed of it since is no change of the run's. Where that cannot be told, it
 * is left in. May open the store.
 */
struct context;
int changes_load_own(struct context *c, const struct session *s,
		     struct changes *ret, struct err *err);
void changes_free(struct changes *c);

/* changes_fold.c: sets CHANGES_NOISE, and takes out the folders of a live run
 * in which something of guard's own is mounted. */
void changes_fold(const struct session *s, struct changes *c);

/*
 * changes_moves.c: which deletions and additions are one thing that was moved.
 * Reads of files what could be the same, 2 GB at most; a list is in the scan's
 * order. Caches, noise and what lies in a .git are left as they are.
 */
void changes_find_moves(struct changes *c);
/* The same of one list, with other bytes behind it. */
struct moves_source;
void changes_find_moves_in(struct change_list *list, bool home,
			   const struct moves_source *source);
/* Whether both halves of the move that it belongs to are in the list: it is
 * told as a move then, and neither as deleted nor as added. */
/* Mode, owner and flags alike. */
bool changes_same_meta(const struct change_side *a,
		       const struct change_side *b);
bool changes_is_moved(const struct change_list *list, const struct change *c);
/* Its move, or NULL. */
const struct change_move *changes_move(const struct change_list *list,
				       const struct change *c);
/* Fills in how many files went with each folder. They are sorted by where they
 * went. */
void changes_moves_count(struct change_move *moves, size_t count);
/* "src/a.c -> lib/a.c  2 KB  92 % alike": escaped, prefix before each name;
 * appended. In two lines where it is longer than width, unless that is 0. */
void changes_move_text(const struct change_move *m, const char *prefix,
		       size_t width, struct buf *to);

/*
 * Sets CHANGES_EDITED by comparing the real files with the snapshot that was
 * taken when the run began; the list is in the scan's order.
 */
int changes_edited_mark(struct store *store, const struct snapshot *base,
			struct change_list *list, struct err *err);

/* What stands before the names of a folder beside the project: "~/other/". To
 * free. */
char *changes_prefix(const char *path, const char *home);

/* Of all folders but the home. */
size_t changes_total(const struct changes *c);

struct change_counts {
	size_t total, deleted, modified, type, meta, added;
	size_t git; /* in a .git: not in the five before it */
	/* Moves; and how many of the deleted, the modified and the added ones
	 * are halves of them. */
	size_t moved, moved_from, moved_over, moved_to;
};
void changes_count(const struct change_list *list, struct change_counts *ret);
/* The same of the project and the folders beside it together. */
void changes_count_all(const struct changes *c, struct change_counts *ret);
/* "3 deleted, 2 moved, 1 added"; "no changes"; appended. What was moved is not
 * counted as deleted or added as well. */
void changes_summary(const struct change_counts *counts, struct buf *to);

/*
 * Reports what a run changed in directories beside the project, for verbs that
 * take only the project. what: "patches are"; git: the changes of their
 * repositories instead of those of their files.
 */
void changes_report_excluded(struct changes *c, const char *what, bool git);
/* The path is a change, or holds one; the list is in order. */
bool changes_has(const struct change_list *list, const char *path);

/* Keeps only what is one of the paths or below; NULL-terminated. */
void changes_filter(struct change_list *list, const char *const *paths);

/*
 * Each path must be something: a change (or hold one), there in the real
 * directory, or in the layer: a path that both the run and the user have
 * deleted is no change any more. -ENOENT names the first path that is none of
 * these, most likely a typing error.
 */
int changes_check(const struct changes_root *root, char *const *paths,
		  struct err *err);

/* D T M P A */
char changes_letter(enum change_kind kind);
const char *changes_kind_name(enum change_kind kind);

/* A cache, a history or the like in a home folder: shown as a number only. */
bool changes_is_cache(const char *home_path);

/* What a stored entry is, as one side of a change. */
struct change_side changes_side(const struct entry *e);

/* " folder", " 12 KB", " 1.2 KB -> 3 KB", " file -> link", " 0644 -> 0755":
 * what stands behind a name in a list; appended. */
void changes_detail(const struct change *change, struct buf *to);

/* How many changes of a home people want to hear of: caches are none. */
size_t changes_count_home(const struct changes *c);

/* One line of the summary of what happened in the .git folders. */
struct git_line {
	char *text; /* escaped */
	bool deleted;
	bool runs; /* will be executed, or says what will be */
};

struct changes_git {
	struct git_line *items;
	size_t count, capacity;
};

/* upper_fd, lower_fd may be -1: then contents (commit ids) are left out. */
void changes_git_make(const struct change_list *list, int upper_fd,
		      int lower_fd, struct changes_git *ret);
void changes_git_free(struct changes_git *g);

#endif
