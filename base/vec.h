/*
 * Growing arrays. VEC(struct x) declares one, as a member or a variable. All
 * zero is the empty array. A struct with the members items, count and capacity
 * works, too:
 *
 *	VEC(struct change) list = {0};
 *	*VEC_ADD(&list) = (struct change){.path = path};
 *	VEC_SORT(&list, compare_changes);
 *	VEC_FREE(&list);
 *
 * The array owns the memory of its items, not the memory that items point to.
 * An item's address is valid until the next VEC_ADD.
 */
#ifndef GUARD_BASE_VEC_H
#define GUARD_BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define VEC(type)                                                              \
	struct {                                                               \
		type *items;                                                   \
		size_t count, capacity;                                        \
	}

/* Appends an item of zero bytes and returns its address. */
#define VEC_ADD(vec)                                                           \
	({                                                                     \
		__typeof__(vec) vec_ = (vec);                                  \
		if (vec_->count == vec_->capacity) {                           \
			vec_->capacity =                                       \
				vec_->capacity ? vec_->capacity * 2 : 16;      \
			vec_->items = mem_resize(vec_->items, vec_->capacity,  \
						 sizeof(*vec_->items));        \
		}                                                              \
		memset(&vec_->items[vec_->count], 0, sizeof(*vec_->items));    \
		&vec_->items[vec_->count++];                                   \
	})

/* Sorts with a comparison function of qsort(3). */
#define VEC_SORT(vec, compare)                                                 \
	vec_sort((vec)->items, (vec)->count, sizeof(*(vec)->items), (compare))

/* Frees the array, not the memory that its items own, and leaves it empty. */
#define VEC_FREE(vec)                                                          \
	do {                                                                   \
		free((vec)->items);                                            \
		(vec)->items = NULL;                                           \
		(vec)->count = (vec)->capacity = 0;                            \
	} while (0)

/* The function behind VEC_SORT. */
static inline void vec_sort(void *items, size_t count, size_t size,
			    int (*compare)(const void *a, const void *b))
{
	const char *item = items;
	size_t i;

	/* Lists are often in order already. */
	for (i = 1; i < count; i++, item += size)
		if (compare(item, item + size) > 0)
			break;
	/* qsort(3) must not get NULL. */
	if (i < count)
		qsort(items, count, size, compare);
}

#endif
