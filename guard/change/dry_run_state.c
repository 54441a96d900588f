#include "guard/change/dry_run_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/path.h"
#include "snapshot/tree/tree.h"

void dry_run_state_free(struct dry_run_state *t)
{
	size_t i;

	for (i = 0; i < t->count; i++) {
		free(t->items[i].dir);
		free(t->items[i].path);
		entry_free(&t->items[i].to);
	}
	free(t->items);
	*t = (struct dry_run_state){0};
}

void dry_run_state_add(struct dry_run_state *t, const char *dir,
		       const struct plan *plan)
{
	size_t i;

	for (i = 0; i < plan->steps.count; i++) {
		struct dry_run_change *change;

		GROW(t->items, t->count, t->capacity);
		change = &t->items[t->count++];
		*change = (struct dry_run_change){
			.dir = mem_strdup(dir),
			.path = mem_strdup(plan->steps.items[i].path),
		};
		entry_copy(&change->to, &plan->steps.items[i].to);
	}
}

static bool was_path_read(const char *path, char *const *only)
{
	if (!only)
		return true;
	for (; *only; only++)
		if (path_below(path, *only) || path_below(*only, path))
			return true;
	return false;
}

static int put_dry_run_change(struct tree_editor *ed,
			      const struct dry_run_change *t, struct err *err)
{
	int got;

	if (!t->to.mode)
		got = tree_editor_remove(ed, t->path, err);
	else if (S_ISDIR(t->to.mode))
		got = tree_editor_put_dir(ed, t->path, &t->to, err);
	else
		got = tree_editor_put(ed, t->path, &t->to, err);
	return got == -ENOTDIR ? 0 : got;
}

int dry_run_state_apply(const struct dry_run_state *t, struct store *store,
			const char *dir, char *const *only, struct entry *now,
			struct err *err)
{
	struct tree_editor *ed = tree_editor_new(store, now);
	struct entry root = {0};
	int got = 0;
	size_t i;

	for (i = 0; i < t->count && got >= 0; i++)
		if (strcmp(t->items[i].dir, dir) == 0 &&
		    was_path_read(t->items[i].path, only))
			got = put_dry_run_change(ed, &t->items[i], err);
	if (got >= 0)
		got = tree_editor_save(ed, &root, err);
	tree_editor_free(&ed);
	if (got < 0)
		return got;
	entry_free(now);
	*now = root;
	return 0;
}
