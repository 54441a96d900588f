/*
 * The store: objects kept once, in packs, for good.
 *
 * An object is a run of bytes with a type. Its identity is its keyed hash
 * (XXH3-128 with a secret of this store) *and* its bytes: every hit of the
 * hash is compared byte by byte before it counts as known, and objects of
 * equal hash and other bytes live side by side under (hash, ordinal). An
 * unkeyed XXH3-128 can be forged at will, and a secret alone still collides
 * for structured pairs with probability 2^-26. (Chunks of a long file that its
 * version before had are known by a stronger mark before they come here: see
 * past.h.)
 *
 * Order of calls: store_open, any number of store_put and store_get from any
 * thread, store_flush (everything put before is durable and in its pack),
 * store_free. What was put and not flushed is gone with the process, and only
 * that. A killed process leaves at most files in tmp/ or packs that nothing
 * refers to; the next snapshot finds and uses them.
 *
 * A child that is forked while a store is open keeps its locks and must not
 * free it: exec (all descriptors are O_CLOEXEC), or _exit.
 *
 * Folder: FORMAT, secret, lock, packs/, snaps/, tmp/, trash/. It, packs/
 * and snaps/ are 0500 at rest. Nothing here touches anything outside it.
 */
#ifndef GUARD_SNAPSHOT_STORE_STORE_H
#define GUARD_SNAPSHOT_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

enum object_type {
	OBJECT_NONE = 0, /* no object: an empty file, no attributes */
	OBJECT_DATA = 1,
	OBJECT_TREE = 2,
	OBJECT_CHUNKLIST = 3,
	OBJECT_ATTRSET = 4,
};

/* A reference. Compare with oid_equal(); never print one where a run reads. */
struct oid {
	unsigned char hash[16];
	uint64_t len; /* bytes of the object, not compressed */
	uint16_t ord;
	uint8_t type; /* enum object_type */
};

bool oid_equal(const struct oid *a, const struct oid *b);

struct store;

enum store_mode {
	STORE_READ, /* no lock; -ENOENT when there is none */
	STORE_WRITE, /* made when missing; lock shared until store_free() */
};

/*
 * dir: the store's folder (its parent must exist). A store of a newer format
 * is refused (-EPROTO), a damaged FORMAT or secret named (-EBADMSG).
 */
int store_open(struct store **ret, const char *dir, enum store_mode mode,
	       struct err *err);
void store_free(struct store **store); /* NULL inside is fine */

/*
 * Keeps the bytes and says how they are called from now on. len <= 1 GiB.
 * Known bytes cost a compare and no space. Thread-safe.
 */
int store_put(struct store *s, enum object_type type, const void *data,
	      size_t len, struct oid *ret, struct err *err);

/*
 * Appends the object's bytes to `to`, verified against their hash. -ENOENT: no
 * such object; -EBADMSG: damaged. Thread-safe.
 */
int store_get(struct store *s, const struct oid *id, struct buf *to,
	      struct err *err);

/* Whether an object of this name is there (not read). */
bool store_has(struct store *s, const struct oid *id);

/*
 * Where about the object lies: reading many objects in the order of these
 * numbers goes through each pack once, from its start. UINT64_MAX: in no pack
 * (yet).
 */
uint64_t store_position(struct store *s, const struct oid *id);

/*
 * Records, index, fdatasync of each open pack, rename into packs/, fsync of
 * packs/. A failed sync aborts: -EIO and nothing of this process's open packs
 * may be referred to.
 */
int store_flush(struct store *s, struct err *err);

/*
 * The same in parts, for the catalog. begin: all that was put is on its way to
 * the disk, and nobody has waited for it. locked, by who holds the commit lock:
 * it is there. end, always, once the lock was given back. Whoever puts
 * something in between waits, so it must not be the caller.
 */
int store_flush_begin(struct store *s, struct err *err);
int store_flush_locked(struct store *s, struct err *err);
void store_flush_end(struct store *s);

/* Looks for packs that other processes have added since. */
int store_refresh(struct store *s, struct err *err);

/*
 * From now on store_put() fails with -ENOSPC, and a text that has the sizes and
 * the way out, before less than min_free bytes of the disk are free, or the
 * packs take more than max_size (0: no matter). What was put and not flushed
 * is gone then, as with any failure. min_free UINT64_MAX: one percent of the
 * disk, at most 256 MiB.
 */
void store_limit(struct store *s, uint64_t min_free, uint64_t max_size);

/* A 64-bit number for a text, the same in every store: for names of folders
 * of workspaces, never for identity of contents. */
uint64_t store_hash_text(const char *text);

/* Folder of the store, open, borrowed; for the catalog. */
int store_root_fd(const struct store *s);

/*
 * The commit lock: whoever renames into packs/ or snaps/ holds it. While it is
 * held these folders are 0700, else 0500; one that a killed holder left open is
 * closed by the next. begin returns the lock's descriptor, end gives it back.
 * Never call store_flush() in between.
 */
int store_commit_begin(struct store *s, struct err *err);
void store_commit_end(struct store *s, int lock_fd);

struct store_stats {
	uint64_t put_objects, put_bytes; /* asked for */
	uint64_t new_objects, new_bytes; /* were new, before compression */
	uint64_t stored_bytes; /* written into packs */
	uint64_t collisions; /* equal hash, other bytes */
};
void store_get_stats(struct store *s, struct store_stats *ret);

/* --- for tests only --- */

/* A store of the first hash, for which there are forged pairs, whose 192-byte
 * secret is the given one (before it is made). */
int store_create_with_secret(const char *dir, const void *secret_192,
			     struct err *err);

#endif
