/*
 * The text part of `guard diff`: what changed within files, escaped.
 */
#ifndef GUARD_CLI_DIFFTEXT_H
#define GUARD_CLI_DIFFTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "guard/changes.h"

/*
 * Prints the difference of one change on stdout: files as hunks, symbolic links
 * as their targets; nothing for directories, deletions and the like. One line
 * stands for content that cannot be shown (binary, too large, unreadable).
 */
void difftext_print(const struct change *c, const struct changes_root *root);

/* The same of a move, with what git says of one; nothing when the bytes are
 * the same. */
void difftext_print_move(const struct change_move *m,
			 const struct changes_root *root);

struct difftext_stat {
	size_t added, removed;
	bool text; /* false: no text, or not read */
};
/* The counted lines; for a deleted file its lines. */
void difftext_count(const struct change *c, const struct changes_root *root,
		    struct difftext_stat *ret);
void difftext_count_move(const struct change_move *m,
			 const struct changes_root *root,
			 struct difftext_stat *ret);

#endif
