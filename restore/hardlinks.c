#include "restore/hardlinks.h"

#include <search.h>
#include <stdlib.h>

#include "base/mem.h"

struct first {
	uint64_t group;
	char *path;
};

static int compare_hardlink_groups(const void *a, const void *b)
{
	uint64_t x = ((const struct first *)a)->group;
	uint64_t y = ((const struct first *)b)->group;

	return (x > y) - (x < y);
}

const char *hardlinks_first(struct hardlinks *f, uint64_t group,
			    const char *path)
{
	struct first key = {.group = group}, *made;
	struct first **found = tfind(&key, &f->root, compare_hardlink_groups);

	if (found)
		return (*found)->path;
	made = mem_alloc(sizeof(*made));
	*made = (struct first){group, mem_strdup(path)};
	if (!tsearch(made, &f->root, compare_hardlink_groups))
		abort();
	return NULL;
}

static void free_first_name(void *arg)
{
	struct first *first = arg;

	free(first->path);
	free(first);
}

void hardlinks_free(struct hardlinks *f)
{
	tdestroy(f->root, free_first_name);
	f->root = NULL;
}
