/*
 * The directories of a repository, by the text files and links that git
 * follows from a work tree: .git is a directory, a link to one, or a file with
 * its path (linked worktrees, submodules, --separate-git-dir); the file
 * commondir of a linked worktree names the directory with objects and refs.
 * Neither git nor a library opens the repository.
 */
#ifndef GUARD_RESTORE_GIT_GITDIR_H
#define GUARD_RESTORE_GIT_GITDIR_H

#include "restore/git/gittips.h"

struct gitdir {
	char *own; /* HEAD, index, logs/HEAD of the work tree */
	char *common; /* objects, refs; own, unless the worktree is linked */
	/* objects is a link to this directory; NULL: it is none */
	char *objects;
};

/* Sets *ret to absolute paths without symbolic links. false: the work tree has
 * no .git that leads to a directory. */
bool gitdir_find(const char *project, struct gitdir *ret);
void gitdir_free(struct gitdir *d);

/* Reads HEAD and the commit that it is at, "" where that is unknown. false: it
 * cannot be read. */
bool gitdir_head(const struct gitdir *d, struct githead *ret);
/* The path of the repository in the project, to free; NULL: it is .git, or
 * elsewhere. */
char *gitdir_below(const char *project);
/* Whether the repository has no work tree but linked ones. git: d->common. */
bool gitdir_is_bare(const char *git);
/* Whether a plain git push pushes the branch ("refs/heads/main"): the
 * repository's configuration names a branch of the same name in a remote. */
bool gitdir_has_upstream(const struct gitdir *d, const char *branch);

#endif
