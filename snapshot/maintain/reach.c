#include "snapshot/maintain/reach.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "snapshot/store/chunklist.h"

/* A folder that is being gone through; depth is bounded by memory only. */
struct frame {
	struct tree tree;
	size_t next;
	unsigned char *flags;
	size_t path_len;
};

struct frames {
	struct frame *items;
	size_t count, capacity;
};

static void frames_free(struct frames *f)
{
	while (f->count)
		tree_free(&f->items[--f->count].tree);
	free(f->items);
}

/* NULL: there is no copy at all. */
static unsigned char *name_flags(const struct inventory *inv,
				 const struct oid *id)
{
	const struct copy *copy = inventory_find(inv, id, NULL);

	return copy ? inventory_flags(inv, copy) : NULL;
}

/* True when nobody has been at this name before. */
static bool reach_first(struct inventory *inv, const struct oid *id,
			unsigned char *flags)
{
	if (*flags & COPY_REACHED)
		return false;
	*flags |= COPY_REACHED;
	inv->reached += inventory_cost(inv, inventory_find(inv, id, NULL));
	return true;
}

/* One that is not read; true: lost. */
static bool mark_leaf(struct inventory *inv, const struct oid *id)
{
	unsigned char *flags;

	if (id->type == OBJECT_NONE)
		return false;
	flags = name_flags(inv, id);
	if (!flags)
		return true;
	if (reach_first(inv, id, flags) && !inventory_has(inv, id))
		*flags |= COPY_TAINTED;
	return *flags & COPY_TAINTED;
}

static bool mark_chunks(struct inventory *inv, const struct oid *id)
{
	AUTO(chunklist) struct chunklist list = {0};
	AUTO(buf) struct buf bytes = {0};
	unsigned char *flags = name_flags(inv, id);
	struct err ignored;
	bool lost = false;
	size_t i;

	if (!flags)
		return true;
	if (!reach_first(inv, id, flags))
		return *flags & COPY_TAINTED;
	if (inventory_read(inv, id, &bytes, &ignored) < 0 ||
	    chunklist_decode(bytes.data, bytes.len, &list, &ignored) < 0)
		lost = true;
	for (i = 0; i < list.count; i++) {
		if (!list.runs[i].hole)
			lost |= mark_leaf(inv, &list.runs[i].id);
	}
	if (lost)
		*flags |= COPY_TAINTED;
	return lost;
}

static bool mark_content(struct inventory *inv, const struct oid *id)
{
	return id->type == OBJECT_CHUNKLIST ? mark_chunks(inv, id)
					    : mark_leaf(inv, id);
}

static int load_tree(struct inventory *inv, const struct oid *id,
		     struct tree *ret, struct err *err)
{
	AUTO(buf) struct buf bytes = {0};

	if (id->type == OBJECT_NONE) {
		*ret = (struct tree){0};
		return 0;
	}
	if (inventory_read(inv, id, &bytes, err) < 0)
		return -err->num;
	return tree_decode(bytes.data, bytes.len, ret, err);
}

/* Goes into a folder when nobody was there; true: it is known to be lost. */
static bool enter(struct inventory *inv, const struct oid *id,
		  struct frames *frames)
{
	struct frame f = {0};
	struct err ignored;

	if (id->type == OBJECT_NONE)
		return false;
	f.flags = name_flags(inv, id);
	if (!f.flags || id->type != OBJECT_TREE)
		return true;
	if (!reach_first(inv, id, f.flags))
		return *f.flags & COPY_TAINTED;
	if (load_tree(inv, id, &f.tree, &ignored) < 0) {
		*f.flags |= COPY_TAINTED;
		return true;
	}
	GROW(frames->items, frames->count, frames->capacity);
	frames->items[frames->count++] = f;
	return false;
}

/* True when the entry is lost as far as is known now: a folder may turn out
 * to be later, and then taints the one that it lies in by itself. */
static bool mark_entry(struct inventory *inv, const struct entry *e,
		       struct frames *frames)
{
	bool lost = mark_leaf(inv, &e->attrs);

	if (S_ISDIR(e->mode))
		return enter(inv, &e->content, frames) || lost;
	return mark_content(inv, &e->content) || lost;
}

int reach_mark(struct inventory *inv, const struct entry *root)
{
	AUTO(frames) struct frames frames = {0};
	bool lost;

	if (!root->mode)
		return 0;
	lost = mark_entry(inv, root, &frames);
	while (frames.count) {
		size_t depth = frames.count - 1;
		struct frame *f = &frames.items[depth];
		bool tainted;

		if (f->next < f->tree.count) {
			/* It may move the frames. */
			tainted = mark_entry(inv, &f->tree.entries[f->next++],
					     &frames);
			if (tainted)
				*frames.items[depth].flags |= COPY_TAINTED;
			continue;
		}
		tainted = *f->flags & COPY_TAINTED;
		tree_free(&f->tree);
		frames.count = depth;
		if (tainted && depth)
			*frames.items[depth - 1].flags |= COPY_TAINTED;
		lost |= tainted;
	}
	return lost;
}

/* --- who suffers --- */

static bool oid_tainted(const struct inventory *inv, const struct oid *id)
{
	const unsigned char *flags;

	if (id->type == OBJECT_NONE)
		return false;
	flags = name_flags(inv, id);
	return !flags || *flags & COPY_TAINTED;
}

struct telling {
	struct inventory *inv;
	struct frames frames;
	struct buf path;
	int (*each)(void *arg, const char *path, const struct entry *e,
		    const char *why, struct err *err);
	void *arg;
};

static int tell(struct telling *t, const struct entry *e, struct err *err)
{
	struct frame f = {.path_len = t->path.len};
	struct err odd;

	if (oid_tainted(t->inv, &e->attrs) &&
	    t->each(t->arg, buf_text(&t->path), e,
		    "its extended attributes are lost", err) < 0)
		return -err->num;
	if (!oid_tainted(t->inv, &e->content))
		return 0;
	if (!S_ISDIR(e->mode))
		return t->each(t->arg, buf_text(&t->path), e,
			       e->content.type == OBJECT_CHUNKLIST
				       ? "parts of its bytes are lost"
				       : "its bytes are lost",
			       err);
	if (e->content.type != OBJECT_TREE ||
	    load_tree(t->inv, &e->content, &f.tree, &odd) < 0)
		return t->each(t->arg, buf_text(&t->path), e,
			       "the folder with all that was in it is lost",
			       err);
	GROW(t->frames.items, t->frames.count, t->frames.capacity);
	t->frames.items[t->frames.count++] = f;
	return 0;
}

static int tell_all(struct telling *t, const struct entry *root,
		    struct err *err)
{
	if (tell(t, root, err) < 0)
		return -err->num;
	while (t->frames.count) {
		struct frame *f = &t->frames.items[t->frames.count - 1];
		const struct entry *e;
		bool part;

		t->path.len = f->path_len;
		part = f->tree.split;
		if (f->next == f->tree.count) {
			tree_free(&f->tree);
			t->frames.count--;
			continue;
		}
		e = &f->tree.entries[f->next++];
		if (t->path.len && !part)
			buf_add_char(&t->path, '/');
		if (!part)
			buf_add_text(&t->path, e->name);
		if (tell(t, e, err) < 0)
			return -err->num;
	}
	return 0;
}

int reach_lost(struct inventory *inv, const struct entry *root,
	       int (*each)(void *arg, const char *path, const struct entry *e,
			   const char *why, struct err *err),
	       void *arg, struct err *err)
{
	struct telling t = {.inv = inv, .each = each, .arg = arg};
	int got = root->mode ? tell_all(&t, root, err) : 0;

	frames_free(&t.frames);
	buf_free(&t.path);
	return got;
}
