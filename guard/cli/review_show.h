/*
 * A review on paper: what there is, item by item, everything escaped.
 */
#ifndef GUARD_CLI_REVIEW_SHOW_H
#define GUARD_CLI_REVIEW_SHOW_H

#include "guard/changes.h"
#include "guard/review/review.h"

/* Who ran what, where and when, and how many changes there are. */
void review_show_head(const struct session *s, const struct review *r);
/* What goes, what is dangerous or runs later, and what is left out. most: so
 * many lines of each, 0: all. */
void review_show_first(const struct session *s, struct review *r,
		       const struct changes *c, size_t most);
/* All other items, a line each; their texts are counted. */
void review_show_rest(struct review *r);
/* The deletions and what is dangerous alone. */
void review_show_risky(struct review *r, size_t most);

/* "!! runs at make": how bad it is and why, a line; path may be NULL. */
void review_show_risk(const struct risk *risk, const char *indent,
		      const char *path);
/* "  M  src/a.c  +12 -3": appended. */
void review_show_line(struct review *r, struct review_item *item,
		      struct buf *to);
/* "old -> new  2 KB  92 % alike": a pair of a move, appended. */
void review_show_pair(const struct review *r, const struct review_item *item,
		      size_t pair, struct buf *to);
/* All that is dangerous in it, a line each. */
void review_show_risks(const struct review *r, const struct review_item *item,
		       const char *indent);
struct change review_show_change(const struct review_entry *e);

/* review_show_item.c: */

/* "3/14  M  src/a.c  +12 -3" with a rule, and what is to be known of it. */
void review_show_title(struct review *r, size_t item);
/* The text of one part, at most so many lines (0: all). */
void review_show_part(struct review *r, struct review_item *item, size_t part,
		      size_t most);
/* What a part is called in a question: "this hunk", "this deletion". */
const char *review_show_part_name(const struct review *r,
				  const struct review_item *item, size_t part);

#endif
