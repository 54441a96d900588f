#include "guard/change/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/path.h"
#include "guard/change/applied_base.h"
#include "guard/change/delta.h"
#include "guard/state/context.h"
#include "overlay/session_base.h"
#include "restore/entry_compare.h"
#include "snapshot/tree/changed_paths.h"

/* Comparing a smaller file is fast. */
#define LARGE (16u << 20)

static bool is_like_side(const struct change_side *a,
			 const struct change_side *b)
{
	return a->mode == b->mode && a->uid == b->uid &&
	       (a->gid == b->gid || changes_group_alone(a, b)) &&
	       (!S_ISREG(a->mode) || a->size == b->size);
}

/* Two entries that are alike are taken for unchanged if their times are equal.
 */
static bool is_timed(const struct change_side *a, const struct change_side *b)
{
	return S_ISDIR(a->mode) || timestamp_compare(a->mtime, b->mtime) == 0;
}

/* 1: the real file has the content of e, 0: another one; -1: only its bytes
 * tell. The snapshot after guard's last action in the directory knows a file
 * with its size and mtime: an undo gives a new mtime, and each command would
 * read the file again. */
static int compare_stored(const struct changes_root *root, const char *path,
			  const struct change_side *here, const struct entry *e)
{
	AUTO(snapshot) struct snapshot last = {0};
	AUTO(entry) struct entry stored = {0};
	struct change_side side;
	struct err ignored;

	if (here->size < LARGE || !root->base.root_path ||
	    changed_paths_find_newest(root->store, root->base.root_path, &last,
				      &ignored) < 0 ||
	    !last.seq || strncmp(last.reason, "post-", 5) != 0 ||
	    strcmp(last.reason, "post-run") == 0 ||
	    tree_lookup(root->store, &last.root, path, &stored, &ignored) <= 0)
		return -1;
	side = changes_side(&stored);
	return is_like_side(here, &side) && is_timed(here, &side)
		       ? entry_same_content(&stored, e)
		       : -1;
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
	int got;

	if (S_ISSOCK(here->mode) || !is_like_side(here, &was))
		return false;
	got = compare_stored(root, path, here, e);
	if (got >= 0)
		return got;
	parent = beneath_parent(root->lower_fd, path, &name, &ignored);
	return parent >= 0 && entry_compare_content(root->store, parent, name,
						    e, &ignored) == 1;
}

/* The real directory of a path. The next path of a list is mostly in the same
 * one, which is opened once then. */
struct real_parent {
	char *path; /* NULL: none yet */
	int fd; /* or a negative errno */
};

static void real_parent_free(struct real_parent *p)
{
	fd_close(&p->fd);
	free(p->path);
}

static int real_parent_of(const struct changes_root *root,
			  struct real_parent *p, const char *path)
{
	auto_free char *parent = path_parent(path);
	struct err ignored;

	if (p->path && strcmp(p->path, parent) == 0)
		return p->fd;
	real_parent_free(p);
	p->path = TAKE(parent);
	p->fd = beneath_open(root->lower_fd, p->path, O_PATH | O_DIRECTORY, 0,
			     &ignored);
	return p->fd;
}

/* The real entry at path; mode 0: none. False: unknown. */
static bool side_here(const struct changes_root *root, struct real_parent *last,
		      const char *path, struct change_side *ret)
{
	int parent = real_parent_of(root, last, path);
	struct meta m;

	*ret = (struct change_side){0};
	if (parent < 0)
		return parent == -ENOENT || parent == -ENOTDIR;
	if (meta_get(parent, path_name(path), &m) < 0)
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
static int differs_here(const struct changes_root *root,
			struct real_parent *last, const struct change *c,
			bool now, struct err *err)
{
	const struct change_side *side = now ? &c->now : &c->old;
	const struct change_side *other = now ? &c->old : &c->now;
	AUTO(entry) struct entry e = {0};
	struct change_side here;
	auto_close int fd = -1;
	bool timed, is_other;

	if (!side_here(root, last, c->path, &here) ||
	    !is_like_side(&here, side))
		return 1;
	is_other = c->kind == CHANGE_MODIFIED && is_like_side(&here, other) &&
		   is_timed(&here, other);
	timed = is_timed(&here, side);
	/* The bytes are those of the other side, and differ. */
	if (is_other && !timed)
		return 1;
	/* A run can write other bytes and set the old time: then only the bytes
	 * tell one side from the other. */
	timed = timed && !is_other;
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
	AUTO(real_parent) struct real_parent parent = {.fd = -1};
	struct change_side here;

	return !side_here(root, &parent, c->path, &here) ||
	       !is_like_side(&here, &c->old) || !is_timed(&here, &c->old);
}

int changes_drop_present(struct changes_root *root, struct store *store,
			 struct err *err)
{
	AUTO(real_parent) struct real_parent parent = {.fd = -1};
	struct change_list *list = &root->list;
	size_t kept = 0, i;

	root->store = store;
	for (i = 0; i < list->count; i++) {
		int got =
			changes_is_gone(root) ||
			differs_here(root, &parent, &list->items[i], true, err);

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
	AUTO(real_parent) struct real_parent parent = {.fd = -1};
	size_t i, k;

	root->store = store;
	for (i = 0; i < root->list.count; i++) {
		struct change *c = &root->list.items[i];
		int got = 0;

		if (!changes_in_trees(root, c->path))
			continue;
		got = differs_here(root, &parent, c, false, err);
		if (got < 0)
			return got;
		if (got ||
		    (c->old.mode && snapshot_moved(&root->base, c->path, true)))
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

/* A list without a delta: its old sides are the real files. */
static int mark_scanned(struct context *c, const struct session *s,
			size_t index, struct changes_root *root,
			struct err *err)
{
	AUTO(snapshot) struct snapshot base = {0};
	size_t i;

	root->store = c->store;
	if (catalog_load(c->store, applied_base_seq(s, index), &base, err) < 0)
		return -err->num;
	for (i = 0; i < root->list.count; i++) {
		struct change *change = &root->list.items[i];
		AUTO(entry) struct entry e = {0};
		struct change_side was;

		if (tree_lookup(c->store, &base.root, change->path, &e, err) <
		    0)
			return -err->num;
		was = changes_side(&e);
		if (!is_like_side(&change->old, &was) ||
		    (e.mode && !is_timed(&change->old, &was) &&
		     !is_only_touched(root, change->path, &change->old, &e)))
			change->flags |= CHANGES_EDITED;
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
	for (i = 0; i < changes->root_count; i++) {
		struct changes_root *root = &changes->roots[i];

		got = 0;
		if (root->delta)
			got = mark_delta(root, c->store, err);
		else if (root->list.count && s->roots[i].base)
			got = mark_scanned(c, s, i, root, err);
		if (got < 0)
			return got;
	}
	return 0;
}
