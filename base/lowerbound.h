/*
 * Where a key is, or would have to be, in a sorted list: what bsearch(3) does
 * not tell of one that is not there.
 */
#ifndef GUARD_BASE_LOWERBOUND_H
#define GUARD_BASE_LOWERBOUND_H

#include <stddef.h>

/*
 * How many of the items come before the key, which is the index of the first
 * that does not; count when all do. Arguments as those of bsearch(3): compare()
 * gets the key first, and is negative when that comes first.
 */
size_t lowerbound(const void *key, const void *items, size_t count, size_t size,
		  int (*compare)(const void *key, const void *item));

#endif
