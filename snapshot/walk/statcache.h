/*
 * The stat cache: what the last snapshot of a folder saw, so that the next one
 * reads only what changed. It is a cache: damaged, torn, foreign or outdated
 * ones are ignored, and it is written without a sync.
 *
 * It lies in memory as it lies in the file (mmap), folders linked by number:
 * an entry that is a folder names its own record. A walk that goes down two
 * trees side by side therefore needs no search. Only guard writes it, in its
 * own state; it is checked as a whole when opened and never trusted for a
 * number it did not check.
 *
 * An entry is good for reuse when statcache_same() says so and it has no
 * CACHE_UNTRUSTED: that one was too young when it was read (take.c says why).
 * The objects it names are in the store as long as the snapshot it was made
 * with is, or one with the same root tree: the caller compares seq and tree.
 */
#ifndef GUARD_SNAPSHOT_WALK_STATCACHE_H
#define GUARD_SNAPSHOT_WALK_STATCACHE_H

#include "base/meta.h"
#include "snapshot/store/store.h"

enum cache_flags {
	CACHE_UNTRUSTED = 1, /* read it again next time */
};

/* As in the file; 96 bytes. */
struct cache_entry {
	uint64_t ino, size;
	int64_t mtime_sec, ctime_sec;
	uint32_t mtime_nsec, ctime_nsec;
	uint32_t mode, uid, gid, nlink;
	uint32_t name; /* offset in names; a link's text follows its NUL */
	uint32_t dir; /* number of its record + 1, 0: none */
	uint32_t attrs; /* number of its cache_attrs + 1, 0: none */
	uint8_t content_type, flags;
	uint16_t content_ord;
	uint64_t content_len; /* of a device node: its rdev */
	unsigned char content_hash[16];
};

/* What few entries have. */
struct cache_attrs {
	unsigned char hash[16];
	uint64_t len;
	uint16_t ord;
	uint8_t type, zero;
	uint32_t chattr;
};

struct cache_dir {
	uint64_t first; /* entry */
	uint32_t count;
	uint32_t spare;
	struct oid tree;
};

/* What a cache belongs to. All must fit for it to be used. */
struct cache_key {
	uint64_t store; /* number of the store's FORMAT */
	uint64_t path; /* number of the root's path */
	uint64_t dev, ino; /* of the root */
};

struct statcache;

/* NULL when there is none that fits. */
struct statcache *statcache_open(const char *path, const struct cache_key *key);
void statcache_free(struct statcache **cache);
/* Part of it could not be read after it was opened (see mapping.h): nothing
 * that was taken from it may be used. */
bool statcache_failed(const struct statcache *c);

/* The snapshot it was made with, and that one's root. */
uint64_t statcache_seq(const struct statcache *c);
const struct cache_entry *statcache_root(const struct statcache *c);

/* An entry's folder record, NULL when it has none. */
const struct cache_dir *statcache_dir(const struct statcache *c,
				      const struct cache_entry *e);
/* The record's entries, sorted by name; a damaged record has none. */
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
/* Equal in all that stat says; the device is the root's. */
bool statcache_same(const struct statcache *c, const struct cache_entry *e,
		    const struct meta *m);

/* --- writing --- */

struct cache_builder;
struct cache_builder *cache_builder_new(void);
void cache_builder_free(struct cache_builder **b);

struct cache_item {
	const char *name, *link; /* link: NULL when it is none */
	const struct meta *meta;
	struct oid content, attrs;
	unsigned int flags;
	/* Folders: the number cache_builder_end_dir() gave + 1, or old: the
	 * entry in an older cache whose whole subtree is taken over. */
	uint32_t dir;
	const struct cache_entry *old;
};

/* Adds an entry to the folder that is ended next, in order of their names. */
void cache_builder_add(struct cache_builder *b, const struct cache_item *item);
/* Ends a folder of all that was added since the last; returns its number. */
uint32_t cache_builder_end_dir(struct cache_builder *b, const struct oid *tree,
			       const struct statcache *old);

/* Writes and renames; root is the root's own entry. Nothing is synced. */
int cache_builder_save(struct cache_builder *b, const char *path,
		       const struct cache_key *key, uint64_t seq,
		       const struct cache_item *root, struct err *err);

#endif
