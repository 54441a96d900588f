/*
 * One new file beside others, without a transaction.
 *
 * A transaction takes a dozen syncs: it has several names to change, and
 * replaces and removes. One file under a name that is free needs none of that:
 * it is made without a name, synced, and given its name, or there is nothing.
 */
#ifndef GUARD_RESTORE_CREATE_FILE_H
#define GUARD_RESTORE_CREATE_FILE_H

#include "snapshot/tree/tree.h"

/* Whether the entry is such a file: a regular one that was read whole, with
 * nothing that a plan would ask about. */
bool create_file_possible(const struct entry *e, const char *name);

/*
 * Makes it in the folder `dir` (absolute, without links), which is made when it
 * is missing. Durable when it returns. -EEXIST: the name is taken, and is left
 * alone.
 */
int create_file_make(struct store *store, const char *dir, const char *name,
		     const struct entry *e, struct err *err);

#endif
