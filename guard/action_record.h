/*
 * Encoding of an action as a file of the workspace. Version 1 has one root; 2
 * has additional roots or partial snapshots; 3 has parts of a layer in the
 * trash.
 */
#ifndef GUARD_ACTION_RECORD_H
#define GUARD_ACTION_RECORD_H

#include "guard/action.h"

/* Saves the action. to: the set of files that become durable together; NULL:
 * the record is durable on return. */
int action_record_save(int workspace_fd, const char *name,
		       const struct action *a, struct atomic_set *to,
		       struct err *err);
/* Loads the record; *ret is the caller's to free. -ENOENT: no such record. */
int action_record_load(int workspace_fd, const char *name, struct action *ret,
		       struct err *err);

#endif
