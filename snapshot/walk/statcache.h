/*
 * The stat cache: the entries of a directory as its last snapshot saw them, so
 * that the next snapshot reads only changed files. A damaged, torn, foreign or
 * outdated cache is ignored, and the file is written without a sync.
 *
 * Memory and file have the same layout (mmap). Directories are linked by
 * number: an entry of a directory has the number of its record, so a walk along
 * two trees side by side needs no search. Only guard writes the file, in its
 * own state. The whole file is checked when it is opened, and no number is used
 * unchecked.
 *
 * An entry may be reused when statcache_same() says so and CACHE_UNTRUSTED is
 * not set: an entry with that flag was too young when it was read (take.c has
 * the reason). The objects of the entries are in the store as long as the
 * snapshot of the cache is, or another one with the same root tree: the caller
 * compares statcache_seq() and the tree.
 *
 * To read: statcache_open(), statcache_root(), statcache_dir(),
 * statcache_entries(). To write: cache_builder_add() for the entries of a
 * directory, cache_builder_end_dir(), and at the end cache_builder_save().
 */
#ifndef GUARD_SNAPSHOT_WALK_STATCACHE_H
#define GUARD_SNAPSHOT_WALK_STATCACHE_H

#include "base/meta.h"
#include "snapshot/store/store.h"

enum cache_flags {
	CACHE_UNTRUSTED = 1, /* the next snapshot reads it again */
};

/* An entry as in the file; 96 bytes. */
struct cache_entry {
	uint64_t ino, size;
	int64_t mtime_sec, ctime_sec;
	uint32_t mtime_nsec, ctime_nsec;
	uint32_t mode, uid, gid, nlink;
	uint32_t name; /* offset in names; a link's target is behind its NUL */
	uint32_t dir; /* number of the directory's record + 1; 0: none */
	uint32_t attrs; /* number of the cache_attrs + 1; 0: none */
	uint8_t content_type, flags;
	uint16_t content_ord;
	uint64_t content_len; /* for a device node: rdev */
	unsigned char content_hash[16];
};

/* Values that few entries have. */
struct cache_attrs {
	unsigned char hash[16];
	uint64_t len;
	uint16_t ord;
	uint8_t type, zero;
	uint32_t chattr;
};

struct cache_dir {
	uint64_t first; /* number of the first entry */
	uint32_t count;
	uint32_t spare;
	struct oid tree;
};

/* Identity of a cache. A cache is used only when all fields are equal. */
struct cache_key {
	uint64_t store; /* hash of the store's FORMAT */
	uint64_t path; /* hash of the root's path and the excludes */
	uint64_t dev, ino; /* device and inode of the root */
};

struct statcache;

/* Opens and checks the cache in file `path`; the caller's to free. NULL when
 * there is none, or it is damaged or has another key. Pointers from the
 * functions below are valid until statcache_free(). */
struct statcache *statcache_open(const char *path, const struct cache_key *key);
void statcache_free(struct statcache **cache);
/* Whether a part could not be read after the open (see mapping.h): no value
 * that came from the cache may be used then. */
bool statcache_failed(const struct statcache *c);

/* Number of the snapshot that the cache was made with, and the root of that
 * snapshot. */
uint64_t statcache_seq(const struct statcache *c);
const struct cache_entry *statcache_root(const struct statcache *c);

/* The record of a directory's entry; NULL: none. */
const struct cache_dir *statcache_dir(const struct statcache *c,
				      const struct cache_entry *e);
/* The entries of a record, sorted by name; a damaged record has none. The
 * functions below return single values of an entry. */
const struct cache_entry *statcache_entries(const struct statcache *c,
					    const struct cache_dir *dir,
					    size_t *ret_count);
const char *statcache_name(const struct statcache *c,
			   const struct cache_entry *e);
const char *statcache_link(const struct statcache *c,
			   const struct cache_entry *e);
struct oid statcache_content(const struct cache_entry *e);
struct oid statcache_attrs(const struct statcache *c,
			   const struct cache_entry *e);
uint32_t statcache_chattr(const struct statcache *c,
			  const struct cache_entry *e);
void statcache_meta(const struct statcache *c, const struct cache_entry *e,
		    struct meta *ret);
/* Whether all values of stat are equal. The device is compared with the
 * root's. */
bool statcache_same(const struct statcache *c, const struct cache_entry *e,
		    const struct meta *m);

/* --- writing --- */

struct cache_builder;
/* An empty cache to fill; the caller's to free. */
struct cache_builder *cache_builder_new(void);
void cache_builder_free(struct cache_builder **b);

struct cache_item {
	/* link: target of a symbolic link, else NULL */
	const char *name, *link;
	const struct meta *meta;
	struct oid content, attrs;
	unsigned int flags;
	/* For a directory: the result of cache_builder_end_dir() + 1, or old:
	 * its entry in an older cache, whose whole subtree is copied. */
	uint32_t dir;
	const struct cache_entry *old;
};

/* Adds an entry to the directory that is ended next. Entries come in the order
 * of their names; strings are copied. */
void cache_builder_add(struct cache_builder *b, const struct cache_item *item);
/* Ends a directory: its entries are all that were added since the last call.
 * Returns the directory's number. `old`: the cache of the `old` entries, or
 * NULL. */
uint32_t cache_builder_end_dir(struct cache_builder *b, const struct oid *tree,
			       const struct statcache *old);

/* Writes the cache under a temporary name and renames it, without a sync. root:
 * the entry of the root itself. Returns 0 or a negative errno. */
int cache_builder_save(struct cache_builder *b, const char *path,
		       const struct cache_key *key, uint64_t seq,
		       const struct cache_item *root, struct err *err);

#endif
