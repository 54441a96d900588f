/*
 * A project that the user has renamed keeps its runs, actions and versions.
 *
 * Records name a project by its path. A workspace also has the identity of the
 * directory at that path and of its .git (workspace_dir): inode and birth time,
 * which stay with a directory when it or a directory above it is renamed, and
 * which no copy has. When a command finds no workspace for its directory, or
 * one of another directory, it looks for the workspace with this identity whose
 * own path leads elsewhere by now, and writes the new path into all records.
 * Content is no identity: clones share it.
 *
 * The last step of this is the workspace's own record, so that a killed command
 * is finished by the next one.
 */
#ifndef GUARD_STATE_MOVED_PROJECT_H
#define GUARD_STATE_MOVED_PROJECT_H

#include "guard/state/state.h"

/*
 * Looks whether the project, or a directory above it, was renamed, and takes
 * over its records with a note. Where the file system tells no birth time, only
 * a hint names the project that the directory may have been. The workspace has
 * the identity of the present directory then. Errors are notes: the command
 * goes on with the records of the path.
 */
void moved_project_find(const struct state *st, const char *project);

/*
 * Takes over the records of the project `from` for the directory `to`, whatever
 * its identity: both absolute, without links; both may be the same path, at
 * which another directory is by now. *ret_text, to free: the numbers of runs
 * and snapshots. -ENOENT: guard knows no such project; -EEXIST: it is still
 * there; -EBUSY: a run is going on in it.
 */
int moved_project_take(const struct state *st, const char *from, const char *to,
		       char **ret_text, struct err *err);

#endif
