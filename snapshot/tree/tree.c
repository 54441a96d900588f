#include "snapshot/tree/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/vec.h"
#include "snapshot/store/store_dir.h"

/* --- encoding --- */

/* The lowest version that can encode the entries is written. */
#define VERSION_PLAIN 1
#define VERSION_CHATTR 2
#define VERSION_SPLIT 3
/* Length of the shortest entry: bounds a count before memory is allocated for
 * it. */
#define ENTRY_LEN_MIN 8

/*
 * A tree object:
 *
 *	tree    = version count *entry      ; ascending by name's bytes
 *	        | version count *part
 *	version = var                       ; 1; 2 where an entry has chattr;
 *	                                    ; 3 of parts
 *	part    = name content              ; the first name in it
 *
 * Entry, name and content: see entry.c. A part is a tree of version 1 or 2.
 */
static void tree_encode_head(bool chattr, size_t count, struct buf *to)
{
	enc_var(to, chattr ? VERSION_CHATTR : VERSION_PLAIN);
	enc_var(to, count);
}

/* Appends a split tree: its parts. */
static void tree_encode_split(const struct entry *parts, size_t count,
			      struct buf *to)
{
	size_t i;

	enc_var(to, VERSION_SPLIT);
	enc_var(to, count);
	for (i = 0; i < count; i++)
		entry_encode_part(to, &parts[i]);
}

int tree_decode(const void *data, size_t len, struct tree *ret, struct err *err)
{
	AUTO(tree) struct tree t = {0};
	struct dec d = dec_start(data, len);
	uint64_t version = dec_var(&d), count = dec_var(&d), i;
	uint32_t chattr = 0;

	if (!d.bad && version > VERSION_SPLIT)
		return fail(err, EPROTO,
			    "the tree was written by a newer guard (format "
			    "%llu): update guard",
			    (unsigned long long)version);
	if (d.bad || !version || count > len / ENTRY_LEN_MIN)
		return fail(err, EBADMSG, "the tree is damaged");
	t.split = version == VERSION_SPLIT;
	t.capacity = count;
	t.entries = mem_resize(NULL, count, sizeof(*t.entries));
	for (i = 0; i < count; i++) {
		struct entry *e = &t.entries[i];

		if (t.split ? !entry_decode_part(&d, e)
			    : !entry_decode(&d, false, e))
			break;
		t.count++;
		chattr |= e->chattr;
		if (i && strcmp(t.entries[i - 1].name, e->name) >= 0)
			d.bad = true;
	}
	if (!dec_end(&d) || (version == VERSION_PLAIN && chattr) ||
	    (version == VERSION_CHATTR && !chattr) || (t.split && !t.count))
		return fail(err, EBADMSG, "the tree is damaged");
	*ret = TAKE(t);
	return 0;
}

void tree_free(struct tree *t)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		entry_free(&t->entries[i]);
	free(t->entries);
	*t = (struct tree){0};
}

void tree_add(struct tree *t, struct entry *e)
{
	GROW(t->entries, t->count, t->capacity);
	t->entries[t->count++] = *e;
	*e = (struct entry){0};
}

struct entry *tree_find(const struct tree *t, const char *name)
{
	return FIND_BY_TEXT(name, t->entries, t->count, name);
}

/* --- reading --- */

/* Loads one object, which may be split. */
static int load_tree_object(struct store *s, const struct oid *id,
			    struct tree *ret, struct err *err)
{
	AUTO(buf) struct buf bytes = {0};

	if (id->type == OBJECT_NONE) {
		*ret = (struct tree){0};
		return 0;
	}
	if (id->type != OBJECT_TREE)
		return fail(err, EBADMSG, "a directory has no tree");
	if (store_get(s, id, &bytes, err) < 0)
		return err_context(err, "read a directory of a snapshot");
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
		return fail(err, EBADMSG,
			    "a part of the list of a directory is damaged");
	*ret = TAKE(t);
	return 0;
}

/* Reads the entries of a directory one after the other. */
struct tree_cursor {
	struct store *store;
	struct tree parts; /* empty when the tree is not split */
	size_t part; /* index of the next part */
	struct tree now;
	size_t next;
};

static void tree_cursor_free(struct tree_cursor *c)
{
	tree_free(&c->parts);
	tree_free(&c->now);
	*c = (struct tree_cursor){0};
}

static int tree_cursor_open(struct store *s, const struct oid *id,
			    struct tree_cursor *ret, struct err *err)
{
	struct tree t;

	if (load_tree_object(s, id, &t, err) < 0)
		return -err->num;
	*ret = (struct tree_cursor){.store = s};
	*(t.split ? &ret->parts : &ret->now) = t;
	return 0;
}

/* 1 and the next entry (owned by the cursor, valid until the next call), 0 at
 * the end, or negative. c->next++ moves on. */
static int tree_cursor_get(struct tree_cursor *c, const struct entry **ret,
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
		*ret = TAKE(c.now);
		return 0;
	}
	while ((got = tree_cursor_get(&c, &e, err)) > 0)
		tree_add(&complete, &c.now.entries[c.next++]);
	if (got < 0)
		return got;
	*ret = TAKE(complete);
	return 0;
}

int tree_lookup(struct store *s, const struct entry *root, const char *path,
		struct entry *ret, struct err *err)
{
	AUTO(entry) struct entry at = {0};

	if (!root->mode || !path_ok(path))
		return 0;
	entry_copy(&at, root);
	while (*path) {
		AUTO(tree) struct tree t = {0}, part = {0};
		size_t len = strcspn(path, "/"), i;
		auto_free char *name = mem_strndup(path, len);
		struct entry *found;

		if (!S_ISDIR(at.mode))
			return 0;
		if (load_tree_object(s, &at.content, &t, err) < 0)
			return -err->num;
		/* A split directory is loaded in part: the part that would hold
		 * name. */
		if (t.split) {
			i = INDEX_BY_TEXT(name, t.entries, t.count, name);
			i += i < t.count &&
			     strcmp(t.entries[i].name, name) == 0;
			if (i && load_part(s, &t, i - 1, &part, err) < 0)
				return -err->num;
		}
		found = tree_find(t.split ? &part : &t, name);
		if (!found)
			return 0;
		entry_free(&at);
		at = *found;
		*found = (struct entry){0};
		path += len + (path[len] == '/');
	}
	*ret = TAKE(at);
	return 1;
}

/* --- writing --- */

/* A directory with at most this many entries is one object. */
#define WHOLE_MAX 4096
/* Average number of entries in a part; a power of two. */
#define PART_COUNT 1024

struct tree_writer {
	struct store *store;
	bool split;
	/* The current part, or everything. */
	struct buf body; /* entries */
	size_t count;
	bool chattr;
	char *first, *last; /* names */
	struct tree parts; /* the stored parts */
};

struct tree_writer *tree_writer_new(struct store *s, size_t count)
{
	struct tree_writer *w = mem_zalloc(sizeof(*w));

	w->store = s;
	w->split = count > WHOLE_MAX;
	return w;
}

void tree_writer_free(struct tree_writer **writer)
{
	struct tree_writer *w = *writer;

	if (!w)
		return;
	buf_free(&w->body);
	free(w->first);
	free(w->last);
	tree_free(&w->parts);
	free(w);
	*writer = NULL;
}

static int put_tree_part(struct tree_writer *w, struct oid *ret,
			 struct err *err)
{
	AUTO(buf) struct buf bytes = {0};

	tree_encode_head(w->chattr, w->count, &bytes);
	buf_add(&bytes, w->body.data, w->body.len);
	return store_put(w->store, OBJECT_TREE, bytes.data, bytes.len, ret,
			 err);
}

static int end_tree_part(struct tree_writer *w, struct err *err)
{
	struct entry part = {.mode = S_IFDIR};

	if (put_tree_part(w, &part.content, err) < 0)
		return -err->num;
	part.name = TAKE(w->first);
	tree_add(&w->parts, &part);
	buf_clear(&w->body);
	w->count = 0;
	w->chattr = false;
	return 0;
}

int tree_writer_add(struct tree_writer *w, const struct entry *e,
		    struct err *err)
{
	int order = w->last && e->name ? strcmp(w->last, e->name) : -1;

	if (!entry_ok(e, false) || order > 0)
		return fail(err, EINVAL,
			    "%s cannot be stored: invalid name or metadata",
			    text_quote(e->name ? e->name : ""));
	if (!order)
		return fail(err, EEXIST, "%s is in the directory twice",
			    text_quote(e->name));
	if (w->split && w->count) {
		uint64_t number = hash_check(e->name, strlen(e->name));

		number = hash_derive(store_get_dir(w->store)->key.secret,
				     number);
		if (!(number & (PART_COUNT - 1)) && end_tree_part(w, err) < 0)
			return -err->num;
	}
	if (!w->count)
		w->first = mem_strdup(e->name);
	free(w->last);
	w->last = mem_strdup(e->name);
	w->chattr |= e->chattr != 0;
	w->count++;
	entry_encode(&w->body, e);
	return 0;
}

int tree_writer_end(struct tree_writer *w, struct oid *ret, struct err *err)
{
	AUTO(buf) struct buf bytes = {0};

	if (!w->split || (!w->count && !w->parts.count))
		return put_tree_part(w, ret, err);
	if (w->count && end_tree_part(w, err) < 0)
		return -err->num;
	tree_encode_split(w->parts.entries, w->parts.count, &bytes);
	return store_put(w->store, OBJECT_TREE, bytes.data, bytes.len, ret,
			 err);
}

/* --- comparing --- */

/* A directory that is being compared, with its two sides. Levels are a stack
 * on the heap instead of recursion: trees come from disk and may have any
 * depth. */
struct level {
	struct tree_cursor a, b;
	size_t path_len; /* path of the directory itself */
};

struct differ {
	struct store *store;
	tree_diff_visit *each;
	void *arg;
	VEC(struct level) levels;
	struct buf path;
};

static void differ_free(struct differ *d)
{
	while (d->levels.count) {
		struct level *top = &d->levels.items[--d->levels.count];

		tree_cursor_free(&top->a);
		tree_cursor_free(&top->b);
	}
	VEC_FREE(&d->levels);
	buf_free(&d->path);
}

static bool is_dir_entry(const struct entry *e)
{
	return e && S_ISDIR(e->mode);
}

/* Pushes the directory at d->path as the top level. */
static int enter_differing_dirs(struct differ *d, const struct entry *a,
				const struct entry *b, struct err *err)
{
	struct level *top;
	int got = 0;

	if (is_dir_entry(a) && is_dir_entry(b) &&
	    oid_equal(&a->content, &b->content))
		return 0;
	top = VEC_ADD(&d->levels);
	top->path_len = d->path.len;
	if (is_dir_entry(a))
		got = tree_cursor_open(d->store, &a->content, &top->a, err);
	if (got == 0 && is_dir_entry(b))
		got = tree_cursor_open(d->store, &b->content, &top->b, err);
	return got < 0 ? err_context(err, "%s", text_quote(buf_text(&d->path)))
		       : 0;
}

static int report_and_enter(struct differ *d, const struct entry *a,
			    const struct entry *b, struct err *err)
{
	int got;

	if (a && b && entry_equal(a, b))
		return 0;
	got = d->each(d->arg, buf_text(&d->path), a, b, err);
	if (got < 0)
		return got;
	return is_dir_entry(a) || is_dir_entry(b)
		       ? enter_differing_dirs(d, a, b, err)
		       : 0;
}

/* Processes the next name of the top level, from one side or both. */
static int diff_next_entry(struct differ *d, struct err *err)
{
	struct level *top = &d->levels.items[d->levels.count - 1];
	const struct entry *a = NULL, *b = NULL;
	const struct oid *p, *q;
	int order;

	d->path.len = top->path_len;
	/* Skips equal parts that both cursors would read next. */
	while ((p = next_part(&top->a)) && (q = next_part(&top->b)) &&
	       oid_equal(p, q)) {
		top->a.part++;
		top->b.part++;
	}
	if (tree_cursor_get(&top->a, &a, err) < 0 ||
	    tree_cursor_get(&top->b, &b, err) < 0)
		return err_context(err, "%s", text_quote(buf_text(&d->path)));
	if (!a && !b) {
		tree_cursor_free(&top->a);
		tree_cursor_free(&top->b);
		d->levels.count--;
		return 0;
	}
	order = !a ? 1 : !b ? -1 : strcmp(a->name, b->name);
	if (order <= 0)
		top->a.next++;
	else
		a = NULL;
	if (order >= 0)
		top->b.next++;
	else
		b = NULL;
	if (d->path.len)
		buf_add_char(&d->path, '/');
	buf_add_text(&d->path, a ? a->name : b->name);
	return report_and_enter(d, a, b, err);
}

int tree_diff(struct store *s, const struct entry *a, const struct entry *b,
	      tree_diff_visit *each, void *arg, struct err *err)
{
	AUTO(differ)
	struct differ d = {.store = s, .each = each, .arg = arg};
	int got;

	a = a && a->mode ? a : NULL;
	b = b && b->mode ? b : NULL;
	if (!a && !b)
		return 0;
	got = report_and_enter(&d, a, b, err);
	while (got >= 0 && d.levels.count)
		got = diff_next_entry(&d, err);
	return got < 0 ? got : 0;
}

struct one_side {
	tree_visit *each;
	void *arg;
};

static int each_one_side(void *arg, const char *path, const struct entry *a,
			 const struct entry *b, struct err *err)
{
	const struct one_side *one = arg;

	(void)b;
	return one->each(one->arg, path, a, err);
}

int tree_each(struct store *s, const struct entry *root, tree_visit *each,
	      void *arg, struct err *err)
{
	struct one_side one = {.each = each, .arg = arg};

	return tree_diff(s, root, NULL, each_one_side, &one, err);
}

void differences_free(struct differences *d)
{
	size_t i;

	for (i = 0; i < d->count; i++) {
		free(d->items[i].path);
		entry_free(&d->items[i].a);
		entry_free(&d->items[i].b);
	}
	free(d->items);
	*d = (struct differences){0};
}

void differences_add(struct differences *d, const char *path,
		     const struct entry *a, const struct entry *b)
{
	struct difference *to = VEC_ADD(d);

	to->path = mem_strdup(path);
	if (a)
		entry_copy(&to->a, a);
	if (b)
		entry_copy(&to->b, b);
}

int differences_each(const struct differences *d,
		     int (*each)(void *arg, const char *path,
				 const struct entry *a, const struct entry *b,
				 struct err *err),
		     void *arg, struct err *err)
{
	size_t i;

	for (i = 0; i < d->count; i++) {
		const struct difference *x = &d->items[i];
		int got = each(arg, x->path, x->a.mode ? &x->a : NULL,
			       x->b.mode ? &x->b : NULL, err);

		if (got < 0)
			return got;
	}
	return 0;
}

/* --- extended attributes --- */

/* The canonical bytes of a set, and the set of such bytes. -EBADMSG: damaged.
 */
static void attrset_encode(const struct xattrs *x, struct buf *to)
{
	size_t i;

	enc_var(to, x->count);
	for (i = 0; i < x->count; i++) {
		enc_text(to, x->items[i].name);
		enc_bytes(to, x->items[i].value, x->items[i].len);
	}
}

static int attrset_decode(const void *data, size_t len, struct xattrs *ret,
			  struct err *err)
{
	AUTO(xattrs) struct xattrs x = {0};
	struct dec d = dec_start(data, len);
	uint64_t count = dec_var(&d), i;

	for (i = 0; i < count && !d.bad; i++) {
		auto_free char *name = dec_text(&d);
		size_t n;
		const unsigned char *value = dec_bytes(&d, &n);

		/* Names ascend when written; otherwise one set would have two
		 * encodings. */
		if (!*name || (i && strcmp(x.items[i - 1].name, name) >= 0))
			d.bad = true;
		if (!d.bad)
			xattrs_add(&x, name, value, n);
	}
	if (!dec_end(&d))
		return fail(err, EBADMSG,
			    "the set of extended attributes is damaged");
	*ret = TAKE(x);
	return 0;
}

int attrset_load(struct store *s, const struct oid *id, struct xattrs *ret,
		 struct err *err)
{
	AUTO(buf) struct buf bytes = {0};

	*ret = (struct xattrs){0};
	if (id->type == OBJECT_NONE)
		return 0;
	if (store_get(s, id, &bytes, err) < 0)
		return -err->num;
	return attrset_decode(bytes.data, bytes.len, ret, err);
}

int attrset_save(struct store *s, const struct xattrs *x, struct oid *ret,
		 struct err *err)
{
	AUTO(buf) struct buf bytes = {0};

	*ret = (struct oid){0};
	if (!x->count)
		return 0;
	attrset_encode(x, &bytes);
	return store_put(s, OBJECT_ATTRSET, bytes.data, bytes.len, ret, err);
}
