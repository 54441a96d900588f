/*
 * An action as a file in the workspace's folder. Version 1 is one of one
 * folder; 2 has others, or paths that alone were looked at; 3 has things of a
 * layer in the trash.
 */
#ifndef GUARD_ACTION_RECORD_H
#define GUARD_ACTION_RECORD_H

#include "guard/action.h"

/* to: the set that it is put into; NULL: durable on return. */
int action_record_save(int workspace_fd, const char *name,
		       const struct action *a, struct atomic_set *to,
		       struct err *err);
/* -ENOENT: there is none. */
int action_record_load(int workspace_fd, const char *name, struct action *ret,
		       struct err *err);

#endif
