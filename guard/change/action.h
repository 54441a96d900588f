/*
 * Records of the actions on a project's files, so that `undo` can reverse them.
 * Files of the workspace:
 *
 * 	next-action	written before a transaction, removed after it
 * 	last-action	the newest action; next-action becomes it
 * 	done-NUMBER	earlier actions in effect; the newest has the highest
 * 			number; at most ACTIONS_MAX with last-action
 * 	undone-NUMBER	undone actions, which `redo` repeats, the newest first:
 * 			the records of their undos, except last-action, and
 * 			discards; a new action removes them
 *
 * An undo is an action, too: the action that it reversed is no longer in
 * effect, and neither is the undo itself, unless it was redone. The undo of a
 * discard is none: it removes the record of the discard.
 *
 * Order of calls, under the workspace's lock: action_save_next(), the
 * transaction, action_save_last(), action_close().
 *
 * A next-action that is found later belongs to a transaction that was killed:
 * recover_project() finalizes it. guard removes next-action without a sync, so
 * after a power cut the file may exist again although the action is already the
 * last one.
 */
#ifndef GUARD_CHANGE_ACTION_H
#define GUARD_CHANGE_ACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/vec.h"

/* One root that the transaction changed. */
struct action_root {
	/* absolute, without symbolic links; NULL: the project, whose workspace
	 * has the record */
	char *path;
	uint64_t before, after; /* snapshots; after is 0 in next-action */
	/* Undo by an earlier guard: `before` of the original action, which undo
	 * reverses and redo repeats, however often. 0: unknown. */
	uint64_t first;
	char **only; /* paths of its partial snapshots; NULL: complete */
};

/* One path that was discarded from a layer of a run that stays. */
struct action_part {
	char *kept; /* name in the trash, see upper_discard() */
	char *layer; /* "upper", "upper-2", "home-upper" */
	char *path; /* relative to the layer */
};

/* The base of a root of the run, which the action moved: numbers of snapshots
 * before and after it (session_root.applied, or the base itself). root: 0 is
 * the project, n the n-th additional root, their number the home directory.
 * left: not the base, but session_root.left. */
struct action_base {
	bool left;
	size_t root;
	uint64_t from, to;
};

struct action {
	/* "apply", "restore", "undo", "discard", ACTION_PARTS */
	char *kind;
	char *run_id; /* "": no run */
	char *run_name; /* NULL: the run has none, or an older record */
	char *undone_kind; /* undo: kind of the undone action; else "" or NULL
			    */
	/* Undo: kind of the original action. NULL: unknown, or no undo. */
	char *origin;
	uint64_t undone_before; /* undo: `before` of the undone action */
	bool git; /* a .git was named and included */
	bool complete; /* an apply of all changes of the run */
	/* The project first, also in the record of a discard once loaded. */
	VEC(struct action_root) roots;
	VEC(struct action_part) parts; /* ACTION_PARTS and its undo only */
	VEC(struct action_base) bases; /* an apply and its undo only */
};

#define ACTIONS_MAX 50
/* Kind of an action that discarded paths of a run. */
#define ACTION_PARTS "discard-paths"

/* Frees the texts, roots and parts of the action. */
void action_free(struct action *a);
/* `before` of the project; 0: none. */
uint64_t action_before(const struct action *a);
/* Adds a part; the texts are copied. */
void action_add_part(struct action *a, const char *kept, const char *layer,
		     const char *path);

/* Whether the action discarded a run or paths of a run. Such an action has no
 * snapshots and changed no file of the project. */
bool action_is_discard(const struct action *a);

/* Saves next-action. to: the set of files that become durable together; NULL:
 * the record is durable on return. */
int action_save_next(int workspace_fd, const struct action *a,
		     struct atomic_set *to, struct err *err);
/* Saves the action as the last one; `to` as in action_save_next(). For an undo,
 * removes the undone action from the earlier ones; any other action removes the
 * undone ones, a redo only the one that it repeats. next-action stays. */
int action_save_last(int workspace_fd, const struct action *a,
		     struct atomic_set *to, struct err *err);
/* Removes next-action, without a sync. */
void action_drop_next(int workspace_fd);
/* Removes next-action, unless action_save_last() has failed. Last call for an
 * action, after its run's state was saved. */
void action_close(int workspace_fd, const struct action *a);
/* Whether the action is already saved as the last one. */
bool action_is_last(int workspace_fd, const struct action *a);
/* Whether both are records of the same action. */
bool action_same(const struct action *a, const struct action *b);

/* Load a record; *ret is the caller's to free. -ENOENT: no such record. */
int action_load_next(int workspace_fd, struct action *ret, struct err *err);
int action_load_last(int workspace_fd, struct action *ret, struct err *err);
/* Loads the newest action in effect, or the one `back` actions before it.
 * -ENOENT: no such action. */
int action_load_effective(int workspace_fd, size_t back, struct action *ret,
			  struct err *err);
/* Loads the newest undone action, or the one `back` actions before it: the
 * record of an undo, or of a discard. -ENOENT: no such action. */
int action_load_undone(int workspace_fd, size_t back, struct action *ret,
		       struct err *err);
/* Whether an action of the run is in effect, or (undone) can be redone. A
 * record that cannot be read counts as one. */
bool action_names_run(int workspace_fd, const char *run_id, bool undone);
/* `before` of the first action that the record stands for, in its n-th root; 0:
 * unknown. */
uint64_t action_first(const struct action *a, size_t n);
/* Loads the newest action in effect that changed files: undo needs its
 * snapshots next, whatever discards are newer. -ENOENT: no such action. */
int action_load_prior(int workspace_fd, struct action *ret, struct err *err);

/* Takes the workspace's lock without waiting: no other guard process changes
 * the project's files until the caller closes the returned descriptor. -EBUSY:
 * another guard process holds the lock. */
int action_lock(int workspace_fd, struct err *err);

/*
 * Discard of a run, which becomes the newest action without a change of a file:
 * only the run's directory moves, out of runs/ or (undo) back.
 *
 * Announce the discard, move the directory, finalize: the record then matches
 * the place of the directory, also when the process is killed in between and
 * recover_project() finalizes. The first function returns the workspace's lock;
 * -EBUSY: another guard process holds it.
 */
int action_announce_discard(int workspace_fd, const char *run_id,
			    const char *run_name, struct err *err);
/* Saves or removes the discard that next-action announces, by the place of the
 * run's directory, and removes next-action. -ENOENT: nothing is announced. */
int action_finalize_discard(int workspace_fd, int runs_fd, struct err *err);
/* For a discarded run that the trash no longer has: removes the record of the
 * discard if it is the newest action in effect and the run is not in runs/. */
int action_forget_discard(int workspace_fd, const char *run_id, int runs_fd,
			  struct err *err);

/* Discard of paths of a run's layer (guard/change/partial_discard.h does the
 * rest): add the action as the newest one, or remove it if it is the newest
 * one. */
int action_push_parts(int workspace_fd, const struct action *a,
		      struct err *err);
/* undone: it can be redone. Does nothing when the newest action in effect has
 * other parts. */
int action_pop_parts(int workspace_fd, const struct action *a, bool undone,
		     struct err *err);

#endif
