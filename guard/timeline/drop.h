/*
 * Removes contents of a run that is not live, from its spool and from the
 * store (contents.h). The timeline gets a record for each of them, which says
 * why. Killed anywhere, the next call completes it.
 */
#ifndef GUARD_TIMELINE_DROP_H
#define GUARD_TIMELINE_DROP_H

#include "guard/timeline/contents.h"

/* Numbers of contents, ascending, each once. */
struct drop_list {
	uint64_t *items;
	size_t count, capacity;
};

/* The contents that thinning removes: of each path the longest-standing one of
 * each minute stays, the last one before each emptying or deletion, and the one
 * that it has at the end. Pure. */
void drop_list_thin(const struct timeline *t, struct drop_list *ret);
/* The contents that the path, relative to the root, or a path below it ever
 * had, and those of the paths from which and to which these files were
 * renamed. Pure. */
void drop_list_path(const struct timeline *t, size_t root, const char *path,
		    struct drop_list *ret);
void drop_list_free(struct drop_list *list);

/*
 * Drops those of the listed contents that are kept; kind and text are those of
 * the records. message: of the snapshot. c is open for the run, whose lock the
 * caller has if it has a directory. Returns the number of contents; dry: of
 * those that would be dropped.
 */
int drop_contents(struct contents *c, const struct drop_list *list,
		  enum timeline_kind kind, const char *text,
		  const char *message, bool dry, struct err *err);

#endif
