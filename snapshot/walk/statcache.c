#include "snapshot/walk/statcache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/vec.h"
#include "snapshot/store/hash.h"
#include "snapshot/store/mapping.h"

#define CACHE_MAGIC "GUARDST1"
/* Marks the byte order. A cache never leaves its machine: a file with other
 * bytes here is foreign. */
#define CACHE_LAYOUT 0x01020304u

_Static_assert(sizeof(struct cache_entry) == 96, "no padding in the file");
_Static_assert(sizeof(struct cache_attrs) == 32, "no padding in the file");

/*
 * The file: header, directory records, entries, attribute references, names.
 * Numbers are in the machine's byte order.
 */
struct cache_header {
	char magic[8];
	uint32_t layout, header_len;
	struct cache_key key;
	uint64_t seq;
	uint64_t dirs, entries, attrs, names; /* counts; bytes of names */
	struct cache_entry root;
	uint64_t check; /* hash_check() of all bytes after the header */
	uint64_t header_hash; /* hash of the header up to this field */
};

struct statcache {
	struct mapping *mapping;
	const void *map; /* bytes of the mapping */
	size_t map_len;
	const struct cache_header *head;
	const struct cache_dir *dirs;
	const struct cache_entry *entries;
	const struct cache_attrs *attrs;
	const char *names;
};

void statcache_free(struct statcache **cache)
{
	if (!*cache)
		return;
	mapping_free(&(*cache)->mapping);
	free(*cache);
	*cache = NULL;
}

static uint64_t header_hash(const struct cache_header *h)
{
	return hash_check(h, offsetof(struct cache_header, header_hash));
}

static bool matches_cache_key(struct statcache *c, const struct cache_key *key)
{
	const struct cache_header *h = c->map;
	const char *at = (const char *)c->map + sizeof(*h);
	size_t left = c->map_len - sizeof(*h);

	if (memcmp(h->magic, CACHE_MAGIC, sizeof(h->magic)) != 0 ||
	    h->layout != CACHE_LAYOUT || h->header_len != sizeof(*h) ||
	    h->header_hash != header_hash(h) ||
	    memcmp(&h->key, key, sizeof(*key)) != 0)
		return false;
	if (h->dirs > left / sizeof(struct cache_dir))
		return false;
	left -= h->dirs * sizeof(struct cache_dir);
	if (h->entries > left / sizeof(struct cache_entry))
		return false;
	left -= h->entries * sizeof(struct cache_entry);
	if (h->attrs > left / sizeof(struct cache_attrs))
		return false;
	left -= h->attrs * sizeof(struct cache_attrs);
	if (h->names != left ||
	    h->check != hash_check_mapped(h, sizeof(*h), c->map_len))
		return false;
	c->head = h;
	c->dirs = (const void *)at;
	c->entries = (const void *)(c->dirs + h->dirs);
	c->attrs = (const void *)(c->entries + h->entries);
	c->names = (const void *)(c->attrs + h->attrs);
	/* Two NULs at the end: every name, and a link target behind it, ends
	 * within the mapping, for any offset. */
	return h->names >= 2 && !c->names[h->names - 1] &&
	       !c->names[h->names - 2];
}

struct statcache *statcache_open(const char *path, const struct cache_key *key)
{
	struct statcache *c;
	size_t len;
	struct mapping *mapping = mapping_open(
		AT_FDCWD, path, sizeof(struct cache_header), SIZE_MAX, &len);

	if (!mapping)
		return NULL;
	c = mem_zalloc(sizeof(*c));
	c->map_len = len;
	c->mapping = mapping;
	c->map = mapping_data(c->mapping);
	if (!matches_cache_key(c, key))
		statcache_free(&c);
	return c;
}

bool statcache_failed(const struct statcache *c)
{
	return mapping_failed(c->mapping);
}

uint64_t statcache_seq(const struct statcache *c)
{
	return c->head->seq;
}

const struct cache_entry *statcache_root(const struct statcache *c)
{
	return &c->head->root;
}

const struct cache_dir *statcache_dir(const struct statcache *c,
				      const struct cache_entry *e)
{
	if (!e->dir || e->dir > c->head->dirs)
		return NULL;
	return &c->dirs[e->dir - 1];
}

const struct cache_entry *statcache_entries(const struct statcache *c,
					    const struct cache_dir *dir,
					    size_t *ret_count)
{
	*ret_count = 0;
	if (dir->first > c->head->entries ||
	    dir->count > c->head->entries - dir->first)
		return NULL;
	*ret_count = dir->count;
	return c->entries + dir->first;
}

const char *statcache_name(const struct statcache *c,
			   const struct cache_entry *e)
{
	return e->name < c->head->names ? c->names + e->name : "";
}

const char *statcache_link(const struct statcache *c,
			   const struct cache_entry *e)
{
	const char *name = statcache_name(c, e);

	return *name ? name + strlen(name) + 1 : "";
}

struct oid statcache_content(const struct cache_entry *e)
{
	struct oid id = {
		.len = e->content_len,
		.ord = e->content_ord,
		.type = e->content_type,
	};

	if (id.type == OBJECT_NONE)
		return (struct oid){0};
	memcpy(id.hash, e->content_hash, sizeof(id.hash));
	return id;
}

static const struct cache_attrs *find_cache_attrs(const struct statcache *c,
						  const struct cache_entry *e)
{
	if (!e->attrs || e->attrs > c->head->attrs)
		return NULL;
	return &c->attrs[e->attrs - 1];
}

struct oid statcache_attrs(const struct statcache *c,
			   const struct cache_entry *e)
{
	const struct cache_attrs *a = find_cache_attrs(c, e);
	struct oid id;

	if (!a || a->type == OBJECT_NONE)
		return (struct oid){0};
	id = (struct oid){.len = a->len, .ord = a->ord, .type = a->type};
	memcpy(id.hash, a->hash, sizeof(id.hash));
	return id;
}

uint32_t statcache_chattr(const struct statcache *c,
			  const struct cache_entry *e)
{
	const struct cache_attrs *a = find_cache_attrs(c, e);

	return a ? a->chattr : 0;
}

void statcache_meta(const struct statcache *c, const struct cache_entry *e,
		    struct meta *ret)
{
	*ret = (struct meta){
		.mode = e->mode,
		.uid = e->uid,
		.gid = e->gid,
		.nlink = e->nlink,
		.chattr = statcache_chattr(c, e),
		.size = e->size,
		.dev = c->head->key.dev,
		.ino = e->ino,
		.rdev = e->content_type == OBJECT_NONE ? e->content_len : 0,
		.mtime = {e->mtime_sec, e->mtime_nsec},
		.ctime = {e->ctime_sec, e->ctime_nsec},
	};
}

bool statcache_same(const struct statcache *c, const struct cache_entry *e,
		    const struct meta *m)
{
	return e->ino == m->ino && e->size == m->size &&
	       e->ctime_sec == m->ctime.sec && e->ctime_nsec == m->ctime.nsec &&
	       e->mtime_sec == m->mtime.sec && e->mtime_nsec == m->mtime.nsec &&
	       e->mode == m->mode && e->uid == m->uid && e->gid == m->gid &&
	       e->nlink == m->nlink && m->dev == c->head->key.dev;
}

/* --- writing --- */

/* A subtree of the old cache that is still to be copied, and the number of the
 * new entry that gets its directory number. */
struct pending_copy {
	const struct cache_entry *old;
	size_t entry;
};

struct cache_builder {
	struct buf dirs, entries, attrs, names;
	VEC(struct pending_copy) pending;
	size_t first; /* first entry of the directory that is being built */
};

struct cache_builder *cache_builder_new(void)
{
	return mem_zalloc(sizeof(struct cache_builder));
}

void cache_builder_free(struct cache_builder **b)
{
	if (!*b)
		return;
	buf_free(&(*b)->dirs);
	buf_free(&(*b)->entries);
	buf_free(&(*b)->attrs);
	buf_free(&(*b)->names);
	VEC_FREE(&(*b)->pending);
	free(*b);
	*b = NULL;
}

static uint32_t add_cache_name(struct cache_builder *b, const char *name,
			       const char *link)
{
	uint32_t at = (uint32_t)b->names.len;

	buf_add(&b->names, name, strlen(name) + 1);
	if (link)
		buf_add(&b->names, link, strlen(link) + 1);
	return at;
}

static uint32_t add_cache_attrs(struct cache_builder *b, struct oid id,
				uint32_t chattr)
{
	struct cache_attrs a = {.chattr = chattr};

	if (id.type == OBJECT_NONE && !chattr)
		return 0;
	if (id.type != OBJECT_NONE) {
		memcpy(a.hash, id.hash, sizeof(a.hash));
		a.len = id.len;
		a.ord = id.ord;
		a.type = id.type;
	}
	buf_add(&b->attrs, &a, sizeof(a));
	return (uint32_t)(b->attrs.len / sizeof(a));
}

static struct cache_entry make_cache_entry(struct cache_builder *b,
					   const struct cache_item *it)
{
	const struct meta *m = it->meta;
	/* The tree of a directory is in its record. */
	bool is_dir = S_ISDIR(m->mode);
	struct cache_entry e = {
		.ino = m->ino,
		.size = m->size,
		.mtime_sec = m->mtime.sec,
		.ctime_sec = m->ctime.sec,
		.mtime_nsec = m->mtime.nsec,
		.ctime_nsec = m->ctime.nsec,
		.mode = m->mode,
		.uid = m->uid,
		.gid = m->gid,
		.nlink = m->nlink,
		.name = add_cache_name(b, it->name, it->link),
		.dir = it->dir,
		.attrs = add_cache_attrs(b, it->attrs, m->chattr),
		.content_type = is_dir ? OBJECT_NONE : it->content.type,
		.flags = (uint8_t)it->flags,
		.content_ord = it->content.ord,
		.content_len = is_dir || it->content.type == OBJECT_NONE
				       ? m->rdev
				       : it->content.len,
	};

	if (e.content_type != OBJECT_NONE)
		memcpy(e.content_hash, it->content.hash,
		       sizeof(e.content_hash));
	return e;
}

static uint32_t add_cache_dir(struct cache_builder *b, const struct oid *tree,
			      size_t first, size_t count)
{
	struct cache_dir f;

	memset(&f, 0, sizeof(f));
	f.first = first;
	f.count = (uint32_t)count;
	memcpy(f.tree.hash, tree->hash, sizeof(f.tree.hash));
	f.tree.len = tree->len;
	f.tree.ord = tree->ord;
	f.tree.type = tree->type;
	buf_add(&b->dirs, &f, sizeof(f));
	return (uint32_t)(b->dirs.len / sizeof(f) - 1);
}

static size_t builder_entry_count(const struct cache_builder *b)
{
	return b->entries.len / sizeof(struct cache_entry);
}

static void push_pending_copy(struct cache_builder *b,
			      const struct cache_entry *old, size_t entry)
{
	*VEC_ADD(&b->pending) = (struct pending_copy){old, entry};
}

/* Copies one directory of the old cache; directories below it become
 * pending. */
static void copy_cached_dir(struct cache_builder *b,
			    const struct statcache *old, struct pending_copy p)
{
	const struct cache_dir *f = statcache_dir(old, p.old);
	size_t first = builder_entry_count(b), count = 0, i;
	const struct cache_entry *from;
	uint32_t number;

	if (!f)
		return;
	from = statcache_entries(old, f, &count);
	for (i = 0; i < count; i++) {
		struct cache_entry e = from[i];

		e.name = add_cache_name(
			b, statcache_name(old, &from[i]),
			S_ISLNK(e.mode) ? statcache_link(old, &from[i]) : NULL);
		e.attrs = add_cache_attrs(b, statcache_attrs(old, &from[i]),
					  statcache_chattr(old, &from[i]));
		e.dir = 0;
		buf_add(&b->entries, &e, sizeof(e));
		if (from[i].dir)
			push_pending_copy(b, &from[i], first + i);
	}
	number = add_cache_dir(b, &f->tree, first, count);
	((struct cache_entry *)(void *)b->entries.data)[p.entry].dir =
		number + 1;
}

void cache_builder_add(struct cache_builder *b, const struct cache_item *item)
{
	struct cache_entry e = make_cache_entry(b, item);

	if (item->old)
		push_pending_copy(b, item->old, builder_entry_count(b));
	buf_add(&b->entries, &e, sizeof(e));
}

uint32_t cache_builder_end_dir(struct cache_builder *b, const struct oid *tree,
			       const struct statcache *old)
{
	uint32_t number = add_cache_dir(b, tree, b->first,
					builder_entry_count(b) - b->first);

	while (b->pending.count)
		copy_cached_dir(b, old, b->pending.items[--b->pending.count]);
	b->first = builder_entry_count(b);
	return number;
}

int cache_builder_save(struct cache_builder *b, const char *path,
		       const struct cache_key *key, uint64_t seq,
		       const struct cache_item *root, struct err *err)
{
	const struct buf *const bufs[] = {&b->dirs, &b->entries, &b->attrs,
					  &b->names};
	struct cache_header h;
	struct iovec parts[5] = {{&h, sizeof(h)}};
	size_t i;

	memset(&h, 0, sizeof(h));
	memcpy(h.magic, CACHE_MAGIC, sizeof(h.magic));
	h.layout = CACHE_LAYOUT;
	h.header_len = sizeof(h);
	h.key = *key;
	h.seq = seq;
	h.root = make_cache_entry(b, root);
	buf_add(&b->names, "\0", 2);
	h.dirs = b->dirs.len / sizeof(struct cache_dir);
	h.entries = builder_entry_count(b);
	h.attrs = b->attrs.len / sizeof(struct cache_attrs);
	h.names = b->names.len;
	if (h.names > UINT32_MAX || h.entries > UINT32_MAX)
		return fail(err, EFBIG, "too many names for a stat cache");
	for (i = 0; i < 4; i++)
		parts[i + 1] = (struct iovec){bufs[i]->data, bufs[i]->len};
	h.check = hash_check_parts(parts + 1, 4);
	h.header_hash = header_hash(&h);
	return atomic_write_parts(AT_FDCWD, path, parts, 5, 0600,
				  ATOMIC_NO_SYNC, err);
}
