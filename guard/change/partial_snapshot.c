#include "guard/change/partial_snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/sorted.h"

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
		return fail(err, E2BIG,
			    "too many paths for a partial snapshot");
	return 0;
}

int partial_snapshot_targets(struct store *store,
			     const struct restore_target *targets, size_t count,
			     bool is_new, char ***ret, struct err *err)
{
	bool has_only_paths = targets[0].snapshot.root.flags & ENTRY_INCOMPLETE;
	struct partial_count c = {0};
	size_t i;

	*ret = NULL;
	if (is_new && !has_only_paths)
		return 0;
	for (i = 0; i < count && !has_only_paths; i++) {
		const struct restore_target *t = &targets[i];
		int got;

		c.max = partial_snapshot_max_paths(&t->snapshot);
		if (!c.max || !*t->path || path_has_part(t->path, ".git"))
			return 0;
		got = tree_each(store, &t->entry, count_partial_path, &c, err);
		if (got < 0)
			return got == -E2BIG ? 0 : got;
	}
	for (i = 0; i < count; i++)
		mem_list_add(ret, targets[i].path);
	qsort(*ret, count, sizeof(**ret), sorted_compare_paths);
	return 0;
}
