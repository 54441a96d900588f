#include "snapshot/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"

/* The lowest that says all that there is to say. */
#define TREE_VERSION 1
#define TREE_VERSION_CHATTR 2
/* The shortest entry: bounds a count before memory is taken for it. */
#define ENTRY_LEN_MIN 8

/*
 * A tree object:
 *
 *	tree    = version count *entry      ; entries ascending by name's bytes
 *	version = var                       ; 1, 2 where an entry has chattr
 *	entry: see entry.c
 */
void tree_encode(const struct entry *entries, size_t count, struct buf *to)
{
	unsigned int version = TREE_VERSION;
	size_t i;

	for (i = 0; i < count; i++)
		if (entries[i].chattr)
			version = TREE_VERSION_CHATTR;
	enc_var(to, version);
	enc_var(to, count);
	for (i = 0; i < count; i++)
		entry_encode(to, &entries[i]);
}

int tree_decode(const void *data, size_t len, struct tree *ret, struct err *err)
{
	AUTO(tree) struct tree t = {0};
	struct dec d = dec_start(data, len);
	uint64_t version = dec_var(&d), count = dec_var(&d), i;
	uint32_t chattr = 0;

	if (!d.bad && version > TREE_VERSION_CHATTR)
		return fail(err, EPROTO,
			    "a tree of version %llu: written by a newer guard",
			    (unsigned long long)version);
	if (d.bad || !version || count > len / ENTRY_LEN_MIN)
		return fail(err, EBADMSG, "a damaged tree");
	t.room = count;
	t.entries = mem_resize(NULL, count, sizeof(*t.entries));
	for (i = 0; i < count; i++) {
		if (!entry_decode(&d, false, &t.entries[i]))
			break;
		t.count++;
		chattr |= t.entries[i].chattr;
		if (i && strcmp(t.entries[i - 1].name, t.entries[i].name) >= 0)
			d.bad = true;
	}
	if (!dec_end(&d) || !chattr != (version < TREE_VERSION_CHATTR))
		return fail(err, EBADMSG, "a damaged tree");
	*ret = t;
	t = (struct tree){0};
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
	GROW(t->entries, t->count, t->room);
	t->entries[t->count++] = *e;
	*e = (struct entry){0};
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name,
		      ((const struct entry *)b)->name);
}

struct entry *tree_find(const struct tree *t, const char *name)
{
	size_t low = 0, high = t->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strcmp(t->entries[mid].name, name);

		if (order == 0)
			return &t->entries[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static bool sorted(const struct tree *t)
{
	size_t i;

	for (i = 1; i < t->count; i++)
		if (strcmp(t->entries[i - 1].name, t->entries[i].name) >= 0)
			return false;
	return true;
}

int tree_save(struct store *s, struct tree *t, struct oid *ret, struct err *err)
{
	AUTO(buf) struct buf bytes = {0};
	size_t i;

	for (i = 0; i < t->count; i++)
		if (!entry_ok(&t->entries[i], false))
			return fail(err, EINVAL, "%s cannot be kept in a tree",
				    text_quote(t->entries[i].name
						       ? t->entries[i].name
						       : ""));
	if (!sorted(t))
		qsort(t->entries, t->count, sizeof(*t->entries), by_name);
	for (i = 1; i < t->count; i++)
		if (strcmp(t->entries[i - 1].name, t->entries[i].name) == 0)
			return fail(err, EEXIST, "%s is in the folder twice",
				    text_quote(t->entries[i].name));
	tree_encode(t->entries, t->count, &bytes);
	return store_put(s, OBJECT_TREE, bytes.data, bytes.len, ret, err);
}

int tree_load(struct store *s, const struct oid *id, struct tree *ret,
	      struct err *err)
{
	AUTO(buf) struct buf bytes = {0};

	if (id->type == OBJECT_NONE) {
		*ret = (struct tree){0};
		return 0;
	}
	if (id->type != OBJECT_TREE)
		return fail(err, EBADMSG, "a folder that refers to no tree");
	if (store_get(s, id, &bytes, err) < 0)
		return err_context(err, "read a folder of a snapshot");
	return tree_decode(bytes.data, bytes.len, ret, err);
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
		if (tree_load(s, &at.content, &t, err) < 0)
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
