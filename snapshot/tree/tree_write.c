#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/text.h"
#include "snapshot/store/store_dir.h"
#include "snapshot/tree/tree.h"

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

static bool begins_tree_part(const struct tree_writer *w, const char *name)
{
	uint64_t number = hash_check(name, strlen(name));

	return !(hash_derive(store_get_dir(w->store)->key.secret, number) &
		 (PART_COUNT - 1));
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
		return fail(err, EINVAL, "%s cannot be kept in a tree",
			    text_quote(e->name ? e->name : ""));
	if (!order)
		return fail(err, EEXIST, "%s is in the folder twice",
			    text_quote(e->name));
	if (w->split && w->count && begins_tree_part(w, e->name) &&
	    end_tree_part(w, err) < 0)
		return -err->num;
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

static int compare_entry_names(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name,
		      ((const struct entry *)b)->name);
}

static bool is_tree_sorted(const struct tree *t)
{
	size_t i;

	for (i = 1; i < t->count; i++)
		if (strcmp(t->entries[i - 1].name, t->entries[i].name) > 0)
			return false;
	return true;
}

int tree_save(struct store *s, struct tree *t, struct oid *ret, struct err *err)
{
	AUTO(tree_writer)
	struct tree_writer *w = tree_writer_new(s, t->count);
	size_t i;

	for (i = 0; i < t->count; i++)
		if (!entry_ok(&t->entries[i], false))
			return fail(err, EINVAL, "%s cannot be kept in a tree",
				    text_quote(t->entries[i].name
						       ? t->entries[i].name
						       : ""));
	if (!is_tree_sorted(t))
		qsort(t->entries, t->count, sizeof(*t->entries),
		      compare_entry_names);
	for (i = 0; i < t->count; i++)
		if (tree_writer_add(w, &t->entries[i], err) < 0)
			return -err->num;
	return tree_writer_end(w, ret, err);
}
