#include "snapshot/store/known.h"

#include <stdlib.h>
#include <sys/stat.h>

static int by_number(const void *a, const void *b)
{
	uint64_t p = ((const struct known_file *)a)->ino,
		 q = ((const struct known_file *)b)->ino;

	return (p > q) - (p < q);
}

void known_sort(struct known_file *list, size_t count)
{
	if (count)
		qsort(list, count, sizeof(*list), by_number);
}

static bool is_same(const struct known_file *k, const struct meta *m)
{
	return k->size == m->size &&
	       timestamp_compare(k->mtime, m->mtime) == 0 &&
	       (!k->ctime.sec || timestamp_compare(k->ctime, m->ctime) == 0);
}

const struct known_file *known_find(const struct known_file *list, size_t count,
				    const struct meta *m)
{
	const struct known_file key = {.ino = m->ino}, *found;

	if (!count || !S_ISREG(m->mode))
		return NULL;
	found = bsearch(&key, list, count, sizeof(key), by_number);
	return found && is_same(found, m) ? found : NULL;
}
