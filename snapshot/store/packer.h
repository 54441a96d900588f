/*
 * Writes a pack in tmp/, from front to back. Order of calls: new; for each
 * record reserve, then put (from any thread), then add for each object in it;
 * finish; sync; publish; free. A packer that is freed before packer_publish()
 * removes its file.
 */
#ifndef GUARD_SNAPSHOT_STORE_PACKER_H
#define GUARD_SNAPSHOT_STORE_PACKER_H

#include "snapshot/store/packformat.h"

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
