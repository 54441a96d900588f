/*
 * Edits a hunk in the user's editor: $VISUAL, $EDITOR, else the default of the
 * system.
 */
#ifndef GUARD_CLI_REVIEW_EDIT_H
#define GUARD_CLI_REVIEW_EDIT_H

#include "restore/git/hunks.h"

/* Edits until the hunk applies or the user gives up: 1 edited, 0 unchanged,
 * negative. scratch_fd is a directory, scratch its path. */
int review_edit(struct hunks *h, size_t at, int scratch_fd, const char *scratch,
		struct err *err);

/*
 * The same for a whole text, which the editor gets as it is. 1: *text is the
 * saved text; 0: it did not change. -EINVAL: no text any more.
 */
int review_edit_text(struct buf *text, int scratch_fd, const char *scratch,
		     struct err *err);

#endif
