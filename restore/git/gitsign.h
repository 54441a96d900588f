/*
 * Whose commit it is: the environment's name and address (GIT_AUTHOR_NAME,
 * GIT_AUTHOR_EMAIL), else those of the repository's configuration, else those
 * of the user's own file below home (NULL: none is asked). Nothing else is
 * read from a configuration, and nothing is signed.
 */
#ifndef GUARD_RESTORE_GIT_GITSIGN_H
#define GUARD_RESTORE_GIT_GITSIGN_H

#include "restore/git/libgit.h"

/* -ENODATA: no name. The result is the caller's, for signature_free(). */
int gitsign_now(git_repository *repo, const char *home, git_signature **ret,
		struct err *err);

#endif
