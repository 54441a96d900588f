/*
 * Where the repository of a project lies when it is not in it: of a linked
 * worktree, a submodule, a work tree with a separate git folder. A run gets a
 * layer over that folder too, or nothing could be committed in it.
 */
#ifndef GUARD_OVERLAY_GITDIR_H
#define GUARD_OVERLAY_GITDIR_H

/*
 * The folder that holds objects and refs, absolute, without links, to free.
 * NULL: there is no such folder, it is not this user's, or lies in the project
 * or around it. Reads text only: the project's .git file, and the repository's
 * commondir.
 */
char *gitdir_outside(int project_fd, const char *project);

#endif
