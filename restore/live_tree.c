#include "restore/live_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/path.h"
#include "base/dirtree.h"
#include "overlay/whiteout.h"
#include "restore/plan/lookup.h"
#include "restore/result.h"
#include "snapshot/walk/take.h"

/* Deeper directories keep their last version: each level takes a descriptor. */
#define DEPTH_MAX 200

struct live_walk {
	struct live_tree *r;
	struct tree_editor *ed;
	struct lookup base;
};

/* A directory of the upper layer. */
struct live_dir {
	int fd;
	const char *path;
	bool opaque; /* entries of base are hidden */
	bool changed; /* since the last version */
	unsigned int depth;
};

static void live_walk_free(struct live_walk *w)
{
	lookup_free(&w->base);
	tree_editor_free(&w->ed);
}

/* Stores one name. 1: stored; 0: deferred to the next version. */
static int store_live_entry(struct live_walk *w, const struct live_dir *at,
			    const char *name, struct entry *ret,
			    struct err *err)
{
	int got = take_entry(w->r->store, at->fd, name, LAYER_XATTR_PREFIX, ret,
			     err);

	if (got == -EBUSY || got == -ENOENT || got == -EACCES ||
	    got == -EPERM || got == -ESTALE)
		return 0;
	return got ? got : 1;
}

static int add_live_file(struct live_walk *w, const struct live_dir *at,
			 const char *name, const char *path,
			 const struct meta *m, const struct entry *last,
			 struct err *err)
{
	AUTO(entry) struct entry e = {0};
	bool bytes = S_ISREG(m->mode);
	int got = 1;

	if (last && !(last->flags & ENTRY_INCOMPLETE) &&
	    last->mode == m->mode && last->uid == m->uid &&
	    last->gid == m->gid && last->size == m->size &&
	    timestamp_compare(last->mtime, m->mtime) == 0 &&
	    timestamp_compare(m->ctime, w->r->since) < 0)
		return 0;
	if (bytes && m->size > w->r->file_max)
		e = (struct entry){
			.mode = m->mode,
			.uid = m->uid,
			.gid = m->gid,
			.mtime = m->mtime,
			.size = m->size,
			.flags = ENTRY_INCOMPLETE,
		};
	else if (bytes && m->size > w->r->read_budget)
		got = 0;
	else
		got = store_live_entry(w, at, name, &e, err);
	if (got <= 0) {
		w->r->deferred += !got;
		return got;
	}
	if (bytes && !(e.flags & ENTRY_INCOMPLETE))
		w->r->read_budget -= m->size < w->r->read_budget
					     ? m->size
					     : w->r->read_budget;
	if (e.link_group)
		e.link_group |= RESULT_GROUP_OF_LAYER;
	return tree_editor_put(w->ed, path, &e, err);
}

static int add_live_children(struct live_walk *w, const struct live_dir *at,
			     struct err *err);

static int add_live_dir(struct live_walk *w, const struct live_dir *at,
			const char *name, const char *path,
			const struct meta *m, const struct entry *last,
			struct err *err)
{
	AUTO(entry) struct entry e = {0};
	auto_close int fd = -1;
	struct live_dir below = {.path = path, .depth = at->depth + 1};
	struct err ignored;
	int got = 1;

	below.changed = !last || !S_ISDIR(last->mode) ||
			timestamp_compare(m->ctime, w->r->since) >= 0;
	fd = beneath_open(at->fd, name, O_RDONLY | O_DIRECTORY | O_NOATIME, 0,
			  &ignored);
	if (fd < 0)
		fd = beneath_open(at->fd, name, O_RDONLY | O_DIRECTORY, 0,
				  &ignored);
	if (fd < 0 || below.depth > DEPTH_MAX) {
		w->r->deferred++;
		return 0;
	}
	below.fd = fd;
	got = opaque_is_set(fd, &ignored);
	below.opaque = at->opaque || got > 0;
	if (below.changed) {
		got = store_live_entry(w, at, name, &e, err);
		/* The kind changed during the read: deferred. */
		if (got <= 0 || !S_ISDIR(e.mode))
			return got < 0 ? got : 0;
		if (last && !S_ISDIR(last->mode) &&
		    tree_editor_remove(w->ed, path, err) < 0)
			return -err->num;
		if (tree_editor_put_dir(w->ed, path, &e, err) < 0)
			return -err->num;
	}
	return add_live_children(w, &below, err);
}

static int add_live_name(struct live_walk *w, const struct live_dir *at,
			 const char *name, const struct entry *last,
			 struct err *err)
{
	auto_free char *path = path_join(at->path, name);
	struct meta m;

	if (meta_get(at->fd, name, &m) < 0)
		return 0; /* deleted during the read */
	if (whiteout_is(&m))
		return last ? tree_editor_remove(w->ed, path, err) : 0;
	return S_ISDIR(m.mode)
		       ? add_live_dir(w, at, name, path, &m, last, err)
		       : add_live_file(w, at, name, path, &m, last, err);
}

/* Handles a name of the last version that the upper does not have: deleted,
 * unless it is an entry of base seen through the layer. */
static int remove_missing_name(struct live_walk *w, const struct live_dir *at,
			       const char *name, struct err *err)
{
	auto_free char *path = path_join(at->path, name);
	AUTO(entry) struct entry e = {0};
	int got = at->opaque ? 0 : lookup_find(&w->base, path, &e, err);

	if (got)
		return got < 0 ? got : 0;
	return tree_editor_remove(w->ed, path, err);
}

static int add_live_children(struct live_walk *w, const struct live_dir *at,
			     struct err *err)
{
	AUTO(dirlist) struct dirlist names = {0};
	AUTO(entry) struct entry last_dir = {0};
	AUTO(tree) struct tree last = {0};
	struct err ignored;
	size_t i;

	if (dirlist_read(at->fd, &names, &ignored) < 0) {
		w->r->deferred++;
		return 0;
	}
	if (tree_lookup(w->r->store, w->r->last, at->path, &last_dir, err) <
		    0 ||
	    (S_ISDIR(last_dir.mode) &&
	     tree_load(w->r->store, &last_dir.content, &last, err) < 0))
		return -err->num;
	for (i = 0; i < names.count; i++)
		if (add_live_name(w, at, names.items[i].name,
				  tree_find(&last, names.items[i].name),
				  err) < 0)
			return -err->num;
	for (i = 0; at->changed && i < last.count; i++)
		if (!dirlist_find(&names, last.entries[i].name) &&
		    remove_missing_name(w, at, last.entries[i].name, err) < 0)
			return -err->num;
	return 0;
}

int live_tree_make(struct live_tree *r, struct entry *ret_root, struct err *err)
{
	AUTO(live_walk)
	struct live_walk w = {
		.r = r,
		.ed = tree_editor_new(r->store, r->last),
		.base = {.store = r->store, .root = r->base},
	};
	struct live_dir top = {.fd = r->upper_fd, .path = "", .changed = true};

	r->deferred = 0;
	if (add_live_children(&w, &top, err) < 0)
		return err_context(err, "store the run's files so far");
	return tree_editor_save(w.ed, ret_root, err);
}
