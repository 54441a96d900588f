/*
 * What git makes of a file's bytes before it keeps them: line ends and $Id$,
 * as attributes and settings say. Programs that would do more (a filter, as
 * those of git-lfs and git-crypt; another encoding) are never run, only named:
 * without them the bytes are not what git would keep, and may be what nobody
 * may see there.
 *
 * The repository must be the user's own: its attributes are read, and with
 * libgit_home() his settings.
 */
#ifndef GUARD_RESTORE_GIT_GITCLEAN_H
#define GUARD_RESTORE_GIT_GITCLEAN_H

#include <stdbool.h>

#include "base/mem.h"
#include "restore/git/libgit.h"

/* To be called first. False: libgit2 cannot read the index (one that is split
 * or sparse), and an empty one stands in for it, which must not be written. */
bool gitclean_begin(const struct libgit *git, git_repository *repo);
/* A filter or an encoding is set for the path, below the work tree's root. */
bool gitclean_by_program(const struct libgit *git, git_repository *repo,
			 const char *path);
/* The bytes of a file in the work tree become those that git keeps. */
int gitclean_bytes(const struct libgit *git, git_repository *repo,
		   const char *path, struct buf *bytes, struct err *err);

#endif
