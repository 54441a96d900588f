#include "snapshot/store/ingest_hint.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/vec.h"

static int compare_hint_inodes(const void *a, const void *b)
{
	uint64_t p = ((const struct ingest_hint *)a)->ino,
		 q = ((const struct ingest_hint *)b)->ino;

	return (p > q) - (p < q);
}

void ingest_hint_sort(struct ingest_hint *list, size_t count)
{
	vec_sort(list, count, sizeof(*list), compare_hint_inodes);
}

static bool matches_hint(const struct ingest_hint *k, const struct meta *m)
{
	return k->size == m->size &&
	       timestamp_compare(k->mtime, m->mtime) == 0 &&
	       (!k->ctime.sec || timestamp_compare(k->ctime, m->ctime) == 0);
}

const struct ingest_hint *ingest_hint_find(const struct ingest_hint *list,
					   size_t count, const struct meta *m)
{
	const struct ingest_hint key = {.ino = m->ino}, *found;

	if (!count || !S_ISREG(m->mode))
		return NULL;
	found = bsearch(&key, list, count, sizeof(key), compare_hint_inodes);
	return found && matches_hint(found, m) ? found : NULL;
}
