#include "base/pathset.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/sorted.h"
#include "base/vec.h"

struct pathset pathset_make(const char *const *paths)
{
	struct pathset s = {.all = !paths};
	size_t kept = 0, i;

	for (; paths && *paths; paths++) {
		*VEC_ADD(&s) = *paths;
	}
	VEC_SORT(&s, sorted_compare_paths);
	/* Paths below another path follow it directly. */
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

static size_t find_pathset_index(const struct pathset *s, const char *path)
{
	return sorted_index(path, s->items, s->count, sizeof(*s->items), 0,
			    path_compare);
}

bool pathset_contains(const struct pathset *s, const char *path)
{
	size_t at = s->all ? 0 : find_pathset_index(s, path);

	return s->all || (at < s->count && strcmp(s->items[at], path) == 0) ||
	       (at && path_below(path, s->items[at - 1]));
}

bool pathset_has_below(const struct pathset *s, const char *path)
{
	size_t at = s->all ? 0 : find_pathset_index(s, path);

	return s->all || (at < s->count && path_below(s->items[at], path));
}
