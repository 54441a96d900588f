/*
 * The bytes that git stores for a file: line endings and $Id$, according to
 * attributes and settings. Programs are named but never run (a filter such as
 * git-lfs or git-crypt; another encoding): without them the bytes differ from
 * those that git would store, and may be secret.
 *
 * The repository must belong to the user: its attributes are read, and after
 * libgit_home() the user's settings.
 */
#ifndef GUARD_RESTORE_GIT_GITCLEAN_H
#define GUARD_RESTORE_GIT_GITCLEAN_H

#include <stdbool.h>

#include "base/mem.h"
#include "restore/git/libgit.h"
#include "snapshot/tree/entry.h"

/* git's mode of an entry; 0: none, or a kind that git does not store. */
uint32_t gitclean_mode(const struct entry *e);
/* Appends the bytes of a file or the target of a link; nothing for others. */
int gitclean_read(struct store *store, const struct entry *e, struct buf *to,
		  struct err *err);
/* Turns CR LF into LF. */
void gitclean_drop_returns(struct buf *bytes);

/* Must be called first. False: libgit2 cannot read the index (split or sparse),
 * and an empty index replaces it in memory, which must not be written. */
bool gitclean_begin(const struct libgit *git, git_repository *repo);
/* Whether a filter or an encoding is set for the path, relative to the work
 * tree's root. */
bool gitclean_by_program(const struct libgit *git, git_repository *repo,
			 const char *path);
/* Converts the bytes of a file in the work tree to those that git stores. */
int gitclean_bytes(const struct libgit *git, git_repository *repo,
		   const char *path, struct buf *bytes, struct err *err);

#endif
