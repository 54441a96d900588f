/* loss_generated.c: files that tools make again; loss_refs.c: refs of
 * repositories that lose commits. */
#ifndef GUARD_REVIEW_LOSS_PRIVATE_H
#define GUARD_REVIEW_LOSS_PRIVATE_H

#include "guard/review/loss.h"
#include "restore/git/gitcopies.h"

/* Whether tools make the file of the user again: a file that a build makes and
 * git ignores, or for which a build or the source is there; and files in a
 * directory that tools fill. git: the repository, or NULL. */
bool loss_generated(const struct changes_root *root,
		    const struct gitcopies *git, const char *path);
/* Adds the refs that lose commits: of each repository in the root, which is the
 * directory path, of which a file that names commits has changed. */
void loss_refs_judge(const struct view *v, const char *path,
		     struct losses *ret);

#endif
