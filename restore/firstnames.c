#include "restore/firstnames.h"

#include <search.h>
#include <stdlib.h>

#include "base/mem.h"

struct first {
	uint64_t group;
	char *path;
};

static int by_group(const void *a, const void *b)
{
	uint64_t x = ((const struct first *)a)->group;
	uint64_t y = ((const struct first *)b)->group;

	return (x > y) - (x < y);
}

const char *firstnames_other(struct firstnames *f, uint64_t group,
			     const char *path)
{
	struct first key = {.group = group}, *made;
	struct first **found = tfind(&key, &f->root, by_group);

	if (found)
		return (*found)->path;
	made = mem_alloc(sizeof(*made));
	*made = (struct first){group, mem_strdup(path)};
	if (!tsearch(made, &f->root, by_group))
		abort();
	return NULL;
}

static void first_free(void *arg)
{
	struct first *first = arg;

	free(first->path);
	free(first);
}

void firstnames_free(struct firstnames *f)
{
	tdestroy(f->root, first_free);
	f->root = NULL;
}
