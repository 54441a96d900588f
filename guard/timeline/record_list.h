/*
 * The records of a timeline that say what a path has, sorted by root, path and
 * number.
 */
#ifndef GUARD_TIMELINE_RECORD_LIST_H
#define GUARD_TIMELINE_RECORD_LIST_H

#include "guard/timeline/timeline.h"

struct record_list {
	const struct timeline_record **items; /* borrowed */
	size_t count, capacity;
};

struct record_list record_list_make(const struct timeline *t);
void record_list_free(struct record_list *l);
/* The index of the first record of the next path. */
size_t record_list_next(const struct record_list *l, size_t i);
/* The index of the first record that has the path of the key, and its number or
 * a higher one; else of what would follow. */
size_t record_list_index(const struct record_list *l,
			 const struct timeline_record *key);
/* Whether both are of one path. */
bool record_list_is_path(const struct timeline_record *a,
			 const struct timeline_record *b);

#endif
