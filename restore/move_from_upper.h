/*
 * Wholly new folders that are not made anew: the layer of a run that has ended
 * holds them already, and a rename takes all that is in one of them out of it,
 * whatever it is. docs/transaction.md says why nothing can be lost by that.
 *
 *	move_from_upper_choose()	which folders of a plan are worth it,
 *before anything is done: the caller notes them with the run, for
 *			restore_upper_dir()
 *	move_from_upper_match()	after the survey: what in the layer is, entry by
 *entry, what the plan wants move_from_upper_rename()	while staging
 *
 * What does not match, or cannot be renamed, is staged from the store like all
 * else.
 */
#ifndef GUARD_RESTORE_MOVE_FROM_UPPER_H
#define GUARD_RESTORE_MOVE_FROM_UPPER_H

#include "restore/transaction.h"

struct txn;

/* The new folders of a plan with so much in them that a copy takes its time;
 * NULL-terminated, for mem_list_free(); NULL: none. */
char **move_from_upper_choose(const struct plan *plan);

/* Marks operations as taken, and notes what will be put by its inode. */
void move_from_upper_match(struct txn *t);

/* Into the staging folder, without the layer's marks. What could not be
 * renamed is marked as not taken. *ret_count: how many things were. */
int move_from_upper_rename(struct txn *t, size_t *ret_count, struct err *err);

#endif
