/* A set of paths that the user named, for the question whether another path
 * belongs to it. Binary search, because a user may name thousands. All paths
 * have one form, as for path_below(). */
#ifndef GUARD_BASE_PATHSET_H
#define GUARD_BASE_PATHSET_H

#include <stdbool.h>
#include <stddef.h>

struct pathset {
	bool all; /* no path was named: every path belongs to the set */
	/* in the order of path_compare(); no path lies below another */
	const char **items;
	size_t count, capacity;
};

/* Makes the set of a NULL-terminated list; NULL stands for every path. The
 * texts must live as long as the set. */
struct pathset pathset_make(const char *const *paths);

/* Frees the array, not the texts, and empties the set. */
void pathset_free(struct pathset *s);

/* Whether the path is in the set or below a path of the set. */
bool pathset_contains(const struct pathset *s, const char *path);
/* Whether a path of the set lies below this path, which is not in the set
 * itself. */
bool pathset_has_below(const struct pathset *s, const char *path);

#endif
