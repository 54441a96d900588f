#include "base/lowerbound.h"

size_t lowerbound(const void *key, const void *items, size_t count, size_t size,
		  int (*compare)(const void *key, const void *item))
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(key, (const char *)items + middle * size) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
