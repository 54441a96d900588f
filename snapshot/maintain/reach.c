#include "snapshot/maintain/reach.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/vec.h"
#include "snapshot/store/chunklist.h"

/* A directory that is being traversed; only memory limits the depth. */
struct tree_frame {
	struct tree tree;
	size_t next;
	unsigned char *flags;
	size_t path_len;
};

struct tree_frames {
	struct tree_frame *items;
	size_t count, capacity;
};

static void tree_frames_free(struct tree_frames *f)
{
	while (f->count)
		tree_free(&f->items[--f->count].tree);
	free(f->items);
}

/* Flags of the object; NULL: the store has no copy. */
static unsigned char *find_object_flags(const struct inventory *inv,
					const struct oid *id)
{
	const struct copy *copy = inventory_find(inv, id);

	return copy ? inventory_flags(inv, copy) : NULL;
}

/* Marks the object as reached and adds its size; false when it was reached
 * before. */
static bool reach_first(struct inventory *inv, const struct oid *id,
			unsigned char *flags)
{
	if (*flags & COPY_REACHED)
		return false;
	*flags |= COPY_REACHED;
	inv->reached += inventory_cost(inv, inventory_find(inv, id));
	return true;
}

/* Marks an object whose content is not read; true: the object is lost. */
static bool mark_leaf(struct inventory *inv, const struct oid *id)
{
	unsigned char *flags;

	if (id->type == OBJECT_NONE)
		return false;
	flags = find_object_flags(inv, id);
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
	unsigned char *flags = find_object_flags(inv, id);
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

static int load_reached_tree(struct inventory *inv, const struct oid *id,
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

/* Pushes a directory that was not reached before; true: the directory is known
 * to be lost. */
static bool push_tree_frame(struct inventory *inv, const struct oid *id,
			    struct tree_frames *tree_frames)
{
	struct tree_frame f = {0};
	struct err ignored;

	if (id->type == OBJECT_NONE)
		return false;
	f.flags = find_object_flags(inv, id);
	if (!f.flags || id->type != OBJECT_TREE)
		return true;
	if (!reach_first(inv, id, f.flags))
		return *f.flags & COPY_TAINTED;
	if (load_reached_tree(inv, id, &f.tree, &ignored) < 0) {
		*f.flags |= COPY_TAINTED;
		return true;
	}
	*VEC_ADD(tree_frames) = f;
	return false;
}

/* True when the entry is known to be lost. A directory may prove to be lost
 * later; its frame taints the parent then. */
static bool mark_entry(struct inventory *inv, const struct entry *e,
		       struct tree_frames *tree_frames)
{
	bool lost = mark_leaf(inv, &e->attrs);

	if (S_ISDIR(e->mode))
		return push_tree_frame(inv, &e->content, tree_frames) || lost;
	return mark_content(inv, &e->content) || lost;
}

/* Names that are looked up next, at least one for each access to the memory
 * that the processor makes at once. */
#define AHEAD 64

static void prefetch_next_entries(const struct inventory *inv,
				  const struct tree_frame *f)
{
	const struct entry *e = f->tree.entries + f->next;
	size_t count = f->tree.count - f->next, i;

	if (count > AHEAD)
		count = AHEAD;
	for (i = 0; i < count; i++)
		inventory_prefetch_slot(inv, &e[i].content);
	for (i = 0; i < count; i++)
		inventory_prefetch_copy(inv, &e[i].content);
}

/* Whether an object is lost. */
static bool mark_all(struct inventory *inv, const struct entry *root)
{
	AUTO(tree_frames) struct tree_frames tree_frames = {0};
	bool lost;

	if (!root->mode)
		return false;
	lost = mark_entry(inv, root, &tree_frames);
	while (tree_frames.count) {
		size_t depth = tree_frames.count - 1;
		struct tree_frame *f = &tree_frames.items[depth];
		bool tainted;

		if (f->next < f->tree.count) {
			if (f->next % AHEAD == 0)
				prefetch_next_entries(inv, f);
			/* mark_entry() may move the frames. */
			tainted = mark_entry(inv, &f->tree.entries[f->next++],
					     &tree_frames);
			if (tainted)
				*tree_frames.items[depth].flags |= COPY_TAINTED;
			continue;
		}
		tainted = *f->flags & COPY_TAINTED;
		tree_free(&f->tree);
		tree_frames.count = depth;
		if (tainted && depth)
			*tree_frames.items[depth - 1].flags |= COPY_TAINTED;
		lost |= tainted;
	}
	return lost;
}

/* --- affected paths --- */

static bool is_object_tainted(const struct inventory *inv, const struct oid *id)
{
	const unsigned char *flags;

	if (id->type == OBJECT_NONE)
		return false;
	flags = find_object_flags(inv, id);
	return !flags || *flags & COPY_TAINTED;
}

struct lost_report {
	struct inventory *inv;
	struct tree_frames tree_frames;
	struct buf path;
	reach_lost_visit *each;
	void *arg;
};

static int report_lost_entry(struct lost_report *t, const struct entry *e,
			     struct err *err)
{
	struct tree_frame f = {.path_len = t->path.len};
	struct err cause;

	if (is_object_tainted(t->inv, &e->attrs) &&
	    t->each(t->arg, buf_text(&t->path), e,
		    "its extended attributes are lost", err) < 0)
		return -err->num;
	if (!is_object_tainted(t->inv, &e->content))
		return 0;
	if (!S_ISDIR(e->mode))
		return t->each(t->arg, buf_text(&t->path), e,
			       e->content.type == OBJECT_CHUNKLIST
				       ? "parts of its bytes are lost"
				       : "its bytes are lost",
			       err);
	if (e->content.type != OBJECT_TREE ||
	    load_reached_tree(t->inv, &e->content, &f.tree, &cause) < 0)
		return t->each(t->arg, buf_text(&t->path), e,
			       "the directory and its entries are lost", err);
	*VEC_ADD(&t->tree_frames) = f;
	return 0;
}

static int report_lost_entries(struct lost_report *t, const struct entry *root,
			       struct err *err)
{
	if (report_lost_entry(t, root, err) < 0)
		return -err->num;
	while (t->tree_frames.count) {
		struct tree_frame *f =
			&t->tree_frames.items[t->tree_frames.count - 1];
		const struct entry *e;
		bool part;

		t->path.len = f->path_len;
		part = f->tree.split;
		if (f->next == f->tree.count) {
			tree_free(&f->tree);
			t->tree_frames.count--;
			continue;
		}
		e = &f->tree.entries[f->next++];
		if (t->path.len && !part)
			buf_add_char(&t->path, '/');
		if (!part)
			buf_add_text(&t->path, e->name);
		if (report_lost_entry(t, e, err) < 0)
			return -err->num;
	}
	return 0;
}

int reach_check(struct inventory *inv, const struct entry *root,
		reach_lost_visit *each, void *arg, struct err *err)
{
	struct lost_report t = {.inv = inv, .each = each, .arg = arg};
	int got = mark_all(inv, root) ? report_lost_entries(&t, root, err) : 0;

	tree_frames_free(&t.tree_frames);
	buf_free(&t.path);
	return got;
}
