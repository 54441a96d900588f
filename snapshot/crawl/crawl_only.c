#include "snapshot/crawl/crawl_only.h"

#include <string.h>

#include "base/auto.h"
#include "base/path.h"

enum only {
	ONLY_NOT, /* of no interest */
	ONLY_BELOW, /* something in it is wanted */
	ONLY_ALL, /* it is wanted, with all below */
};

/* What is wanted of a path whose folder is on the way to something. */
static enum only find(const struct crawl *w, const char *path)
{
	size_t low = 0, high = w->only_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (path_compare(w->only[middle], path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == w->only_count || !path_below(w->only[low], path))
		return ONLY_NOT;
	return strcmp(w->only[low], path) == 0 ? ONLY_ALL : ONLY_BELOW;
}

bool crawl_only_way(const struct crawl *w, const struct crawl_folder *f,
		    const char *name)
{
	auto_free char *path = f->way ? crawl_path(f, name) : NULL;

	return path && find(w, path) == ONLY_BELOW;
}

void crawl_only_keep(const struct crawl *w, struct crawl_folder *f)
{
	size_t kept = 0, i;

	for (i = 0; i < f->list.count; i++) {
		auto_free char *path = crawl_path(f, f->list.items[i].name);

		if (find(w, path) != ONLY_NOT)
			f->list.items[kept++] = f->list.items[i];
	}
	f->list.count = kept;
	f->incomplete = true;
}
