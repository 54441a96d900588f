#include "base/sorted.h"

#include <stdlib.h>

struct sort_key {
	sorted_order *order;
	size_t offset;
};

int sorted_compare_paths(const void *a, const void *b)
{
	return path_compare(*(const char *const *)a, *(const char *const *)b);
}

int sorted_compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int sorted_compare_numbers(const void *a, const void *b)
{
	uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;

	return (p > q) - (p < q);
}

void *sorted_find_number(uint64_t number, const void *items, size_t count,
			 size_t size)
{
	char *all = (char *)(uintptr_t)items;
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sorted_compare_numbers(all + middle * size, &number) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	all += low * size;
	return low < count && !sorted_compare_numbers(all, &number) ? all
								    : NULL;
}

static const char *text_at(const void *item, size_t offset)
{
	return *(const char *const *)((const char *)item + offset);
}

static int compare_items(const void *a, const void *b, void *key)
{
	const struct sort_key *k = key;

	return k->order(text_at(a, k->offset), text_at(b, k->offset));
}

void sorted_sort(void *items, size_t count, size_t size, size_t offset,
		 sorted_order *order)
{
	struct sort_key key = {order, offset};
	const char *at = items;
	size_t i = 1;

	/* Lists that were kept are in order. */
	for (; i < count && compare_items(at, at + size, &key) <= 0; i++)
		at += size;
	if (i < count)
		qsort_r(items, count, size, compare_items, &key);
}

size_t sorted_index(const char *text, const void *items, size_t count,
		    size_t size, size_t offset, sorted_order *order)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *item = (const char *)items + middle * size;

		if (order(text, text_at(item, offset)) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void *sorted_find(const char *text, const void *items, size_t count,
		  size_t size, size_t offset, sorted_order *order)
{
	size_t at = sorted_index(text, items, count, size, offset, order);
	char *item = (char *)(uintptr_t)items + at * size;

	return at < count && order(text, text_at(item, offset)) == 0 ? item
								     : NULL;
}
