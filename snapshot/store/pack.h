/*
 * Packs: immutable files of objects (`.gpk`). packformat.h has the grammar.
 *
 * A struct packer writes a pack once; the complete and synced file is renamed
 * to its final place. Every field that comes from the disk is untrusted:
 * invalid values give -EBADMSG.
 *
 * A record holds one object, or several small objects compressed together (a
 * block): block.objects || table. The index can be rebuilt from the records
 * alone, and pack_open() does so when index or footer are damaged.
 *
 * Readers take no lock; a struct pack may be used from any thread.
 */
#ifndef GUARD_SNAPSHOT_STORE_PACK_H
#define GUARD_SNAPSHOT_STORE_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "snapshot/store/packformat.h"

struct pack;

/*
 * Opens name in dirfd, which must belong to the store `uuid`. -EBADMSG: not a
 * pack of this store, or completely unreadable. -EPROTO: of a newer guard. When
 * index or footer are damaged the index is rebuilt from the records;
 * pack_damaged() then returns true, also for a damaged header.
 *
 * unread: the index, whose length would dominate the time of a single lookup,
 * is not read. A damaged index stays unnoticed until pack_failed() is called:
 * lookups fail, or lead to bytes that do not match their hash.
 */
int pack_open(int dirfd, const char *name, const unsigned char *uuid,
	      bool unread, struct pack **ret, struct err *err);
void pack_free(struct pack **pack);
const char *pack_name(const struct pack *p);

/* Whether header, index or footer were damaged at the open. */
bool pack_damaged(const struct pack *p);
/* Whether a part of the pack could not be read (see mapping.h), or the index
 * has changed since the open and may be incomplete. Reads the whole index.
 * pack_fail() fills err for this case and returns -EBADMSG. */
bool pack_failed(const struct pack *p);
int pack_fail(const struct pack *p, struct err *err);
uint32_t pack_count(const struct pack *p);
uint64_t pack_size(const struct pack *p); /* size of the file in bytes */

/* The first entry with this hash, or pack_count(). */
uint32_t pack_find(const struct pack *p, const unsigned char *hash);
/* The HASH_LEN bytes of entry i, in the mapped index. */
const unsigned char *pack_hash(const struct pack *p, uint32_t i);
/* Starts to load entry i into the processor's cache. */
void pack_prefetch(const struct pack *p, uint32_t i);
/* Fills *ret with entry i. False: the entry is damaged, and only its hash is
 * set. */
bool pack_get(const struct pack *p, uint32_t i, struct pack_entry *ret);

/* Reads and unpacks the record at offset and checks it against its head. *ret
 * is for the caller to free; *ret_len includes a block's table. */
int pack_read(const struct pack *p, uint64_t offset, struct record_head *head,
	      unsigned char **ret, size_t *ret_len, struct err *err);

/* The head of the record at offset and the address of its stored payload; NULL
 * unless the whole record lies within the pack's records. */
const unsigned char *pack_record(const struct pack *p, uint64_t offset,
				 struct record_head *head);

/* --- writing --- */

/*
 * Writes a pack in tmp/, from front to back. Order of calls: new; for each
 * record reserve, then put (from any thread), then add for each object in it;
 * finish; sync; publish; free. A packer that is freed before packer_publish()
 * removes its file.
 */
struct packer;

/* Creates a pack in dirfd, with mode 0400 and an flock of this process until
 * packer_free(). */
int packer_new(int dirfd, const struct format *format, enum pack_kind kind,
	       struct packer **ret, struct err *err);
/* Removes the file unless packer_publish() has renamed it. */
void packer_free(struct packer **w);
const char *packer_name(const struct packer *w);
uint64_t packer_size(const struct packer *w); /* reserved bytes */

/* number of objects added so far */
uint32_t packer_count(const struct packer *w);
/* Approximate number of bytes that are reserved but do not take space on the
 * disk yet, with those of the index. */
uint64_t packer_pending(const struct packer *w);

/* Reserves space for a record and returns its offset. One caller at a time. */
uint64_t packer_reserve(struct packer *w, uint64_t stored_len);
/* Writes a record into reserved space, from any thread. A failure may be
 * reported by a later call: see writer.h. */
int packer_put(struct packer *w, uint64_t offset,
	       const struct record_head *head, const void *payload,
	       struct err *err);
/* Adds an object to the index. One caller at a time. */
void packer_add(struct packer *w, const struct pack_entry *entry);
/* As packer_add() for all objects of a block; the rest as block_entries(). */
int packer_add_block(struct packer *w, const struct buf *block, uint32_t count,
		     const struct pack_entry *record, struct err *err);
/* As pack_read(), for a pack that is still being written. */
int packer_read(struct packer *w, uint64_t offset, struct record_head *head,
		unsigned char **ret, size_t *ret_len, struct err *err);

/* Writes index and footer and starts the sync of the file. */
int packer_finish(struct packer *w, struct err *err);
/* Waits for the sync; on success the pack is complete. */
int packer_sync(struct packer *w, struct err *err);
/* Renames a finished pack into to_dirfd, never over another file. Not synced.
 */
int packer_publish(struct packer *w, int to_dirfd, struct err *err);

#endif
