/*
 * Whose commit it is: the environment's name and address (GIT_AUTHOR_NAME,
 * GIT_AUTHOR_EMAIL), else those of the configuration: the repository's and,
 * after libgit_home(), the user's own, with all that they include. Nothing is
 * signed.
 */
#ifndef GUARD_RESTORE_GIT_GITSIGN_H
#define GUARD_RESTORE_GIT_GITSIGN_H

#include "restore/git/libgit.h"

/* -ENODATA: no name. The result is the caller's, for signature_free(). */
int gitsign_now(git_repository *repo, git_signature **ret, struct err *err);

#endif
