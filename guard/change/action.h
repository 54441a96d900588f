/*
 * The actions on a project's files, so that `undo` can reverse them. Files of
 * the workspace:
 *
 *	actions		the log: at most ACTIONS_MAX actions, done or undone, in
 *			the order in which they were done or undone last
 *	next-action	written before a transaction, removed after it
 *
 * An action says what it changed: for each root the snapshots before and after
 * it, for each base of the run the numbers before and after it. An undo swaps
 * them, and the action is in the log as undone; a redo swaps them again. Any
 * other action removes the undone ones. The write of the log is the moment at
 * which an action is done.
 *
 * Order of calls, under the workspace's lock: action_announce(), the
 * transaction, action_record(), action_close().
 *
 * A next-action that is found later belongs to a transaction that was killed:
 * recover_project() finalizes it. guard removes next-action without a sync, so
 * after a power cut the file may exist again although the log has the action.
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
	/* Undone or redone by an earlier guard: `before` of the original
	 * action. 0: unknown. */
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
	uint64_t number; /* in the log; 0: not yet announced */
	int64_t time; /* announced then; 0: by an earlier guard */
	/* "apply", "restore", "discard", ACTION_PARTS; "undo" after an undo or
	 * redo, and then origin is the kind before that. */
	char *kind, *origin;
	bool undone; /* `before` and `after` are those of the undo */
	char *run_id; /* "": no run */
	char *run_name; /* NULL: the run has none, or an older record */
	/* In the announcement of an earlier guard's undo: `before` of the
	 * action to undo. */
	uint64_t undone_before;
	bool git; /* a .git was named and included */
	bool complete; /* an apply of all changes of the run */
	/* The project first, also of a discard once loaded. */
	VEC(struct action_root) roots;
	VEC(struct action_part) parts; /* ACTION_PARTS and its undo only */
	VEC(struct action_base) bases; /* an apply and its undo only */
};

#define ACTIONS_MAX 50
/* Kind of an action that discarded paths of a run. */
#define ACTION_PARTS "discard-paths"
/* Kind of an action that put an earlier state into a run: `before` has the
 * states of the run before it, `after` is 0. */
#define ACTION_REWIND "rewind"

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

/* Whether it put an earlier state into a run, or undid that. Its snapshots are
 * of the run, and no file of the project changed. */
bool action_is_rewind(const struct action *a);

/* Numbers a new action. An action without a transaction is recorded next. */
int action_begin(int workspace_fd, struct action *a, struct err *err);
/* Begins the action and writes next-action. to: the set of files that
 * become durable together; NULL: the record is durable on return. */
int action_announce(int workspace_fd, struct action *a, struct atomic_set *to,
		    struct err *err);
/* Puts the action at the end of the log, in place of itself where it is there
 * already (an undo or redo); `to` as in action_announce(). A new one removes
 * the undone ones; a discard that repeats an undone one, only that. next-action
 * stays. */
int action_record(int workspace_fd, const struct action *a,
		  struct atomic_set *to, struct err *err);
/* Removes the action from the log. */
int action_forget(int workspace_fd, const struct action *a, struct err *err);
/* Removes next-action, without a sync. */
void action_drop_next(int workspace_fd);
/* Removes next-action if the log has the action. Last call for an action, after
 * its run's state was saved. */
void action_close(int workspace_fd, const struct action *a);
/* Whether the log has the action in this state. */
bool action_is_recorded(int workspace_fd, const struct action *a);
/* Whether both are the same action in the same state. */
bool action_same(const struct action *a, const struct action *b);

/* Loads the announced action; *ret is the caller's to free. -ENOENT: nothing.
 */
int action_load_next(int workspace_fd, struct action *ret, struct err *err);
/* Loads the newest action in effect, or the one `back` actions before it.
 * -ENOENT: no such action. */
int action_load_effective(int workspace_fd, size_t back, struct action *ret,
			  struct err *err);
/* Loads the action undone last, or the one `back` actions before it. -ENOENT:
 * no such action. */
int action_load_undone(int workspace_fd, size_t back, struct action *ret,
		       struct err *err);
/* Whether an action of the run is in effect, or (undone) can be redone. A
 * record that cannot be read counts as one. */
bool action_names_run(int workspace_fd, const char *run_id, bool undone);
/* `before` of the first action that the record stands for, in its n-th root; 0:
 * unknown. */
uint64_t action_first(const struct action *a, size_t n);
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
/* Records the discard as done or undone that next-action announces, by the
 * place of the run's directory, and removes next-action. -ENOENT: nothing is
 * announced. */
int action_finalize_discard(int workspace_fd, int runs_fd, struct err *err);
/* For a discarded run that the trash no longer has: removes the record of the
 * discard if it is the newest action in effect and the run is not in runs/. */
int action_forget_discard(int workspace_fd, const char *run_id, int runs_fd,
			  struct err *err);

#endif
