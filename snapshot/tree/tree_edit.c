#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "snapshot/tree/tree.h"

/* An entry, and once it was opened (it is a folder then) what is in it. */
struct node {
	struct entry entry;
	bool opened, changed;
	struct node *nodes; /* sorted by name's bytes */
	size_t count, room;
};

struct tree_editor {
	struct store *store;
	struct node root;
	char *last; /* of tree_editor_settle() */
};

/* A stack in the heap stands for recursion: depth is not ours to choose. */
struct step {
	struct node *node;
	size_t next;
};

struct steps {
	struct step *items;
	size_t count, room;
};

static void steps_free(struct steps *s)
{
	free(s->items);
}

static void push(struct steps *s, struct node *node)
{
	GROW(s->items, s->count, s->room);
	s->items[s->count++] = (struct step){.node = node};
}

/* Frees what is in the node and its entry, not the node itself. */
static void node_done(struct node *node)
{
	AUTO(steps) struct steps steps = {0};

	push(&steps, node);
	while (steps.count) {
		struct step *top = &steps.items[steps.count - 1];

		if (top->next < top->node->count) {
			push(&steps, &top->node->nodes[top->next++]);
			continue;
		}
		entry_free(&top->node->entry);
		free(top->node->nodes);
		*top->node = (struct node){0};
		steps.count--;
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
	node_done(&(*ed)->root);
	free((*ed)->last);
	free(*ed);
	*ed = NULL;
}

/* Where name is, or where it would have to be. */
static bool find(const struct node *node, const char *name, size_t *ret)
{
	size_t low = 0, high = node->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strcmp(node->nodes[mid].entry.name, name);

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

static int open_node(struct tree_editor *ed, struct node *node, struct err *err)
{
	AUTO(tree) struct tree t = {0};
	size_t i;

	if (node->opened)
		return 0;
	if (tree_load(ed->store, &node->entry.content, &t, err) < 0)
		return -err->num;
	node->nodes = mem_resize(NULL, t.count, sizeof(*node->nodes));
	node->count = node->room = t.count;
	for (i = 0; i < t.count; i++) {
		node->nodes[i] = (struct node){.entry = t.entries[i]};
		t.entries[i] = (struct entry){0};
	}
	node->opened = true;
	return 0;
}

/*
 * The opened folder that holds path's last part. With mark, all folders on
 * the way count as changed. -ENOTDIR when there is none.
 */
static int find_parent(struct tree_editor *ed, const char *path, bool mark,
		       struct node **ret, struct err *err)
{
	struct node *node = &ed->root;
	const char *whole = path;

	if (!path_ok(path) || !*path)
		return fail(err, EINVAL, "%s is not a path in a tree",
			    text_quote(path));
	for (;;) {
		size_t len = strcspn(path, "/"), at;
		auto_free char *name = mem_strndup(path, len);

		if (!S_ISDIR(node->entry.mode))
			return fail(err, ENOTDIR,
				    "%s: a part above it is no folder",
				    text_quote(whole));
		if (open_node(ed, node, err) < 0)
			return err_context(err, "%s", text_quote(whole));
		if (mark)
			node->changed = true;
		if (!path[len]) {
			*ret = node;
			return 0;
		}
		if (!find(node, name, &at))
			return fail(err, ENOTDIR, "%s: %s is not there",
				    text_quote(whole), text_quote(name));
		node = &node->nodes[at];
		path += len + 1;
	}
}

/* The place for path's entry; a new one is an empty node with its name. */
static int make_node(struct tree_editor *ed, const char *path,
		     struct node **ret, struct err *err)
{
	const char *name = path_name(path);
	struct node *parent;
	size_t at;

	if (find_parent(ed, path, true, &parent, err) < 0)
		return -err->num;
	if (!find(parent, name, &at)) {
		GROW(parent->nodes, parent->count, parent->room);
		memmove(&parent->nodes[at + 1], &parent->nodes[at],
			(parent->count - at) * sizeof(*parent->nodes));
		parent->count++;
		parent->nodes[at] = (struct node){0};
		parent->nodes[at].entry.name = mem_strdup(name);
	}
	*ret = &parent->nodes[at];
	return 0;
}

static void set_entry(struct node *node, const struct entry *e,
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
	if (*path && make_node(ed, path, &node, err) < 0)
		return -err->num;
	node_done(node);
	set_entry(node, e, path_name(path));
	return 0;
}

int tree_editor_put_folder(struct tree_editor *ed, const char *path,
			   const struct entry *e, struct err *err)
{
	struct node *node = &ed->root;
	struct oid content;

	if (!S_ISDIR(e->mode))
		return fail(err, EINVAL, "%s: not a folder's entry",
			    text_quote(path));
	if (*path && make_node(ed, path, &node, err) < 0)
		return -err->num;
	if (!S_ISDIR(node->entry.mode)) {
		node_done(node);
		/* Saved even when nothing is put into it: a tree of its own. */
		node->opened = node->changed = true;
	}
	content = node->entry.content;
	set_entry(node, e, path_name(path));
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
		node_done(&ed->root);
		ed->root.entry.name = mem_strdup("");
		return 0;
	}
	got = find_parent(ed, path, false, &parent, err);
	if (got == -ENOTDIR)
		return 0;
	if (got < 0)
		return got;
	if (!find(parent, path_name(path), &at))
		return 0;
	node_done(&parent->nodes[at]);
	parent->count--;
	memmove(&parent->nodes[at], &parent->nodes[at + 1],
		(parent->count - at) * sizeof(*parent->nodes));
	return find_parent(ed, path, true, &parent, err);
}

int tree_editor_get(struct tree_editor *ed, const char *path, struct entry *ret,
		    struct err *err)
{
	struct node *node = &ed->root, *parent;
	size_t at;
	int got;

	if (*path) {
		got = find_parent(ed, path, false, &parent, err);
		if (got < 0)
			return got == -ENOTDIR ? 0 : got;
		if (!find(parent, path_name(path), &at))
			return 0;
		node = &parent->nodes[at];
	}
	if (!node->entry.mode)
		return 0;
	entry_copy(ret, &node->entry);
	return 1;
}

/* The node's tree object from its nodes' entries, which are saved already. */
static int save_node(struct tree_editor *ed, struct node *node, struct err *err)
{
	struct tree t = {0};
	size_t i;
	int got;

	t.entries = mem_resize(NULL, node->count, sizeof(*t.entries));
	t.count = t.room = node->count;
	for (i = 0; i < node->count; i++)
		t.entries[i] = node->nodes[i].entry;
	got = tree_save(ed->store, &t, &node->entry.content, err);
	free(t.entries); /* their strings are the nodes' */
	if (got == 0)
		node->changed = false;
	return got;
}

/* Whatever was changed in it. */
static int save_below(struct tree_editor *ed, struct node *whole,
		      struct err *err)
{
	AUTO(steps) struct steps steps = {0};

	push(&steps, whole);
	while (steps.count) {
		struct step *top = &steps.items[steps.count - 1];
		struct node *node = top->node;

		if (node->changed && top->next < node->count) {
			push(&steps, &node->nodes[top->next++]);
			continue;
		}
		if (node->changed && save_node(ed, node, err) < 0)
			return -err->num;
		steps.count--;
	}
	return 0;
}

static int settle_node(struct tree_editor *ed, struct node *node,
		       struct err *err)
{
	size_t i;

	if (save_below(ed, node, err) < 0)
		return -err->num;
	for (i = 0; i < node->count; i++)
		node_done(&node->nodes[i]);
	free(node->nodes);
	node->nodes = NULL;
	node->count = node->room = 0;
	node->opened = false;
	return 0;
}

/* The folders of the last call that are not on the way to this path. */
static int settle_last(struct tree_editor *ed, const char *last,
		       const char *path, struct err *err)
{
	struct node *node = &ed->root;

	for (;;) {
		size_t len = strcspn(last, "/"), at;
		auto_free char *name = mem_strndup(last, len);

		if (!len || !find(node, name, &at))
			return 0;
		node = &node->nodes[at];
		if (strncmp(path, last, len) != 0 || path[len] != '/')
			return settle_node(ed, node, err);
		last += len + (last[len] == '/');
		path += len + 1;
	}
}

int tree_editor_settle(struct tree_editor *ed, const char *path,
		       struct err *err)
{
	if (ed->last && settle_last(ed, ed->last, path, err) < 0)
		return -err->num;
	free(ed->last);
	ed->last = mem_strdup(path);
	return 0;
}

int tree_editor_save(struct tree_editor *ed, struct entry *ret_root,
		     struct err *err)
{
	if (save_below(ed, &ed->root, err) < 0)
		return -err->num;
	entry_copy(ret_root, &ed->root.entry);
	return 0;
}
