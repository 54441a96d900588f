/*
 * A command in an ended run may leave the upper layer unchanged. In this case
 * no snapshot and no sync is needed, and the run's record does not change.
 *
 *	read_only_exec_begin()		before the layers are mounted
 *	read_only_exec_is_unchanged()	after the end of the command
 */
#ifndef GUARD_RUN_READ_ONLY_EXEC_H
#define GUARD_RUN_READ_ONLY_EXEC_H

#include <stdbool.h>

struct change_list;
struct changes;
struct read_only_exec;
struct session;

/* NULL: the run had not ended in order, all has to be looked at anew. */
struct read_only_exec *read_only_exec_begin(const struct session *s);

/*
 * Nothing in the layer is newer than the end before, since when all of it is on
 * disk and in the store; s says when the command began and ended. By a clock
 * that was set back nothing can be told: false, as of NULL.
 */
bool read_only_exec_is_unchanged(const struct read_only_exec *l,
				 const struct session *s,
				 const struct changes *c,
				 const struct change_list *git);

void read_only_exec_free(struct read_only_exec *l);

#endif
