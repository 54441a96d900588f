/*
 * The paths that no run may see: guard's state, the file of its settings, and
 * guard's own files in the destinations of backups that this machine knows, see
 * guard/state/backups.h. No snapshot has the first and the last of them.
 */
#ifndef GUARD_STATE_PRIVATE_PATHS_H
#define GUARD_STATE_PRIVATE_PATHS_H

#include "guard/state/state.h"

/*
 * NULL-terminated, for mem_list_free(): absolute paths, the state first. A
 * destination that cannot be read now has none; if it does not answer, a
 * warning says so. project: NULL: for snapshots, which store a destination's
 * directory and files of the user in it; else for a run of this project: the
 * second path is that of the settings, and a destination that has only files of
 * guard is one path, unless the project is in there.
 */
char **private_paths_list(const struct state *state, const char *project);

#endif
