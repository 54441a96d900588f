#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"

typedef int text_order(const char *a, const char *b);

struct sort_key {
	text_order *order;
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

static void sort_items(void *items, size_t count, size_t size, size_t offset,
		       text_order *order)
{
	struct sort_key key = {order, offset};

	if (count > 1)
		qsort_r(items, count, size, compare_items, &key);
}

void sorted_sort_by_path(void *items, size_t count, size_t size, size_t offset)
{
	sort_items(items, count, size, offset, path_compare);
}

void sorted_sort_by_text(void *items, size_t count, size_t size, size_t offset)
{
	sort_items(items, count, size, offset, strcmp);
}

static size_t find_index(const char *text, const void *items, size_t count,
			 size_t size, size_t offset, text_order *order)
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

size_t sorted_path_index(const char *path, const void *items, size_t count,
			 size_t size, size_t offset)
{
	return find_index(path, items, count, size, offset, path_compare);
}

size_t sorted_text_index(const char *text, const void *items, size_t count,
			 size_t size, size_t offset)
{
	return find_index(text, items, count, size, offset, strcmp);
}

static void *find_item(const char *text, const void *items, size_t count,
		       size_t size, size_t offset, text_order *order)
{
	size_t at = find_index(text, items, count, size, offset, order);
	char *item = (char *)(uintptr_t)items + at * size;

	return at < count && order(text, text_at(item, offset)) == 0 ? item
								     : NULL;
}

void *sorted_find_path(const char *path, const void *items, size_t count,
		       size_t size, size_t offset)
{
	return find_item(path, items, count, size, offset, path_compare);
}

void *sorted_find_text(const char *text, const void *items, size_t count,
		       size_t size, size_t offset)
{
	return find_item(text, items, count, size, offset, strcmp);
}
