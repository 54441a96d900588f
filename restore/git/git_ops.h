/*
 * The operations of the parsing worker that use libgit2, see
 * restore/parse/parse.h. All libgit2 on bytes of a run runs in git_ops.c, all
 * checks of its answers in textdiff.c, textmerge.c, gitpatch.c and similar.c.
 *
 * Answers, with the numbers of base/codec.h:
 *
 *	diff	u8: 1 a side is not text, else 0. Then u32 hunks; each: vars
 *		old_at, old_count, new_at, new_count (lines before it, lines in
 *		it); bytes: the text of git's hunk header behind the numbers;
 *		var runs; each: var count << 2 | kind (DIFF_*)
 *	merge	u8: 1 without a conflict, else 0. Then the text
 *	binary	the body of a binary patch, from "GIT binary patch" on
 *	similar	u8 percent
 *	sign	u32: the text's number, from 0 on; u8: 1 if it has a signature
 *	compare	u8 percent of each pair
 */
#ifndef GUARD_RESTORE_GIT_GIT_OPS_H
#define GUARD_RESTORE_GIT_GIT_OPS_H

#include "restore/parse/parse.h"

enum { DIFF_CONTEXT, DIFF_ADDED, DIFF_DELETED };

/* Loads libgit2 while files can be opened. Without libgit2 each operation
 * reports that it is missing. */
void git_ops_load(void);

/* old, now, u32 context */
int git_ops_diff(const struct parse_text *in, struct buf *ret, struct err *err);
/* base, ours, theirs; texts our_label, their_label and var marker: 0, or the
 * length of the markers of conflicts with three sides */
int git_ops_merge(const struct parse_text *in, struct buf *ret,
		  struct err *err);
/* old, now */
int git_ops_binary(const struct parse_text *in, struct buf *ret,
		   struct err *err);
int git_ops_similar(const struct parse_text *in, struct buf *ret,
		    struct err *err);
/* text, u32 number (0: all earlier signatures are dropped) */
int git_ops_sign(const struct parse_text *in, struct buf *ret, struct err *err);
/* pairs of u32 numbers */
int git_ops_compare(const struct parse_text *in, struct buf *ret,
		    struct err *err);

#endif
