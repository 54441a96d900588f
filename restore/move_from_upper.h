/*
 * Renaming of new directories out of the upper layer of an ended run.
 *
 * A completely new directory exists in the upper already, so a rename moves it
 * into the staging directory, whatever its size, and no copy is made.
 * docs/transaction.md explains why no data can be lost.
 *
 *	move_from_upper_choose()	before the transaction: selects
 *directories; the caller records them for restore_upper_dir()
 *	move_from_upper_match()	after preflight: compares the upper with the
 *				plan, entry by entry
 *	move_from_upper_rename()	during staging
 *
 * A large file of the upper is cloned (FICLONE), where the file system can.
 *
 * Directories that do not match, or cannot be renamed, are staged from the
 * store.
 */
#ifndef GUARD_RESTORE_MOVE_FROM_UPPER_H
#define GUARD_RESTORE_MOVE_FROM_UPPER_H

#include "restore/transaction.h"

struct op;
struct txn;

/* The new directories of a plan that have enough entries to make a copy slow:
 * NULL-terminated, for mem_list_free(). NULL: none. */
char **move_from_upper_choose(const struct plan *plan);

/* Sets op.from_upper and op.new_ino of the operations that can come from the
 * upper. Never fails: the other operations stay as they are. */
void move_from_upper_match(struct txn *t);

/* Renames the matched directories into the staging directory and removes
 * overlayfs's xattrs. A directory that could not be renamed loses
 * op.from_upper. *ret_count: number of moved entries. */
int move_from_upper_rename(struct txn *t, size_t *ret_count, struct err *err);

/* Whether the plan creates or replaces a file of which a copy takes long. */
bool move_from_upper_wants_clone(const struct plan *plan);
/* Gives an empty file the content of op->to from the upper, without a copy:
 * the two share the blocks. False: the upper has another content, or the file
 * system shares no blocks; the file is still empty. */
bool move_from_upper_clone(const struct txn *t, const struct op *op, int fd);

#endif
