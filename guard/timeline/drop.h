/*
 * Removes contents of a run that is not live, from its spool and from the
 * store (contents.h). The timeline gets a record for each of them, which says
 * why. Killed anywhere, the next call completes it.
 */
#ifndef GUARD_TIMELINE_DROP_H
#define GUARD_TIMELINE_DROP_H

#include "guard/timeline/contents.h"

/* The contents that go are an array as long as the timeline: true at the
 * records that first had them. */

/* The contents that thinning removes: of each path the longest-standing one of
 * each minute stays, the last one before each emptying or deletion, and the
 * last one of all. To free. Pure. */
bool *drop_thin(const struct timeline *t);
/* Adds the contents that the path, relative to the root, or a path below it
 * ever had, and those of the paths from which and to which these files were
 * renamed. gone: as long as the timeline, and one more. Pure. */
void drop_path(const struct timeline *t, size_t root, const char *path,
	       bool *gone);

/*
 * Drops those of the contents that are kept, and leaves only them in gone; kind
 * and text are those of the records. message: of the snapshot. c is open for
 * the run, whose lock the caller has if it has a directory. Returns the number
 * of contents; dry: of those that would be dropped.
 */
int drop_contents(struct contents *c, bool *gone, enum timeline_kind kind,
		  const char *text, const char *message, bool dry,
		  struct err *err);

#endif
