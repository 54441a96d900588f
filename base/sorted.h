/*
 * Arrays that are sorted by a text in each item: a path, in the order of
 * path_compare(), or a name, in the order of strcmp(3). They are guard's sorted
 * map: filled, sorted once, then searched by binary search.
 *
 *	SORT_BY_PATH(list.items, list.count, path);
 *	struct x *found = FIND_BY_PATH("src/a.c", list.items, list.count, path);
 *
 * The last argument is the member that holds the text (char *). Items with
 * equal texts have no defined order.
 */
#ifndef GUARD_BASE_SORTED_H
#define GUARD_BASE_SORTED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/path.h"

/* Comparison functions for qsort(3) and bsearch(3) over arrays of char *. */
int sorted_compare_paths(const void *a, const void *b);
int sorted_compare_texts(const void *a, const void *b);
/* The same over arrays of uint64_t, or of structs that begin with one. */
int sorted_compare_numbers(const void *a, const void *b);

/* The first item with this number, or NULL; the items, of size bytes, are in
 * the order of sorted_compare_numbers(). */
void *sorted_find_number(uint64_t number, const void *items, size_t count,
			 size_t size);

/* The functions behind the macros: over count items of size bytes, by the char
 * * at offset, in the order of path_compare() or strcmp(3). */
typedef int sorted_order(const char *a, const char *b);
void sorted_sort(void *items, size_t count, size_t size, size_t offset,
		 sorted_order *order);
size_t sorted_index(const char *text, const void *items, size_t count,
		    size_t size, size_t offset, sorted_order *order);
void *sorted_find(const char *text, const void *items, size_t count,
		  size_t size, size_t offset, sorted_order *order);

#define SORTED_ITEMS(items, count, member)                                     \
	(items), (count), sizeof(*(items)),                                    \
		offsetof(__typeof__(*(items)), member)
#define SORT_BY_PATH(items, count, member)                                     \
	sorted_sort(SORTED_ITEMS(items, count, member), path_compare)
#define SORT_BY_TEXT(items, count, member)                                     \
	sorted_sort(SORTED_ITEMS(items, count, member), strcmp)

/* The index of the first item whose text does not come before the given text;
 * count when every item does. */
#define INDEX_BY_PATH(path, items, count, member)                              \
	sorted_index((path), SORTED_ITEMS(items, count, member), path_compare)
#define INDEX_BY_TEXT(text, items, count, member)                              \
	sorted_index((text), SORTED_ITEMS(items, count, member), strcmp)

/* The first item with this text, or NULL. */
#define FIND_BY_PATH(path, items, count, member)                               \
	((__typeof__(&(items)[0]))sorted_find(                                 \
		(path), SORTED_ITEMS(items, count, member), path_compare))
#define FIND_BY_TEXT(text, items, count, member)                               \
	((__typeof__(&(items)[0]))sorted_find(                                 \
		(text), SORTED_ITEMS(items, count, member), strcmp))

#endif
