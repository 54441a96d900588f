/*
 * Paths that somebody has named, to be asked of each of many others whether it
 * is meant: by halves, because he may have named thousands. All in one form,
 * as for path_below().
 */
#ifndef GUARD_BASE_PATHSET_H
#define GUARD_BASE_PATHSET_H

#include <stdbool.h>
#include <stddef.h>

struct pathset {
	bool all; /* nothing was named: everything is meant */
	/* In the order of path_compare(); none lies below another. */
	const char **items;
	size_t count, capacity;
};

/* Of a NULL-terminated list, whose texts must live as long; NULL stands for
 * everything. */
struct pathset pathset_make(const char *const *paths);
void pathset_free(struct pathset *s);

/* Whether it is one of them or lies below one. */
bool pathset_contains(const struct pathset *s, const char *path);
/* Of one that it does not hold: whether one of them lies below it. */
bool pathset_has_below(const struct pathset *s, const char *path);

#endif
