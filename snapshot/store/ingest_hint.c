#include "snapshot/store/ingest_hint.h"

#include <sys/stat.h>

#include "base/sorted.h"
#include "base/vec.h"

void ingest_hint_sort(struct ingest_hint *list, size_t count)
{
	vec_sort(list, count, sizeof(*list), sorted_compare_numbers);
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
	const struct ingest_hint *found;

	if (!count || !S_ISREG(m->mode))
		return NULL;
	found = sorted_find_number(m->ino, list, count, sizeof(*list));
	return found && matches_hint(found, m) ? found : NULL;
}
