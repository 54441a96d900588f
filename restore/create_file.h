/*
 * Creation of one new file without a transaction.
 *
 * A transaction needs a dozen syncs, because it changes several names, replaces
 * and removes. One file under a free name needs none of them: the file is
 * written without a name, synced, and linked under its name. After a crash the
 * complete file exists or no file at all.
 */
#ifndef GUARD_RESTORE_CREATE_FILE_H
#define GUARD_RESTORE_CREATE_FILE_H

#include "snapshot/tree/tree.h"

/* Whether create_file_make() may create this entry: a regular file that was
 * stored completely, with no set-id bits and no other property that a plan
 * would refuse or ask about. */
bool create_file_possible(const struct entry *e, const char *name);

/* Creates the file `name` in the directory `dir` (absolute, without symbolic
 * links), which is created when missing. The file is durable on return.
 * -EEXIST: the name exists and is unchanged. */
int create_file_make(struct store *store, const char *dir, const char *name,
		     const struct entry *e, struct err *err);

#endif
