/*
 * The store: every object is kept once, in immutable packs.
 *
 * An object is a run of bytes with a type. Its identity is its keyed hash (XXH3
 * with a secret of this store, see hash.h) and its bytes: every hit of the hash
 * is compared byte by byte before it counts as known. Objects of equal hash and
 * different bytes are stored side by side under (hash, ordinal). An unkeyed
 * XXH3-128 can be forged at will, and one secret alone still collides for
 * structured pairs with probability 2^-26. (Chunks of a long file that its
 * previous version has are identified by a stronger tag before they come here:
 * see chunk_reuse.h.)
 *
 * Order of calls: store_open(), any number of store_put() and store_get() from
 * any thread, store_flush() (everything stored before is durable and in its
 * pack), store_free(). Only objects that were not flushed are lost when the
 * process ends. A killed process leaves files in tmp/ or packs that nothing
 * refers to; the next snapshot finds and uses such packs.
 *
 * A child process forked while a store is open shares its locks and must not
 * free it; the child calls exec (all descriptors are O_CLOEXEC) or _exit.
 *
 * The store's directory has FORMAT, secret, lock, packs/, snaps/, tmp/ and
 * trash/. The directory itself, packs/ and snaps/ have mode 0500 while no
 * commit runs. Nothing outside the directory is changed.
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

/* A reference to an object. Compare with oid_equal(). Never print one where a
 * run can read it. */
struct oid {
	unsigned char hash[16];
	uint64_t len; /* bytes of the object, uncompressed */
	uint16_t ord;
	uint8_t type; /* enum object_type */
};

/* Whether both references name the same object. */
bool oid_equal(const struct oid *a, const struct oid *b);

struct store;

enum store_mode {
	STORE_READ, /* no lock; -ENOENT when there is no store */
	STORE_WRITE, /* created when missing; shared lock until store_free() */
};

/* Opens the store in the directory dir, whose parent must exist. -EPROTO: a
 * newer format. -EBADMSG: FORMAT or secret are damaged; the text names the
 * file. */
int store_open(struct store **ret, const char *dir, enum store_mode mode,
	       struct err *err);
void store_free(struct store **store); /* *store may be NULL */

/* Stores the bytes (at most 1 GiB) and returns their name. Known bytes cost a
 * comparison and no space. Thread-safe. */
int store_put(struct store *s, enum object_type type, const void *data,
	      size_t len, struct oid *ret, struct err *err);

/* Appends the object's bytes to `to`, verified against their hash. -ENOENT: no
 * such object. -EBADMSG: damaged. Thread-safe. */
int store_get(struct store *s, const struct oid *id, struct buf *to,
	      struct err *err);

/* Whether an object of this name exists. Does not read it. */
bool store_has(struct store *s, const struct oid *id);

/* Approximate position of the object in the packs: reading many objects in the
 * order of these numbers reads each pack once from its start. UINT64_MAX: in no
 * pack (yet). */
uint64_t store_position(struct store *s, const struct oid *id);

/* Writes records and index of each open pack, fdatasync(2) of the pack, rename
 * into packs/, fsync(2) of packs/. -EIO after a failed sync: nothing may refer
 * to the packs that this process had open. */
int store_flush(struct store *s, struct err *err);

/*
 * store_flush() in parts, for the catalog. store_flush_begin() starts all
 * writes and syncs without waiting for them. store_flush_locked(), under the
 * commit lock, completes them. store_flush_end() follows always, after the
 * release of the commit lock. Other threads that store objects between begin
 * and end wait; the caller must not store any.
 */
int store_flush_begin(struct store *s, struct err *err);
int store_flush_locked(struct store *s, struct err *err);
void store_flush_end(struct store *s);

/* Loads packs that other processes have added since the store was opened, as
 * store_get() does before it calls an object missing. */
int store_refresh(struct store *s, struct err *err);

/*
 * Limits the space: store_put() fails with -ENOSPC, and a text with the sizes
 * and the remedy, before less than min_free bytes of the disk are free or the
 * packs take more than max_size bytes (0: no limit). Objects that were not
 * flushed are then lost, as after any failure. min_free UINT64_MAX: one percent
 * of the disk, at most 256 MiB.
 */
void store_limit(struct store *s, uint64_t min_free, uint64_t max_size);

/* A 64-bit hash of a text, equal in every store, for the names of workspace
 * directories. Never for the identity of contents. */
uint64_t store_hash_text(const char *text);

/* The keyed hash of any bytes, 16 bytes, as of an object: a run cannot make two
 * texts of one digest, because it does not know the key. Not for printing. */
void store_digest(const struct store *s, const void *data, size_t len,
		  unsigned char ret[16]);

/* The store's directory, open and borrowed; for the catalog. */
int store_root_fd(const struct store *s);

/*
 * Takes and releases the commit lock, which is held by a process that renames
 * into packs/ or snaps/. These directories have mode 0700 while it is held,
 * else 0500; the next holder closes directories that a killed holder left open.
 * store_commit_begin() returns the lock's descriptor for store_commit_end().
 * store_flush() must not be called in between.
 */
int store_commit_begin(struct store *s, struct err *err);
void store_commit_end(struct store *s, int lock_fd);

#endif
