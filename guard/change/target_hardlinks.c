#include "guard/change/target_hardlinks.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"

struct target_hardlinks {
	struct store *store;
	const struct entry *now;
	const char *path; /* of the target */
	struct tree_editor *ed;
	uint64_t *groups; /* sorted */
	size_t count, capacity;
};

static void target_hardlinks_free(struct target_hardlinks *p)
{
	free(p->groups);
}

static int compare_link_groups(const void *a, const void *b)
{
	uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;

	return (p > q) - (p < q);
}

static int add_target_group(void *arg, const char *path, const struct entry *e,
			    struct err *err)
{
	struct target_hardlinks *p = arg;

	(void)path;
	(void)err;
	if (!e->link_group || !S_ISREG(e->mode))
		return 0;
	GROW(p->groups, p->count, p->capacity);
	p->groups[p->count++] = e->link_group;
	return 0;
}

static int add_outside_link(void *arg, const char *path, const struct entry *e,
			    struct err *err)
{
	struct target_hardlinks *p = arg;
	AUTO(entry) struct entry now = {0};
	int got;

	if (!e->link_group || !S_ISREG(e->mode) || path_below(path, p->path) ||
	    !bsearch(&e->link_group, p->groups, p->count, sizeof(*p->groups),
		     compare_link_groups))
		return 0;
	got = tree_lookup(p->store, p->now, path, &now, err);
	if (got <= 0)
		return got;
	if (!entry_same_content(&now, e) || !entry_same_meta(&now, e))
		return 0;
	now.link_group = e->link_group;
	return tree_editor_put(p->ed, path, &now, err);
}

int target_hardlinks_add(struct store *store, const struct entry *now,
			 const struct entry *stored, const char *path,
			 const struct entry *target, struct tree_editor *ed,
			 struct err *err)
{
	AUTO(target_hardlinks)
	struct target_hardlinks p = {
		.store = store,
		.now = now,
		.path = path,
		.ed = ed,
	};

	if (tree_each(store, target, add_target_group, &p, err) < 0)
		return -err->num;
	if (!p.count)
		return 0;
	qsort(p.groups, p.count, sizeof(*p.groups), compare_link_groups);
	return tree_each(store, stored, add_outside_link, &p, err);
}
