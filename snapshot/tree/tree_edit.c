#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "snapshot/tree/tree.h"

/*
 * An entry, and once it was opened (it is a folder then) what is in it. Where
 * one is changed, all above it are.
 */
struct node {
	struct entry entry;
	bool opened, changed;
	/* Sorted by name's bytes. All free room is in one gap: edits come in
	 * an order, and those in a folder of a million names must not move
	 * all of them each time. */
	struct node *nodes;
	size_t count, capacity, gap;
};

/* A folder on the way to the last path: its own ends there. */
struct place {
	struct node *node;
	size_t end;
};

struct tree_editor {
	struct store *store;
	struct node root;
	char *last; /* of tree_editor_settle() */
	/* The way to the path that was looked for last: the next one is often
	 * near it. Nothing in it outlives a change of what holds it. */
	char *path;
	struct place *way;
	size_t way_count, way_capacity;
};

/* A stack in the heap stands for recursion: depth is not ours to choose. */
struct step {
	struct node *node;
	size_t next;
};

struct steps {
	struct step *items;
	size_t count, capacity;
};

static void steps_free(struct steps *s)
{
	free(s->items);
}

static void push(struct steps *s, struct node *node)
{
	GROW(s->items, s->count, s->capacity);
	s->items[s->count++] = (struct step){.node = node};
}

/* By its place among the sorted. */
static struct node *child(const struct node *node, size_t i)
{
	return &node->nodes[i < node->gap ? i
					  : i + node->capacity - node->count];
}

static void move_gap(struct node *node, size_t to)
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

static struct node *insert(struct node *node, size_t at)
{
	if (node->count == node->capacity) {
		move_gap(node, node->count);
		GROW(node->nodes, node->count, node->capacity);
	}
	move_gap(node, at);
	node->gap++;
	node->count++;
	node->nodes[at] = (struct node){0};
	return &node->nodes[at];
}

/* Frees what is in the node and its entry, not the node itself. */
static void node_done(struct node *node)
{
	AUTO(steps) struct steps steps = {0};

	push(&steps, node);
	while (steps.count) {
		struct step *top = &steps.items[steps.count - 1];

		if (top->next < top->node->count) {
			push(&steps, child(top->node, top->next++));
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
	free((*ed)->path);
	free((*ed)->way);
	free(*ed);
	*ed = NULL;
}

/* Where name is, or where it would have to be. */
static bool find(const struct node *node, const char *name, size_t *ret)
{
	size_t low = 0, high = node->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strcmp(child(node, mid)->entry.name, name);

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
	node->count = node->capacity = node->gap = t.count;
	for (i = 0; i < t.count; i++) {
		node->nodes[i] = (struct node){.entry = t.entries[i]};
		t.entries[i] = (struct entry){0};
	}
	node->opened = true;
	return 0;
}

/* How much of both is the same, in bytes. */
static size_t common(const char *a, const char *b)
{
	size_t len = 0;

	while (a[len] && a[len] == b[len])
		len++;
	return len;
}

/* Leaves of the way what leads to path as well, at least the root. */
static struct place go_back(struct tree_editor *ed, const char *path)
{
	size_t same = ed->path ? common(ed->path, path) : 0;

	if (!ed->way_count) {
		GROW(ed->way, ed->way_count, ed->way_capacity);
		ed->way[ed->way_count++] = (struct place){.node = &ed->root};
	}
	while (ed->way_count > 1) {
		size_t end = ed->way[ed->way_count - 1].end;

		if (end <= same && path[end] == '/')
			break;
		ed->way_count--;
	}
	free(ed->path);
	ed->path = mem_strdup(path);
	return ed->way[ed->way_count - 1];
}

static void forget_way(struct tree_editor *ed)
{
	ed->way_count = 0;
}

/* The folders on the way count as changed. */
static void mark_way(struct tree_editor *ed)
{
	size_t i = ed->way_count;

	while (i && !ed->way[i - 1].node->changed)
		ed->way[--i].node->changed = true;
}

/*
 * The folder that holds path's last part, the last of the way then. Without
 * load only one that was opened is found. -ENOTDIR when there is none.
 */
static int find_parent(struct tree_editor *ed, const char *path, bool load,
		       struct node **ret, struct err *err)
{
	struct place here;

	if (!path_ok(path) || !*path)
		return fail(err, EINVAL, "%s is not a path in a tree",
			    text_quote(path));
	here = go_back(ed, path);
	for (;;) {
		const char *rest = path + here.end + (here.end > 0);
		size_t len = strcspn(rest, "/"), at;
		auto_free char *name = NULL;

		if (!S_ISDIR(here.node->entry.mode) ||
		    (!load && !here.node->opened))
			return fail(err, ENOTDIR,
				    "%s: a part above it is no folder",
				    text_quote(path));
		if (open_node(ed, here.node, err) < 0)
			return err_context(err, "%s", text_quote(path));
		if (!rest[len]) {
			*ret = here.node;
			return 0;
		}
		name = mem_strndup(rest, len);
		if (!find(here.node, name, &at))
			return fail(err, ENOTDIR, "%s: %s is not there",
				    text_quote(path), text_quote(name));
		here.node = child(here.node, at);
		here.end = (size_t)(rest - path) + len;
		GROW(ed->way, ed->way_count, ed->way_capacity);
		ed->way[ed->way_count++] = here;
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
	mark_way(ed);
	if (find(parent, name, &at)) {
		*ret = child(parent, at);
		return 0;
	}
	*ret = insert(parent, at);
	(*ret)->entry.name = mem_strdup(name);
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
	if (!*path)
		forget_way(ed);
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
		if (!*path)
			forget_way(ed);
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
		forget_way(ed);
		node_done(&ed->root);
		ed->root.entry.name = mem_strdup("");
		return 0;
	}
	got = find_parent(ed, path, true, &parent, err);
	if (got == -ENOTDIR)
		return 0;
	if (got < 0)
		return got;
	if (!find(parent, path_name(path), &at))
		return 0;
	node_done(child(parent, at));
	/* The gap takes it in. */
	move_gap(parent, at);
	parent->count--;
	mark_way(ed);
	return 0;
}

int tree_editor_get(struct tree_editor *ed, const char *path, struct entry *ret,
		    struct err *err)
{
	struct node *node = &ed->root, *parent;
	size_t at;
	int got;

	if (*path) {
		got = find_parent(ed, path, true, &parent, err);
		if (got < 0)
			return got == -ENOTDIR ? 0 : got;
		if (!find(parent, path_name(path), &at))
			return 0;
		node = child(parent, at);
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
	t.count = t.capacity = node->count;
	for (i = 0; i < node->count; i++)
		t.entries[i] = child(node, i)->entry;
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
			push(&steps, child(node, top->next++));
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
		node_done(child(node, i));
	free(node->nodes);
	node->nodes = NULL;
	node->count = node->capacity = node->gap = 0;
	node->opened = false;
	return 0;
}

/* The folders of the last call that are not on the way to this path. */
static int settle_last(struct tree_editor *ed, const char *path,
		       struct err *err)
{
	size_t start = common(ed->last, path), at;
	auto_free char *top = NULL;
	struct node *parent;
	int got;

	if (!*ed->last || (!ed->last[start] && path[start] == '/'))
		return 0;
	while (start && ed->last[start - 1] != '/')
		start--;
	top = mem_strndup(ed->last, start + strcspn(ed->last + start, "/"));
	got = find_parent(ed, top, false, &parent, err);
	if (got < 0)
		return got == -ENOTDIR ? 0 : got;
	return find(parent, path_name(top), &at)
		       ? settle_node(ed, child(parent, at), err)
		       : 0;
}

int tree_editor_settle(struct tree_editor *ed, const char *path,
		       struct err *err)
{
	if (ed->last && settle_last(ed, path, err) < 0)
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
