/*
 * A hunk in the user's own editor: $VISUAL, $EDITOR, else what the system has.
 */
#ifndef GUARD_CLI_REVIEW_EDIT_H
#define GUARD_CLI_REVIEW_EDIT_H

#include "restore/git/hunks.h"

/* Until it fits or the user gives up: 1 edited, 0 left as it was, negative.
 * scratch_fd is a folder, scratch its path. */
int review_edit(struct hunks *h, size_t at, int scratch_fd, const char *scratch,
		struct err *err);

#endif
