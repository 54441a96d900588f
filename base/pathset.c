#include "base/pathset.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/path.h"

static int compare_pathset_items(const void *a, const void *b)
{
	return path_compare(*(const char *const *)a, *(const char *const *)b);
}

struct pathset pathset_make(const char *const *paths)
{
	struct pathset s = {.all = !paths};
	size_t capacity = 0, kept = 0, i;

	for (; paths && *paths; paths++) {
		GROW(s.items, s.count, capacity);
		s.items[s.count++] = *paths;
	}
	if (s.count)
		qsort(s.items, s.count, sizeof(*s.items),
		      compare_pathset_items);
	/* What is below one comes directly behind it. */
	for (i = 0; i < s.count; i++)
		if (!kept || !path_below(s.items[i], s.items[kept - 1]))
			s.items[kept++] = s.items[i];
	s.count = kept;
	return s;
}

void pathset_free(struct pathset *s)
{
	free(s->items);
	*s = (struct pathset){0};
}

/* How many of them come before path, or are it. */
static size_t count_paths_before(const struct pathset *s, const char *path,
				 bool equal)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = path_compare(s->items[mid], path);

		if (order < 0 || (equal && order == 0))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool pathset_contains(const struct pathset *s, const char *path)
{
	size_t at = s->all ? 0 : count_paths_before(s, path, true);

	return s->all || (at && path_below(path, s->items[at - 1]));
}

bool pathset_has_below(const struct pathset *s, const char *path)
{
	size_t at = s->all ? 0 : count_paths_before(s, path, false);

	return s->all || (at < s->count && path_below(s->items[at], path));
}
