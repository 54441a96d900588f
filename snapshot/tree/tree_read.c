#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "snapshot/tree/tree.h"

static int get_object(struct store *s, const struct oid *id, struct buf *ret,
		      struct err *err)
{
	if (id->type != OBJECT_TREE)
		return fail(err, EBADMSG, "a folder that refers to no tree");
	if (store_get(s, id, ret, err) < 0)
		return err_context(err, "read a folder of a snapshot");
	return 0;
}

/* Loads one object, which may be split. */
static int load_tree_object(struct store *s, const struct oid *id,
			    struct tree *ret, struct err *err)
{
	AUTO(buf) struct buf bytes = {0};

	if (id->type == OBJECT_NONE) {
		*ret = (struct tree){0};
		return 0;
	}
	if (get_object(s, id, &bytes, err) < 0)
		return -err->num;
	return tree_decode(bytes.data, bytes.len, ret, err);
}

/* Loads the i-th part; all its names lie between its own and the next
 * part's. */
static int load_part(struct store *s, const struct tree *parts, size_t i,
		     struct tree *ret, struct err *err)
{
	AUTO(tree) struct tree t = {0};

	if (load_tree_object(s, &parts->entries[i].content, &t, err) < 0)
		return -err->num;
	if (t.split || !t.count ||
	    strcmp(t.entries[0].name, parts->entries[i].name) != 0 ||
	    (i + 1 < parts->count && strcmp(t.entries[t.count - 1].name,
					    parts->entries[i + 1].name) >= 0))
		return fail(err, EBADMSG, "a damaged part of a tree");
	*ret = t;
	t = (struct tree){0};
	return 0;
}

void tree_cursor_free(struct tree_cursor *c)
{
	tree_free(&c->parts);
	tree_free(&c->now);
	*c = (struct tree_cursor){0};
}

static struct tree_cursor make_tree_cursor(struct store *s,
					   const struct tree *t)
{
	struct tree_cursor c = {.store = s};

	if (t->split)
		c.parts = *t;
	else
		c.now = *t;
	return c;
}

int tree_cursor_open(struct store *s, const struct oid *id,
		     struct tree_cursor *ret, struct err *err)
{
	struct tree t;

	if (load_tree_object(s, id, &t, err) < 0)
		return -err->num;
	*ret = make_tree_cursor(s, &t);
	return 0;
}

int tree_cursor_open_pair(struct store *s, const struct oid *a,
			  const struct oid *b, struct tree_cursor *ret_a,
			  struct tree_cursor *ret_b, struct err *err)
{
	AUTO(buf) struct buf a_bytes = {0}, b_bytes = {0};
	struct tree t, u;

	if (a->type == OBJECT_NONE || b->type == OBJECT_NONE) {
		if (tree_cursor_open(s, a, ret_a, err) < 0)
			return -err->num;
		if (tree_cursor_open(s, b, ret_b, err) < 0) {
			tree_cursor_free(ret_a);
			return -err->num;
		}
		return 0;
	}
	if (get_object(s, a, &a_bytes, err) < 0 ||
	    get_object(s, b, &b_bytes, err) < 0 ||
	    tree_decode_pair(&a_bytes, &b_bytes, &t, &u, err) < 0)
		return -err->num;
	*ret_a = make_tree_cursor(s, &t);
	*ret_b = make_tree_cursor(s, &u);
	return 0;
}

int tree_cursor_get(struct tree_cursor *c, const struct entry **ret,
		    struct err *err)
{
	if (c->next == c->now.count && c->part < c->parts.count) {
		tree_free(&c->now);
		c->next = 0;
		if (load_part(c->store, &c->parts, c->part, &c->now, err) < 0)
			return -err->num;
		c->part++;
	}
	if (c->next == c->now.count)
		return 0;
	*ret = &c->now.entries[c->next];
	return 1;
}

/* The part that is read next, or NULL. */
static const struct oid *next_part(const struct tree_cursor *c)
{
	return c->next == c->now.count && c->part < c->parts.count
		       ? &c->parts.entries[c->part].content
		       : NULL;
}

void tree_cursor_skip_same(struct tree_cursor *a, struct tree_cursor *b)
{
	const struct oid *p, *q;

	while ((p = next_part(a)) && (q = next_part(b)) && oid_equal(p, q)) {
		a->part++;
		b->part++;
	}
}

int tree_load(struct store *s, const struct oid *id, struct tree *ret,
	      struct err *err)
{
	AUTO(tree_cursor) struct tree_cursor c = {0};
	AUTO(tree) struct tree complete = {0};
	const struct entry *e;
	int got;

	if (tree_cursor_open(s, id, &c, err) < 0)
		return -err->num;
	if (!c.parts.count) {
		*ret = c.now;
		c.now = (struct tree){0};
		return 0;
	}
	while ((got = tree_cursor_get(&c, &e, err)) > 0)
		tree_add(&complete, &c.now.entries[c.next++]);
	if (got < 0)
		return got;
	*ret = complete;
	complete = (struct tree){0};
	return 0;
}

/* Loads the directory; of a split one only the part that would hold name. */
static int load_part_around(struct store *s, const struct oid *id,
			    const char *name, struct tree *ret, struct err *err)
{
	AUTO(tree) struct tree t = {0};
	size_t low = 0, high;

	if (load_tree_object(s, id, &t, err) < 0)
		return -err->num;
	if (!t.split) {
		*ret = t;
		t = (struct tree){0};
		return 0;
	}
	high = t.count;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(t.entries[mid].name, name) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	*ret = (struct tree){0};
	return low ? load_part(s, &t, low - 1, ret, err) : 0;
}

int tree_lookup(struct store *s, const struct entry *root, const char *path,
		struct entry *ret, struct err *err)
{
	AUTO(entry) struct entry at = {0};

	if (!root->mode || !path_ok(path))
		return 0;
	entry_copy(&at, root);
	while (*path) {
		AUTO(tree) struct tree t = {0};
		size_t len = strcspn(path, "/");
		auto_free char *name = mem_strndup(path, len);
		struct entry *found;

		if (!S_ISDIR(at.mode))
			return 0;
		if (load_part_around(s, &at.content, name, &t, err) < 0)
			return -err->num;
		found = tree_find(&t, name);
		if (!found)
			return 0;
		entry_free(&at);
		at = *found;
		*found = (struct entry){0};
		path += len + (path[len] == '/');
	}
	*ret = at;
	at = (struct entry){0};
	return 1;
}
