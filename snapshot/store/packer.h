/*
 * A pack being written: in tmp/, from front to back. Order of calls: new; for
 * each record reserve, then put (from any thread), then add for each object in
 * it; finish; sync; publish; free. A packer that is freed before it was
 * published takes its file away.
 */
#ifndef GUARD_SNAPSHOT_STORE_PACKER_H
#define GUARD_SNAPSHOT_STORE_PACKER_H

#include "snapshot/store/packformat.h"

struct packer;

/* A new pack in dirfd, 0400 and flocked by this process until it is freed. */
int packer_new(int dirfd, const struct format *format, enum pack_kind kind,
	       struct packer **ret, struct err *err);
/* Removes the file when it was not handed on by packer_publish(). */
void packer_free(struct packer **w);
const char *packer_name(const struct packer *w);
uint64_t packer_size(const struct packer *w); /* reserved so far */
uint32_t packer_count(const struct packer *w);
/* About: bytes that were set aside and do not take room on the disk yet, those
 * of the index among them. */
uint64_t packer_pending(const struct packer *w);

/* Sets room aside for a record and returns its offset. One caller at a time. */
uint64_t packer_reserve(struct packer *w, uint64_t stored_len);
/* Writes a record into room that was set aside; from any thread. A failure may
 * be told by a later call: see writer.h. */
int packer_put(struct packer *w, uint64_t offset,
	       const struct record_head *head, const void *payload,
	       struct err *err);
/* Tells the index of an object. One caller at a time. */
void packer_add(struct packer *w, const struct pack_entry *entry);
/* Like pack_read(), from a pack that is still being written. */
int packer_read(struct packer *w, uint64_t offset, struct record_head *head,
		unsigned char **ret, size_t *ret_len, struct err *err);

/* Writes index and footer and begins to sync the file. */
int packer_finish(struct packer *w, struct err *err);
/* Waits for the sync: the pack is complete then. */
int packer_sync(struct packer *w, struct err *err);
/* Renames a finished pack into to_dirfd, never over another. Not synced. */
int packer_publish(struct packer *w, int to_dirfd, struct err *err);

#endif
