#include "guard/timeline/record_list.h"

#include <string.h>

#include "base/vec.h"

static int compare_records(const void *pa, const void *pb)
{
	const struct timeline_record *a =
		*(const struct timeline_record *const *)pa;
	const struct timeline_record *b =
		*(const struct timeline_record *const *)pb;
	int order = (a->root > b->root) - (a->root < b->root);

	order = order ? order : strcmp(a->path, b->path);
	return order ? order
		     : (a->number > b->number) - (a->number < b->number);
}

struct record_list record_list_make(const struct timeline *t)
{
	struct record_list l = {0};
	size_t i;

	for (i = 0; i < t->count; i++)
		if (timeline_is_state(&t->items[i]))
			*VEC_ADD(&l) = &t->items[i];
	VEC_SORT(&l, compare_records);
	return l;
}

void record_list_free(struct record_list *l)
{
	VEC_FREE(l);
}

bool record_list_is_path(const struct timeline_record *a,
			 const struct timeline_record *b)
{
	return a->root == b->root && strcmp(a->path, b->path) == 0;
}

size_t record_list_next(const struct record_list *l, size_t i)
{
	size_t next = i + 1;

	while (next < l->count &&
	       record_list_is_path(l->items[next], l->items[i]))
		next++;
	return next;
}

size_t record_list_index(const struct record_list *l,
			 const struct timeline_record *key)
{
	size_t low = 0, high = l->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare_records(&l->items[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}
