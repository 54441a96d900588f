/*
 * A review as styled lines, item by item. Functions with a buffer append the
 * text of such a line.
 */
#ifndef GUARD_CLI_REVIEW_SHOW_H
#define GUARD_CLI_REVIEW_SHOW_H

#include "guard/change/changes.h"
#include "guard/cli/styled.h"
#include "guard/review/review.h"

/* The user, command, directory and time of the run, and the number of changes.
 */
void review_show_head(const struct session *s, const struct review *r,
		      struct styled *to);
/* The deletions, the dangerous changes and those that are executed later, and
 * the excluded ones. most: the lines of each, 0: all. */
void review_show_first(const struct session *s, struct review *r,
		       const struct changes *c, size_t most, struct styled *to);
/* All other items, a line each; their texts are counted. */
void review_show_rest(struct review *r, struct styled *to);
/* Only the deletions and the dangerous changes. */
void review_show_risky(struct review *r, size_t most, struct styled *to);

/* "  M  src/a.c  +12 -3": appended. */
void review_show_line(struct review *r, struct review_item *item,
		      struct buf *to);
/* "old -> new  2 KB  92 % alike": a pair of a move, appended. */
void review_show_pair(const struct review *r, const struct review_item *item,
		      size_t pair, struct buf *to);
/* "  3 deleted, 2 added, 12 KB": of a directory with entries, appended. */
void review_show_group(const struct review *r, const struct review_item *item,
		       struct buf *to);
/* The letter of an item: D T M P A, or R for a move. */
char review_show_letter(const struct review *r, const struct review_item *item);
/* "M  src/a.c  2 KB -> 3 KB": of one path, appended. */
void review_show_entry(const struct review_entry *e, struct buf *to);
/* All risks of an item, a line each. */
void review_show_risks(const struct review *r, const struct review_item *item,
		       const char *indent, struct styled *to);

/* review_show_item.c: */

/* "3/14 M src/a.c +12 -3" with a rule, and the notes on the item. */
void review_show_title(struct review *r, struct review_item *it, size_t number,
		       size_t count, struct styled *to);
/* The text of one part, at most so many lines (0: all). Returns the number of
 * those that were left out. */
size_t review_show_part(struct review *r, struct review_item *item, size_t part,
			size_t most, struct styled *to);
/* The name of a part in a question: "this hunk", "this deletion". */
const char *review_show_part_name(const struct review *r,
				  const struct review_item *item, size_t part);

#endif
