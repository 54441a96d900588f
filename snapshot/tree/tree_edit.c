#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"
#include "snapshot/tree/tree.h"

/*
 * An entry; when it is a loaded directory also its entries. A changed node has
 * only changed nodes above it.
 */
struct node {
	struct entry entry;
	bool opened, changed;
	/* Sorted by name's bytes. All free capacity is in one gap: edits come
	 * in order, and an edit in a directory of a million names must not move
	 * all of them. */
	struct node *nodes;
	size_t count, capacity, gap;
};

/* A directory on the way to the last path; its own path ends there. */
struct open_place {
	struct node *node;
	size_t end;
};

struct tree_editor {
	struct store *store;
	struct node root;
	char *last; /* argument of the last tree_editor_move_to() */
	/* The directories on the way to the last path: the next path is often
	 * near it. No element outlives a change of the node that holds it. */
	char *path;
	VEC(struct open_place) open;
};

/* A stack on the heap instead of recursion: the depth comes from disk. */
struct save_step {
	struct node *node;
	size_t next;
};

struct save_steps {
	struct save_step *items;
	size_t count, capacity;
};

static void save_steps_free(struct save_steps *s)
{
	free(s->items);
}

static void push_save_step(struct save_steps *s, struct node *node)
{
	VEC_ADD(s)->node = node;
}

/* The i-th node in sorted order. */
static struct node *node_child(const struct node *node, size_t i)
{
	return &node->nodes[i < node->gap ? i
					  : i + node->capacity - node->count];
}

static void move_node_gap(struct node *node, size_t to)
{
	size_t gap = node->gap, behind = gap + node->capacity - node->count;
	struct node *nodes = node->nodes;

	if (to < gap)
		memmove(&nodes[behind - (gap - to)], &nodes[to],
			(gap - to) * sizeof(*nodes));
	else if (to > gap)
		memmove(&nodes[gap], &nodes[behind],
			(to - gap) * sizeof(*nodes));
	node->gap = to;
}

/* Frees the node's contents and entry, not the node itself. */
static void free_node(struct node *node)
{
	AUTO(save_steps) struct save_steps save_steps = {0};

	push_save_step(&save_steps, node);
	while (save_steps.count) {
		struct save_step *top = &save_steps.items[save_steps.count - 1];

		if (top->next < top->node->count) {
			push_save_step(&save_steps,
				       node_child(top->node, top->next++));
			continue;
		}
		entry_free(&top->node->entry);
		free(top->node->nodes);
		*top->node = (struct node){0};
		save_steps.count--;
	}
}

struct tree_editor *tree_editor_new(struct store *s, const struct entry *root)
{
	struct tree_editor *ed = mem_zalloc(sizeof(*ed));

	ed->store = s;
	entry_copy(&ed->root.entry, root);
	if (!ed->root.entry.name)
		ed->root.entry.name = mem_strdup("");
	return ed;
}

void tree_editor_free(struct tree_editor **ed)
{
	if (!*ed)
		return;
	free_node(&(*ed)->root);
	free((*ed)->last);
	free((*ed)->path);
	VEC_FREE(&(*ed)->open);
	free(*ed);
	*ed = NULL;
}

/* Index of name, or the index where it belongs; true when found. */
static bool find_node_child(const struct node *node, const char *name,
			    size_t *ret)
{
	size_t low = 0, high = node->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strcmp(node_child(node, mid)->entry.name, name);

		if (order == 0) {
			*ret = mid;
			return true;
		}
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*ret = low;
	return false;
}

/* Length of the common directory part of both paths, in bytes. */
static size_t common_dir_len(const char *a, const char *b)
{
	size_t len = 0;

	while (a[len] && a[len] == b[len])
		len++;
	return len;
}

static int open_node(struct tree_editor *ed, struct node *node, struct err *err)
{
	AUTO(tree) struct tree t = {0};
	size_t i;

	if (node->opened)
		return 0;
	if (tree_load(ed->store, &node->entry.content, &t, err) < 0)
		return -err->num;
	node->nodes = mem_resize(NULL, t.count, sizeof(*node->nodes));
	node->count = node->capacity = node->gap = t.count;
	for (i = 0; i < t.count; i++) {
		node->nodes[i] = (struct node){.entry = t.entries[i]};
		t.entries[i] = (struct entry){0};
	}
	node->opened = true;
	return 0;
}

/* Marks the directories on the way as changed. */
static void mark_path_changed(struct tree_editor *ed)
{
	size_t i = ed->open.count;

	while (i && !ed->open.items[i - 1].node->changed)
		ed->open.items[--i].node->changed = true;
}

/*
 * The directory that holds path's last part; afterwards it is the last one on
 * the way. Without load only loaded directories are found. -ENOTDIR: none.
 */
static int find_parent_node(struct tree_editor *ed, const char *path, bool load,
			    struct node **ret, struct err *err)
{
	size_t same = ed->path ? common_dir_len(ed->path, path) : 0;
	struct open_place here;

	if (!path_ok(path) || !*path)
		return fail(err, EINVAL, "%s is not a valid path in a snapshot",
			    text_quote(path));
	/* Directories that do not lead to path are closed; the root stays open.
	 */
	if (!ed->open.count)
		VEC_ADD(&ed->open)->node = &ed->root;
	for (; ed->open.count > 1; ed->open.count--) {
		size_t end = ed->open.items[ed->open.count - 1].end;

		if (end <= same && path[end] == '/')
			break;
	}
	free(ed->path);
	ed->path = mem_strdup(path);
	here = ed->open.items[ed->open.count - 1];
	for (;;) {
		const char *rest = path + here.end + (here.end > 0);
		size_t len = strcspn(rest, "/"), at;
		auto_free char *name = NULL;

		if (!S_ISDIR(here.node->entry.mode) ||
		    (!load && !here.node->opened))
			return fail(err, ENOTDIR,
				    "%s: a part of the path is not a directory",
				    text_quote(path));
		if (open_node(ed, here.node, err) < 0)
			return err_context(err, "%s", text_quote(path));
		if (!rest[len]) {
			*ret = here.node;
			return 0;
		}
		name = mem_strndup(rest, len);
		if (!find_node_child(here.node, name, &at))
			return fail(err, ENOTDIR, "%s: no such entry: %s",
				    text_quote(path), text_quote(name));
		here.node = node_child(here.node, at);
		here.end = (size_t)(rest - path) + len;
		*VEC_ADD(&ed->open) = here;
	}
}

/* The node for path's entry; a new one is empty and has its name. */
static int make_path_node(struct tree_editor *ed, const char *path,
			  struct node **ret, struct err *err)
{
	const char *name = path_name(path);
	struct node *parent;
	size_t at;

	if (find_parent_node(ed, path, true, &parent, err) < 0)
		return -err->num;
	mark_path_changed(ed);
	if (find_node_child(parent, name, &at)) {
		*ret = node_child(parent, at);
		return 0;
	}
	if (parent->count == parent->capacity) {
		move_node_gap(parent, parent->count);
		GROW(parent->nodes, parent->count, parent->capacity);
	}
	move_node_gap(parent, at);
	parent->gap++;
	parent->count++;
	*ret = &parent->nodes[at];
	**ret = (struct node){.entry.name = mem_strdup(name)};
	return 0;
}

static void set_node_entry(struct node *node, const struct entry *e,
			   const char *name)
{
	struct entry copy;

	entry_copy(&copy, e);
	free(copy.name);
	copy.name = mem_strdup(name);
	entry_free(&node->entry);
	node->entry = copy;
}

int tree_editor_put(struct tree_editor *ed, const char *path,
		    const struct entry *e, struct err *err)
{
	struct node *node = &ed->root;

	if (!e->mode)
		return tree_editor_remove(ed, path, err);
	if (*path && make_path_node(ed, path, &node, err) < 0)
		return -err->num;
	if (!*path)
		ed->open.count = 0;
	free_node(node);
	set_node_entry(node, e, path_name(path));
	return 0;
}

int tree_editor_put_dir(struct tree_editor *ed, const char *path,
			const struct entry *e, struct err *err)
{
	struct node *node = &ed->root;
	struct oid content;

	if (!S_ISDIR(e->mode))
		return fail(err, EINVAL, "%s: not an entry of a directory",
			    text_quote(path));
	if (*path && make_path_node(ed, path, &node, err) < 0)
		return -err->num;
	if (!S_ISDIR(node->entry.mode)) {
		if (!*path)
			ed->open.count = 0;
		free_node(node);
		/* Saved even when it stays empty: it gets a tree object of its
		 * own. */
		node->opened = node->changed = true;
	}
	content = node->entry.content;
	set_node_entry(node, e, path_name(path));
	node->entry.content = content;
	return 0;
}

int tree_editor_remove(struct tree_editor *ed, const char *path,
		       struct err *err)
{
	struct node *parent;
	size_t at;
	int got;

	if (!*path) {
		ed->open.count = 0;
		free_node(&ed->root);
		ed->root.entry.name = mem_strdup("");
		return 0;
	}
	got = find_parent_node(ed, path, true, &parent, err);
	if (got == -ENOTDIR)
		return 0;
	if (got < 0)
		return got;
	if (!find_node_child(parent, path_name(path), &at))
		return 0;
	free_node(node_child(parent, at));
	/* The gap absorbs the removed node. */
	move_node_gap(parent, at);
	parent->count--;
	mark_path_changed(ed);
	return 0;
}

int tree_editor_get(struct tree_editor *ed, const char *path, struct entry *ret,
		    struct err *err)
{
	struct node *node = &ed->root, *parent;
	size_t at;
	int got;

	if (*path) {
		got = find_parent_node(ed, path, true, &parent, err);
		if (got < 0)
			return got == -ENOTDIR ? 0 : got;
		if (!find_node_child(parent, path_name(path), &at))
			return 0;
		node = node_child(parent, at);
	}
	if (!node->entry.mode)
		return 0;
	entry_copy(ret, &node->entry);
	return 1;
}

/* Saves every changed node of the subtree. */
static int save_subtree(struct tree_editor *ed, struct node *subtree,
			struct err *err)
{
	AUTO(save_steps) struct save_steps save_steps = {0};
	size_t i;

	push_save_step(&save_steps, subtree);
	while (save_steps.count) {
		struct save_step *top = &save_steps.items[save_steps.count - 1];
		struct node *node = top->node;

		if (node->changed && top->next < node->count) {
			push_save_step(&save_steps,
				       node_child(node, top->next++));
			continue;
		}
		if (node->changed) {
			AUTO(tree_writer)
			struct tree_writer *w =
				tree_writer_new(ed->store, node->count);

			for (i = 0; i < node->count; i++)
				if (tree_writer_add(w,
						    &node_child(node, i)->entry,
						    err) < 0)
					return -err->num;
			if (tree_writer_end(w, &node->entry.content, err) < 0)
				return -err->num;
			node->changed = false;
		}
		save_steps.count--;
	}
	return 0;
}

/* Saves the directories of the last call that are not on the way to this
 * path. */
static int save_last_path(struct tree_editor *ed, const char *path,
			  struct err *err)
{
	size_t start = common_dir_len(ed->last, path), at, i;
	auto_free char *top = NULL;
	struct node *parent, *node;
	int got;

	if (!*ed->last || (!ed->last[start] && path[start] == '/'))
		return 0;
	while (start && ed->last[start - 1] != '/')
		start--;
	top = mem_strndup(ed->last, start + strcspn(ed->last + start, "/"));
	got = find_parent_node(ed, top, false, &parent, err);
	if (got < 0)
		return got == -ENOTDIR ? 0 : got;
	if (!find_node_child(parent, path_name(top), &at))
		return 0;
	node = node_child(parent, at);
	if (save_subtree(ed, node, err) < 0)
		return -err->num;
	for (i = 0; i < node->count; i++)
		free_node(node_child(node, i));
	free(node->nodes);
	*node = (struct node){.entry = node->entry};
	return 0;
}

int tree_editor_move_to(struct tree_editor *ed, const char *path,
			struct err *err)
{
	if (ed->last && save_last_path(ed, path, err) < 0)
		return -err->num;
	free(ed->last);
	ed->last = mem_strdup(path);
	return 0;
}

int tree_editor_save(struct tree_editor *ed, struct entry *ret_root,
		     struct err *err)
{
	if (save_subtree(ed, &ed->root, err) < 0)
		return -err->num;
	entry_copy(ret_root, &ed->root.entry);
	return 0;
}

int tree_editor_end(struct tree_editor **ed, int got, struct entry *tree,
		    struct err *err)
{
	struct entry made = {0};

	if (got >= 0)
		got = tree_editor_save(*ed, &made, err);
	tree_editor_free(ed);
	if (got < 0)
		return got;
	entry_free(tree);
	*tree = made;
	return 0;
}
