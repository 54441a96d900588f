/*
 * The last thing that was done to a project's files, so that `undo` can take
 * it back. Two records in the workspace's folder:
 *
 *	next-action	written before a transaction begins
 *	last-action	what undo goes by; next-action becomes it at the end
 *
 * A next-action that is found later belongs to a transaction that was ended
 * suddenly: context_recover() settles it.
 */
#ifndef GUARD_ACTION_H
#define GUARD_ACTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct action {
	char *kind; /* "apply", "restore", "undo", "discard" */
	char *run_id; /* "" */
	char *undoes; /* of an undo: the kind that it took back; "" */
	uint64_t before, after; /* snapshots; after is 0 in next-action */
	bool git; /* a .git was named, and taken along */
	bool whole; /* an apply of all that the run changed */
};

void action_free(struct action *a);

int action_save_next(int workspace_fd, const struct action *a, struct err *err);
/* Saves it as the last one; next-action goes away. */
int action_save_last(int workspace_fd, const struct action *a, struct err *err);
void action_drop_next(int workspace_fd);

/* -ENOENT: there is none. */
int action_load_next(int workspace_fd, struct action *ret, struct err *err);
int action_load_last(int workspace_fd, struct action *ret, struct err *err);
/* The one that a discard stands in front of. */
int action_load_prior(int workspace_fd, struct action *ret, struct err *err);

/*
 * A discard stands in front of the last action without replacing it: once it
 * is taken back by action_pop_discard(), that one is the last again.
 */
int action_push_discard(int workspace_fd, const struct action *a,
			struct err *err);
int action_pop_discard(int workspace_fd, struct err *err);

#endif
