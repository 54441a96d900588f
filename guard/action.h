/*
 * What was done to a project's files, so that `undo` can take it back. Records
 * in the workspace's folder:
 *
 *	next-action	written before a transaction begins, gone after its end
 *	last-action	the newest; what next-action says becomes it
 *	done-NUMBER	what was done before, the newest has the highest
 *			number; ACTIONS_MAX with the last at most
 *
 * An undo is an action, too: what it took back is no longer in effect, and
 * neither is the undo itself, as long as it is not taken back in turn.
 *
 * A next-action that is found later belongs to a transaction that was ended
 * suddenly: recover_project() settles it. It is removed without a sync, so that
 * after a power cut it may be there again although it is the last one already.
 */
#ifndef GUARD_ACTION_H
#define GUARD_ACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

/* Another folder that was changed along, in the same transaction. */
struct action_root {
	char *path; /* absolute, without links */
	uint64_t before, after, first; /* as the action's own */
	char **only; /* as the action's own */
};

/* One path that was discarded out of the layer of a run that stays. */
struct action_part {
	char *kept; /* its name in the trash, see upper_discard() */
	char *layer; /* "upper", "upper-2", "home-upper" */
	char *path; /* in that layer */
};

struct action {
	/* "apply", "restore", "undo", "discard", ACTION_PARTS */
	char *kind;
	char *run_id; /* "" */
	char *undone_kind; /* of an undo: the kind that it took back; "" */
	uint64_t before, after; /* snapshots; after is 0 in next-action */
	uint64_t undone_before; /* of an undo: `before` of what it took back */
	/* Of an undo: `before` of what was done first of all, which is taken
	 * back, or by an undo of that in effect again; 0: not known. */
	uint64_t first;
	bool git; /* a .git was named, and taken along */
	bool complete; /* an apply of all that the run changed */
	char **only; /* its snapshots are of these paths; NULL: of all */
	struct action_root *others;
	size_t other_count, other_capacity;
	struct action_part *parts; /* of ACTION_PARTS, and of its undo */
	size_t part_count, part_capacity;
};

#define ACTIONS_MAX 50
/* Paths of a run were discarded. */
#define ACTION_PARTS "discard-paths"

void action_free(struct action *a);
/* Of one whose texts are borrowed: what carry_out() has filled in. */
void action_free_roots(struct action *a);
/* One more folder, empty but for its path; holds until the next call. */
struct action_root *action_add_root(struct action *a, const char *path);
void action_add_part(struct action *a, const char *kept, const char *layer,
		     const char *path);

/* Of a run or of paths of one: no snapshot was taken before it, and no file
 * changed. */
bool action_is_discard(const struct action *a);

/* to: the files with which it becomes durable; NULL: it is on return. */
int action_save_next(int workspace_fd, const struct action *a,
		     struct atomic_set *to, struct err *err);
/* Saves it as the last one. What an undo took back is forgotten, and so is an
 * undo that was not itself taken back. next-action stays. */
int action_save_last(int workspace_fd, const struct action *a,
		     struct atomic_set *to, struct err *err);
void action_drop_next(int workspace_fd);
/* The last thing that is done for it, once its run is settled, too: next-action
 * goes away, unless action_save_last() has failed. */
void action_close(int workspace_fd, const struct action *a);
/* It has been saved as the last one already. */
bool action_is_last(int workspace_fd, const struct action *a);
/* One of the two is a record of the other. */
bool action_same(const struct action *a, const struct action *b);

/* -ENOENT: there is none. */
int action_load_next(int workspace_fd, struct action *ret, struct err *err);
int action_load_last(int workspace_fd, struct action *ret, struct err *err);
/* The newest that is in effect, or the one `back` before it. */
int action_load_effective(int workspace_fd, size_t back, struct action *ret,
			  struct err *err);
/* `before` of what is in effect by it, in its n-th folder (0: the action's
 * own); 0: not known. */
uint64_t action_first(const struct action *a, size_t n);
/* The newest in effect that changed files: the next that undo needs snapshots
 * for, whatever stands in front of it. */
int action_load_prior(int workspace_fd, struct action *ret, struct err *err);

/* Nobody else does anything to the project's files until it is closed; -EBUSY
 * while another guard is at work. */
int action_lock(int workspace_fd, struct err *err);

/*
 * A discard stands in front of the others without changing a file: only a
 * run's folder moves, out of runs/ or (undo) back. Announce it, move, settle:
 * the record then says what has happened to the folder, also when settling is
 * left to recover_project() after a sudden end. The first returns the
 * workspace's lock, -EBUSY while another guard is at work.
 */
int action_announce_discard(int workspace_fd, const char *run_id,
			    struct err *err);
int action_finalize_discard(int workspace_fd, int runs_fd, struct err *err);
/* Where the last action is the discard of a run that is nowhere any more. */
int action_forget_discard(int workspace_fd, const char *run_id, int runs_fd,
			  struct err *err);

/* The same of paths out of a run's layer (guard/partial_discard.h does the
 * rest): it comes in front of the others, or is forgotten where it is there. */
int action_push_parts(int workspace_fd, const struct action *a,
		      struct err *err);
int action_pop_parts(int workspace_fd, const struct action *a, struct err *err);
/* Both are about the same things in the trash. */
bool action_same_parts(const struct action *a, const struct action *b);

#endif
