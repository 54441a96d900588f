#include "snapshot/tree/differences.h"

#include <stdlib.h>

void differences_free(struct differences *d)
{
	size_t i;

	for (i = 0; i < d->count; i++) {
		free(d->items[i].path);
		entry_free(&d->items[i].a);
		entry_free(&d->items[i].b);
	}
	free(d->items);
	*d = (struct differences){0};
}

void differences_add(struct differences *d, const char *path,
		     const struct entry *a, const struct entry *b)
{
	struct difference *to;

	GROW(d->items, d->count, d->capacity);
	to = &d->items[d->count++];
	*to = (struct difference){.path = mem_strdup(path)};
	if (a)
		entry_copy(&to->a, a);
	if (b)
		entry_copy(&to->b, b);
}

int differences_each(const struct differences *d,
		     int (*each)(void *arg, const char *path,
				 const struct entry *a, const struct entry *b,
				 struct err *err),
		     void *arg, struct err *err)
{
	size_t i;

	for (i = 0; i < d->count; i++) {
		const struct difference *x = &d->items[i];
		int got = each(arg, x->path, x->a.mode ? &x->a : NULL,
			       x->b.mode ? &x->b : NULL, err);

		if (got < 0)
			return got;
	}
	return 0;
}
