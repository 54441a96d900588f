/*
 * Finds the repository of a project whose repository is outside of the project:
 * a linked worktree, a submodule, a work tree with a separate git directory. A
 * run gets a layer over the repository too; without the layer, `git commit`
 * would fail in the run.
 */
#ifndef GUARD_OVERLAY_GITDIR_H
#define GUARD_OVERLAY_GITDIR_H

/*
 * The directory that holds objects and refs: absolute, without symbolic links,
 * the caller's to free. NULL when no such directory exists, when it belongs to
 * another user, and when it is inside the project or holds the project. Reads
 * only text files: the project's .git file and the repository's commondir.
 */
char *gitdir_outside(int project_fd, const char *project);

#endif
