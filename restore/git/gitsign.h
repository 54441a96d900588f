/* The author of a commit: name and address of the environment (GIT_AUTHOR_NAME,
 * GIT_AUTHOR_EMAIL), else of the configuration: the repository's and, after
 * libgit_home(), the user's with all included files. Commits are not signed. */
#ifndef GUARD_RESTORE_GIT_GITSIGN_H
#define GUARD_RESTORE_GIT_GITSIGN_H

#include "restore/git/libgit.h"

/* -ENODATA: no name. The caller frees the result with signature_free(). */
int gitsign_now(git_repository *repo, git_signature **ret, struct err *err);

#endif
