#include "guard/change/partial_snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/path.h"

/* Less is read in no time, and a snapshot of all of it is worth more. */
#define LARGE_PROJECT 2000
/* So many times more things there are than such as are looked at. */
#define PARTIAL_SHARE 8
#define PARTIAL_PATHS_MAX 1000

uint64_t partial_snapshot_max_paths(const struct snapshot *s)
{
	uint64_t entries = s->files + s->dirs;

	if (entries < LARGE_PROJECT || (s->root.flags & ENTRY_INCOMPLETE))
		return 0;
	return entries / PARTIAL_SHARE < PARTIAL_PATHS_MAX
		       ? entries / PARTIAL_SHARE
		       : PARTIAL_PATHS_MAX;
}

struct partial_count {
	uint64_t count, max;
};

/* -E2BIG: it is known that all has to be looked at. */
static int count_partial_path(void *arg, const char *path,
			      const struct entry *e, struct err *err)
{
	struct partial_count *c = arg;

	(void)path;
	/* Other names of a file may be anywhere. */
	if (++c->count > c->max || (e->link_group && S_ISREG(e->mode)))
		return fail(err, E2BIG, "more than some paths");
	return 0;
}

static int compare_partial_paths(const void *a, const void *b)
{
	return path_compare(*(char *const *)a, *(char *const *)b);
}

char **partial_snapshot_paths(const struct restore_target *targets,
			      size_t count)
{
	char **paths = NULL;
	size_t i;

	for (i = 0; i < count; i++)
		mem_list_add(&paths, targets[i].path);
	if (count)
		qsort(paths, count, sizeof(*paths), compare_partial_paths);
	return paths;
}

int partial_snapshot_targets(struct store *store,
			     const struct restore_target *targets, size_t count,
			     char ***ret, struct err *err)
{
	struct partial_count c = {0};
	size_t i;

	*ret = NULL;
	for (i = 0; i < count; i++) {
		const struct restore_target *t = &targets[i];
		int got;

		c.max = partial_snapshot_max_paths(&t->snapshot);
		if (!c.max || !*t->path || path_has_part(t->path, ".git"))
			return 0;
		got = tree_each(store, &t->entry, count_partial_path, &c, err);
		if (got < 0)
			return got == -E2BIG ? 0 : got;
	}
	*ret = partial_snapshot_paths(targets, count);
	return 0;
}
