#include "guard/change/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/dirtree.h"
#include "base/path.h"
#include "base/sorted.h"
#include "guard/change/apply_log.h"
#include "guard/change/delta.h"
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

static bool is_like_side(const struct change_side *a,
			 const struct change_side *b)
{
	return a->mode == b->mode && a->uid == b->uid && a->gid == b->gid &&
	       (!S_ISREG(a->mode) || a->size == b->size);
}

/* Two entries that are alike are taken for unchanged if their times are equal.
 */
static bool is_timed(const struct change_side *a, const struct change_side *b)
{
	return S_ISDIR(a->mode) || timestamp_compare(a->mtime, b->mtime) == 0;
}

static bool is_as_in_tree(const struct change_side *here, const struct entry *e)
{
	struct change_side was = changes_side(e);

	return is_like_side(here, &was) && is_timed(here, &was);
}

/* Whether only the mtime differs, because a program has written the same bytes
 * again (git checkout). False also when the file cannot be read. */
static bool is_only_touched(const struct changes_root *root, const char *path,
			    const struct change_side *here,
			    const struct entry *e)
{
	auto_close int parent = -1;
	const char *name = path;
	struct err ignored;

	struct change_side was = changes_side(e);

	if (!is_like_side(here, &was))
		return false;
	parent = beneath_parent(root->lower_fd, path, &name, &ignored);
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
	b->side = changes_side(began);
}

/* The old side of a change is the file that the run began with, as in a delta.
 */
static void show_began(struct changes_root *root)
{
	struct change_list *list = &root->list;
	size_t i;

	for (i = 0; i < root->began.count; i++) {
		const struct changes_began *b = &root->began.items[i];
		struct change *c =
			FIND_BY_PATH(b->path, list->items, list->count, path);

		if (!c)
			continue;
		c->old = b->side;
		if (!list->flags_known)
			c->old.chattr = 0;
	}
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
			    !is_only_touched(root, c->path, &c->old, began)
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
		if (is_only_touched(root, c->path, &c->old, &began) &&
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
	    mark_edited(&base, root, err) < 0 ||
	    (apply_log_any(s) &&
	     apply_log_each_base(store, s, index, &query, &base.root,
				 join_applied, root, err) < 0))
		return -err->num;
	show_began(root);
	return 0;
}

/* --- the lists of stored trees --- */

/* The real entry at path; mode 0: none. False: unknown. */
static bool side_here(const struct changes_root *root, const char *path,
		      struct change_side *ret)
{
	const char *name = path;
	struct err why = {0};
	auto_close int parent = -1;
	struct meta m;

	*ret = (struct change_side){0};
	if (*path)
		parent = beneath_parent(root->lower_fd, path, &name, &why);
	if (*path && parent < 0)
		return why.num == ENOENT || why.num == ENOTDIR;
	if (meta_get(*path ? parent : root->lower_fd, name, &m) < 0)
		return errno == ENOENT || errno == ENOTDIR;
	*ret = (struct change_side){
		.mode = m.mode,
		.uid = m.uid,
		.gid = m.gid,
		.size = m.size,
		.mtime = m.mtime,
	};
	return true;
}

/* Whether the real entry differs from the base of the change (now: from the
 * result); true also when it cannot be read. */
static int differs_here(const struct changes_root *root, const struct change *c,
			bool now, struct err *err)
{
	const struct change_side *side = now ? &c->now : &c->old;
	const struct change_side *other = now ? &c->old : &c->now;
	AUTO(entry) struct entry e = {0};
	struct change_side here;
	auto_close int fd = -1;
	bool timed;

	if (!side_here(root, c->path, &here) || !is_like_side(&here, side))
		return 1;
	/* A run can write other bytes and set the old time: then only the bytes
	 * tell one side from the other. */
	timed = is_timed(&here, side) &&
		!(c->kind == CHANGE_MODIFIED && is_like_side(&here, other) &&
		  is_timed(&here, other));
	if (!here.mode || (!(c->flags & CHANGE_ATTRS) && timed))
		return 0;
	if (delta_entry(root->delta, c->path, now, &e, err) < 0)
		return -err->num;
	if (!timed && !is_only_touched(root, c->path, &here, &e))
		return 1;
	if (!(c->flags & CHANGE_ATTRS))
		return 0;
	fd = beneath_open(root->lower_fd, c->path, O_PATH, 0, err);
	return fd < 0 || entry_compare_attrs(root->store, fd, &e, err) <= 0;
}

bool changes_is_edited(const struct changes_root *root, const struct change *c)
{
	struct change_side here;

	return !side_here(root, c->path, &here) ||
	       !is_like_side(&here, &c->old) || !is_timed(&here, &c->old);
}

int changes_drop_present(struct changes_root *root, struct store *store,
			 struct err *err)
{
	struct change_list *list = &root->list;
	size_t kept = 0, i;

	root->store = store;
	for (i = 0; i < list->count; i++) {
		int got = differs_here(root, &list->items[i], true, err);

		if (got < 0)
			return got;
		if (got)
			list->items[kept++] = list->items[i];
	}
	list->count = kept;
	return 0;
}

/* Whether a real directory that the run deleted has an entry that the base
 * lacks. */
static bool has_added_entry(const struct changes_root *root, const char *path)
{
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	auto_close int fd = beneath_open(root->lower_fd, path,
					 O_RDONLY | O_DIRECTORY, 0, &ignored);
	size_t i;

	if (fd < 0 || dirlist_read(fd, &list, &ignored) < 0)
		return false;
	for (i = 0; i < list.count; i++) {
		auto_free char *below = path_join(path, list.items[i].name);
		AUTO(entry) struct entry e = {0};

		if (delta_entry(root->delta, below, false, &e, &ignored) < 0)
			return true;
	}
	return false;
}

static int mark_delta(struct changes_root *root, struct store *store,
		      struct err *err)
{
	size_t i, k;

	root->store = store;
	for (i = 0; i < root->list.count; i++) {
		struct change *c = &root->list.items[i];
		int got = differs_here(root, c, false, err);

		if (got < 0)
			return got;
		if (got)
			c->flags |= CHANGES_EDITED;
		if (c->kind != CHANGE_DELETED || !S_ISDIR(c->old.mode) ||
		    !has_added_entry(root, c->path))
			continue;
		/* All deleted directories around an added entry. */
		for (k = 0; k <= i; k++)
			if (root->list.items[k].kind == CHANGE_DELETED &&
			    path_below(c->path, root->list.items[k].path))
				root->list.items[k].flags |= CHANGES_EDITED;
	}
	return 0;
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
	for (i = 0; i < s->root_count; i++) {
		struct changes_root *root = &changes->roots[i];

		if (root->list.count &&
		    (root->delta ? mark_delta(root, c->store, err)
				 : mark_root(c, s, i, root, err)) < 0)
			return -err->num;
	}
	return 0;
}
