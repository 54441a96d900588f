#include "guard/change/changes.h"

#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/path.h"
#include "base/sorted.h"
#include "guard/change/apply_log.h"
#include "guard/state/context.h"
#include "restore/entry_compare.h"
#include "restore/workspace.h"

struct edited_join {
	const struct snapshot *base;
	struct change_list *list;
	size_t next;
};

/* Both sides have the same order: a path that the base skips does not exist in
 * it. */
static void skip_to_path(struct edited_join *j, const char *path)
{
	for (; j->next < j->list->count; j->next++) {
		struct change *c = &j->list->items[j->next];

		if (path && path_compare(c->path, path) >= 0)
			return;
		if (c->old.mode)
			c->flags |= CHANGES_NOT_BASE;
	}
}

static bool is_same_but_time(const struct change_side *here,
			     const struct entry *e)
{
	return here->mode == e->mode && here->uid == e->uid &&
	       here->gid == e->gid &&
	       (!S_ISREG(here->mode) || here->size == e->size);
}

static bool is_as_in_tree(const struct change_side *here, const struct entry *e)
{
	return is_same_but_time(here, e) &&
	       (S_ISDIR(here->mode) ||
		timestamp_compare(here->mtime, e->mtime) == 0);
}

/* Whether only the mtime differs, because a program has written the same bytes
 * again (git checkout). False also when the file cannot be read. */
static bool is_only_touched(const struct changes_root *root,
			    const struct change *c, const struct entry *e)
{
	auto_close int parent = -1;
	const char *name = c->path;
	struct err ignored;

	if (!is_same_but_time(&c->old, e))
		return false;
	parent = beneath_parent(root->lower_fd, c->path, &name, &ignored);
	return parent >= 0 && entry_compare_content(root->store, parent, name,
						    e, &ignored) == 1;
}

static int join_entry(void *arg, const char *path, const struct entry *e,
		      struct err *err)
{
	struct edited_join *j = arg;
	struct change *c;

	(void)err;
	skip_to_path(j, path);
	if (j->next == j->list->count)
		return 0;
	c = &j->list->items[j->next];
	if (path_compare(c->path, path) != 0)
		return 0;
	j->next++;
	if (!is_as_in_tree(&c->old, e) || snapshot_moved(j->base, path, true))
		c->flags |= CHANGES_NOT_BASE;
	return 0;
}

int changes_edited_compare(struct store *store, const struct snapshot *base,
			   struct changes_root *root, struct err *err)
{
	struct edited_join j = {.base = base, .list = &root->list};

	if (root->compared)
		return 0;
	if (tree_each(store, &base->root, join_entry, &j, err) < 0)
		return -err->num;
	skip_to_path(&j, NULL);
	root->compared = true;
	return 0;
}

/* The base of a modified file, for changes_read(). */
static void keep_began(struct changes_root *root, const struct change *c,
		       const struct entry *began)
{
	size_t at = INDEX_BY_PATH(c->path, root->began.items, root->began.count,
				  path);
	struct changes_began *b =
		at < root->began.count ? &root->began.items[at] : NULL;

	if (!began || !S_ISREG(began->mode) || !S_ISREG(c->old.mode) ||
	    c->kind != CHANGE_MODIFIED || began->size > CHANGES_READ_MAX ||
	    began->flags & ENTRY_INCOMPLETE)
		return;
	if (!b || strcmp(b->path, c->path) != 0) {
		(void)VEC_ADD(&root->began);
		b = &root->began.items[at];
		memmove(b + 1, b, (root->began.count - 1 - at) * sizeof(*b));
		b->path = mem_strdup(c->path);
	}
	b->content = began->content;
}

/* An applied version is the base of the run's change, as long as the file is
 * as it was applied. */
static int join_applied(void *arg, const char *path, const struct entry *began,
			struct err *err)
{
	struct changes_root *root = arg;
	struct change_list *list = &root->list;
	struct change *c = FIND_BY_PATH(path, list->items, list->count, path);

	(void)err;
	if (!c)
		return 0;
	c->flags &= ~CHANGES_EDITED;
	if (began ? !is_as_in_tree(&c->old, began) &&
			    !is_only_touched(root, c, began)
		  : c->old.mode)
		c->flags |= CHANGES_EDITED;
	keep_began(root, c, began);
	return 0;
}

static int mark_edited(const struct snapshot *base, struct changes_root *root,
		       struct err *err)
{
	size_t i;

	for (i = 0; i < root->list.count; i++) {
		struct change *c = &root->list.items[i];
		AUTO(entry) struct entry began = {0};

		if (!(c->flags & CHANGES_NOT_BASE))
			continue;
		if (tree_lookup(root->store, &base->root, c->path, &began,
				err) < 0)
			return -err->num;
		if (is_only_touched(root, c, &began) &&
		    !snapshot_moved(base, c->path, true))
			continue;
		c->flags |= CHANGES_EDITED;
		if (c->kind == CHANGE_MODIFIED)
			keep_began(root, c, &began);
	}
	return 0;
}

static int mark_root(struct context *c, const struct session *s, size_t index,
		     struct changes_root *root, struct err *err)
{
	struct store *store = c->store;
	AUTO(snapshot) struct snapshot base = {0};
	auto_close int workspace_fd = workspace_open(
		c->state.workspaces_fd, s->roots[index].path, false, err);
	const struct apply_log_query query = {
		.lower_fd = root->lower_fd,
		.workspace_fd = workspace_fd,
	};

	root->store = store;
	if (catalog_load(store, s->roots[index].base, &base, err) < 0 ||
	    changes_edited_compare(store, &base, root, err) < 0 ||
	    mark_edited(&base, root, err) < 0)
		return -err->num;
	return apply_log_any(s) ? apply_log_each_base(store, s, index, &query,
						      &base.root, join_applied,
						      root, err)
				: 0;
}

int changes_edited_mark(struct context *c, struct session *s,
			struct changes *changes, struct err *err)
{
	int got = session_base(s, false, err);
	size_t i;

	if (got <= 0)
		return got;
	if (context_store(c, STORE_READ, err) < 0)
		return -err->num;
	for (i = 0; i < s->root_count; i++)
		if (changes->roots[i].list.count &&
		    mark_root(c, s, i, &changes->roots[i], err) < 0)
			return -err->num;
	return 0;
}
