#include "snapshot/tree/changed_paths.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/vec.h"
#include "snapshot/store/hash.h"
#include "snapshot/store/mapping.h"
#include "snapshot/store/store.h"
#include "snapshot/store/store_dir.h"
#include "snapshot/tree/catalog.h"
#include "snapshot/tree/tree.h"

/*
 * The file `changed-paths` of the store, in the byte order of the machine and
 * mapped as it is:
 *
 *	file     = "GUARDCP2" check:8 count:8 hashes:8 *snapshot *hash
 *	snapshot = struct changed_snapshot
 *	hash     = changed_paths_hash() of a path in the root:4
 *
 * check: XXH3-64 of all behind it.
 */
#define FILE_NAME CATALOG_CHANGED_PATHS
#define MAGIC "GUARDCP2"
#define MAGIC_LEN 8
#define FILE_MAX (256u << 20)

struct file_head {
	char magic[MAGIC_LEN];
	uint64_t check, count, hashes;
};

#define CHECKED_FROM offsetof(struct file_head, count)

/* So many paths cost as much as the snapshot itself. */
#define PATHS_MAX 4096

/* When more numbers may be new, the snapshots are listed instead of tried one
 * by one: most of them may have been pruned. */
#define TRIED_MAX 64

void changed_paths_free(struct changed_paths **c)
{
	struct changed_paths *freed = *c;

	if (!freed)
		return;
	*c = NULL;
	mapping_free(&freed->file);
	free(freed);
}

/* --- reading --- */

static bool decode(struct changed_paths *c, const void *file, size_t len)
{
	const struct file_head *head = file;
	const struct changed_snapshot *items = (const void *)(head + 1);
	uint64_t i;

	if (memcmp(head->magic, MAGIC, MAGIC_LEN) != 0 ||
	    head->count > len / sizeof(*items) || head->hashes > len / 4 ||
	    len != sizeof(*head) + head->count * sizeof(*items) +
			    head->hashes * 4 ||
	    head->check != hash_check((const char *)file + CHECKED_FROM,
				      len - CHECKED_FROM))
		return false;
	for (i = 0; i < head->count; i++)
		if (items[i].first > head->hashes ||
		    items[i].count > head->hashes - items[i].first ||
		    (i && items[i].seq <= items[i - 1].seq))
			return false;
	c->items = items;
	c->count = head->count;
	c->hashes = (const void *)(items + head->count);
	return true;
}

struct changed_paths *changed_paths_open(struct store *store)
{
	struct changed_paths *c = mem_zalloc(sizeof(*c));
	size_t len;

	c->file = mapping_open(store_root_fd(store), FILE_NAME,
			       sizeof(struct file_head), FILE_MAX, &len);
	if (c->file && !decode(c, mapping_data(c->file), len))
		mapping_free(&c->file);
	return c;
}

static uint64_t last_seq(const struct changed_paths *c)
{
	return c->count ? c->items[c->count - 1].seq : 0;
}

int changed_paths_newer(const struct changed_paths *c, struct store *store,
			uint64_t **ret, size_t *ret_count, struct err *err)
{
	uint64_t last = last_seq(c), newest, *seqs;
	size_t count = 0, i;

	if (catalog_newest(store, &newest, err) < 0)
		return -err->num;
	if (newest > last && newest - last > TRIED_MAX) {
		if (catalog_list(store, &seqs, &count, err) < 0)
			return -err->num;
		for (i = 0; i < count && seqs[i] <= last; i++)
			;
		memmove(seqs, seqs + i, (count - i) * sizeof(*seqs));
		count -= i;
	} else {
		seqs = mem_resize(NULL, TRIED_MAX, sizeof(*seqs));
		while (last < newest)
			seqs[count++] = ++last;
	}
	*ret = seqs;
	*ret_count = count;
	return 0;
}

static bool load_of_root(struct store *store, uint64_t seq,
			 const char *root_path, struct snapshot *ret)
{
	AUTO(snapshot) struct snapshot s = {0};
	struct err ignored;

	if (catalog_load(store, seq, &s, &ignored) < 0 ||
	    snapshot_is_hidden(&s) || strcmp(s.root_path, root_path) != 0)
		return false;
	*ret = TAKE(s);
	return true;
}

int changed_paths_find_newest(struct store *store, const char *root_path,
			      struct snapshot *ret, struct err *err)
{
	struct changed_paths *c = changed_paths_open(store);
	uint32_t root = changed_paths_hash(root_path);
	auto_free uint64_t *newer = NULL;
	size_t count, i;
	int got = changed_paths_newer(c, store, &newer, &count, err);
	bool found = got < 0;

	while (!found && count--)
		found = load_of_root(store, newer[count], root_path, ret);
	for (i = c->count; !found && i-- > 0;)
		if (!c->items[i].root || c->items[i].root == root)
			found = load_of_root(store, c->items[i].seq, root_path,
					     ret);
	changed_paths_free(&c);
	return got;
}

uint32_t changed_paths_hash(const char *text)
{
	return (uint32_t)store_hash_text(text);
}

bool changed_paths_has(const struct changed_paths *c,
		       const struct changed_snapshot *s, uint32_t hash)
{
	uint64_t i;

	for (i = 0; i < s->count; i++)
		if (c->hashes[s->first + i] == hash)
			return true;
	return false;
}

/* --- writing --- */

/* The last snapshot of a root that the next one is compared with. */
struct base {
	uint32_t root, seq;
	struct entry tree; /* mode 0: not loaded */
};

struct update {
	struct store *store;
	const struct changed_paths *old;
	VEC(struct changed_snapshot) items;
	VEC(uint32_t) hashes;
	VEC(struct base) bases;
	size_t first; /* hashes of the present snapshot */
};

static void update_free(struct update *u)
{
	size_t i;

	free(u->items.items);
	free(u->hashes.items);
	for (i = 0; i < u->bases.count; i++)
		entry_free(&u->bases.items[i].tree);
	free(u->bases.items);
}

static struct base *base_of(struct update *u, uint32_t root)
{
	struct base *b;
	size_t i;

	for (i = 0; i < u->bases.count; i++)
		if (u->bases.items[i].root == root)
			return &u->bases.items[i];
	b = VEC_ADD(&u->bases);
	*b = (struct base){.root = root};
	return b;
}

static void add_hash(struct update *u, const char *path, size_t len)
{
	auto_free char *text = mem_strndup(path, len);
	uint32_t hash = changed_paths_hash(text);
	size_t i;

	for (i = u->hashes.count; i > u->first; i--)
		if (u->hashes.items[i - 1] == hash)
			return;
	*VEC_ADD(&u->hashes) = hash;
}

/* The path and the directories above it. A result of 1 ends the comparison. */
static int hash_changed_path(void *arg, const char *path, const struct entry *a,
			     const struct entry *b, struct err *err)
{
	struct update *u = arg;
	size_t len = strlen(path);

	(void)a;
	(void)b;
	if (u->hashes.count - u->first >= PATHS_MAX)
		return fail(err, E2BIG, "too many paths");
	for (;;) {
		add_hash(u, path, len);
		if (!len)
			return 0;
		while (len && path[len - 1] != '/')
			len--;
		len -= len != 0;
	}
}

static bool is_comparable(const struct snapshot *s)
{
	size_t i;

	for (i = 0; i < s->note_count; i++)
		if (s->notes[i].kind != NOTE_MOVED)
			return false;
	return s->root.mode && !(s->root.flags & ENTRY_INCOMPLETE) &&
	       !s->excludes;
}

static bool load_base_tree(struct update *u, struct base *b)
{
	AUTO(snapshot) struct snapshot s = {0};
	struct err ignored;

	if (!b->tree.mode && catalog_load(u->store, b->seq, &s, &ignored) == 0)
		entry_copy(&b->tree, &s.root);
	return b->tree.mode != 0;
}

static void add_new(struct update *u, uint64_t seq)
{
	struct changed_snapshot item = {.seq = (uint32_t)seq};
	AUTO(snapshot) struct snapshot s = {0};
	struct base *b;
	struct err ignored;

	u->first = u->hashes.count;
	if (catalog_load(u->store, seq, &s, &ignored) == 0) {
		item.root = changed_paths_hash(s.root_path);
		item.flags = CHANGED_UNKNOWN;
	}
	if (item.root && is_comparable(&s)) {
		item.run = *s.run_id ? changed_paths_hash(s.run_id) : 0;
		item.flags =
			(snapshot_of_run(&s) ? CHANGED_OF_RUN : 0) |
			(*s.command ? CHANGED_COMMAND : 0) |
			(strcmp(s.reason, "during-run") == 0 ? CHANGED_DURING
							     : 0);
		b = base_of(u, item.root);
		/* A timeline is looked into, whatever the path. */
		if (strcmp(s.reason, CATALOG_TIMELINE) == 0)
			item.before = 0;
		else if (snapshot_is_hidden(&s))
			item.before = b->seq;
		else if (b->seq && load_base_tree(u, b) &&
			 tree_diff(u->store, &b->tree, &s.root,
				   hash_changed_path, u, &ignored) == 0) {
			item.before = b->seq;
			item.first = (uint32_t)u->first;
			item.count = (uint32_t)(u->hashes.count - u->first);
		} else {
			u->hashes.count = u->first;
		}
		if (!(item.flags & CHANGED_OF_RUN)) {
			b->seq = item.seq;
			entry_free(&b->tree);
			entry_copy(&b->tree, &s.root);
		}
	}
	*VEC_ADD(&u->items) = item;
}

static void add_known(struct update *u, const struct changed_snapshot *s)
{
	struct changed_snapshot item = *s;
	uint64_t i;

	item.first = (uint32_t)u->hashes.count;
	for (i = 0; i < s->count; i++)
		*VEC_ADD(&u->hashes) = u->old->hashes[s->first + i];
	if (item.root && !(item.flags & (CHANGED_OF_RUN | CHANGED_UNKNOWN))) {
		struct base *b = base_of(u, item.root);

		b->seq = item.seq;
		entry_free(&b->tree);
	}
	*VEC_ADD(&u->items) = item;
}

static void encode(const struct update *u, struct buf *to)
{
	struct file_head head = {
		.magic = MAGIC,
		.count = u->items.count,
		.hashes = u->hashes.count,
	};

	buf_add(to, &head, sizeof(head));
	buf_add(to, u->items.items, u->items.count * sizeof(*u->items.items));
	buf_add(to, u->hashes.items, u->hashes.count * 4);
	head.check =
		hash_check(to->data + CHECKED_FROM, to->len - CHECKED_FROM);
	memcpy(to->data, &head, sizeof(head));
}

static void update(struct store *store, const struct changed_paths *old,
		   size_t least)
{
	AUTO(update) struct update u = {.store = store, .old = old};
	auto_free uint64_t *newer = NULL, *seqs = NULL;
	AUTO(buf) struct buf bytes = {0};
	size_t count, known, i, k = 0;
	struct err ignored;

	if (changed_paths_newer(old, store, &newer, &count, &ignored) < 0 ||
	    !count || count < least ||
	    catalog_list(store, &seqs, &count, &ignored) < 0 || !count)
		return;
	/* The items of the first `known` snapshots are known. A snapshot
	 * without one before the last item was restored by hand, or by an
	 * undelete at the same time: items behind it are made again. */
	for (known = 0; known < count && k < old->count; k++)
		if (old->items[k].seq == seqs[known])
			known++;
		else if (old->items[k].seq > seqs[known])
			break;
	for (i = k = 0; i < known; i++) {
		while (old->items[k].seq != seqs[i])
			k++;
		add_known(&u, &old->items[k]);
	}
	for (; i < count; i++)
		add_new(&u, seqs[i]);
	encode(&u, &bytes);
	(void)store_dir_put_cache(store_get_dir(store), FILE_NAME, &bytes,
				  &ignored);
}

void changed_paths_update(struct store *store, size_t least)
{
	struct changed_paths *old = changed_paths_open(store);

	update(store, old, least);
	changed_paths_free(&old);
}
