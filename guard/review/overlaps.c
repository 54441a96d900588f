#include "guard/review/overlaps.h"

#include <sys/stat.h>

#include "base/mem.h"
#include "base/path.h"

static void count_overlap(struct overlap *o, const char *path)
{
	if (o->count < ARRAY_SIZE(o->paths))
		o->paths[o->count] = path;
	o->count++;
}

static bool is_deletion(const struct change *c)
{
	return c->kind == CHANGE_DELETED;
}

static bool changes_conflict(const struct change *a, const struct change *b)
{
	if (a->flags & b->flags & CHANGE_GIT)
		return false;
	if (is_deletion(a) || is_deletion(b))
		return is_deletion(a) != is_deletion(b);
	return !S_ISDIR(a->now.mode) || !S_ISDIR(b->now.mode);
}

/* Entries of a directory that the other run deleted, and that its list lacks
 * because they did not exist there. */
static bool is_below_deleted(const struct change *c, const char *gone)
{
	return gone && !is_deletion(c) && !(c->flags & CHANGE_GIT) &&
	       path_below(c->path, gone);
}

void overlaps_find(const struct change_list *a, const struct change_list *b,
		   struct overlap *ret)
{
	const char *gone_a = NULL, *gone_b = NULL;
	size_t i = 0, k = 0;

	*ret = (struct overlap){0};
	while (i < a->count || k < b->count) {
		const struct change *x = i < a->count ? &a->items[i] : NULL;
		const struct change *y = k < b->count ? &b->items[k] : NULL;
		int order = !x ? 1 : !y ? -1 : path_compare(x->path, y->path);

		if (order == 0 && changes_conflict(x, y))
			count_overlap(ret, x->path);
		if (order < 0 && is_below_deleted(x, gone_b))
			count_overlap(ret, x->path);
		if (order > 0 && is_below_deleted(y, gone_a))
			count_overlap(ret, y->path);
		if (order <= 0) {
			if (is_deletion(x) && S_ISDIR(x->old.mode))
				gone_a = x->path;
			i++;
		}
		if (order >= 0) {
			if (is_deletion(y) && S_ISDIR(y->old.mode))
				gone_b = y->path;
			k++;
		}
	}
}
