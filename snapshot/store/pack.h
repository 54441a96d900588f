/*
 * Packs: immutable files of objects (`.gpk`), read. Their grammar stands in
 * packformat.h.
 *
 * A pack is written once by a struct packer and renamed to where readers look
 * when it is complete and synced. Every field that comes from the disk is taken
 * as hostile: what does not fit gives -EBADMSG.
 *
 * A record holds one object, or several small ones compressed together (a
 * block): block.objects || table, so the index can be rebuilt from the
 * records alone. pack_open() does so when index or footer are damaged.
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
 * Opens name in dirfd; it must be of the store `uuid`. -EBADMSG: not a pack of
 * this store, or nothing of it can be used; -EPROTO: of a newer guard. With
 * damaged index or footer the index is rebuilt from the records;
 * pack_damaged() then says so, and also of a damaged header.
 */
int pack_open(int dirfd, const char *name, const unsigned char *uuid,
	      struct pack **ret, struct err *err);
/*
 * The same, without reading the index, whose length would be in the time that
 * one lookup takes. A damaged one is used as it is until pack_failed() is
 * asked: lookups miss, or lead to bytes that their hash refuses.
 */
int pack_open_unread(int dirfd, const char *name, const unsigned char *uuid,
		     struct pack **ret, struct err *err);
void pack_free(struct pack **pack);
const char *pack_name(const struct pack *p);
bool pack_damaged(const struct pack *p);
/*
 * Part of it could not be read when it was touched (see mapping.h), or its
 * index is not what it was when it was opened: it may say less than there is.
 * Reads the whole index. pack_fail() says so: -EBADMSG.
 */
bool pack_failed(const struct pack *p);
int pack_fail(const struct pack *p, struct err *err);
uint32_t pack_count(const struct pack *p);
uint64_t pack_size(const struct pack *p); /* bytes of the file */

/* The first entry with this hash, or pack_count(). */
uint32_t pack_find(const struct pack *p, const unsigned char *hash);
/* Its HASH_LEN bytes, as they lie in the index. */
const unsigned char *pack_hash(const struct pack *p, uint32_t i);
/* Entry i; false when it is damaged (then only its hash is set). */
bool pack_get(const struct pack *p, uint32_t i, struct pack_entry *ret);

/*
 * The plain bytes of the record at offset, checked against its head, to be
 * freed. *ret_len is the length of the bytes (with a block's table).
 */
int pack_read(const struct pack *p, uint64_t offset, struct record_head *head,
	      unsigned char **ret, size_t *ret_len, struct err *err);

/* The head and, in place, the payload of the record at offset, as they are
 * stored; NULL: there is no record. */
const unsigned char *pack_record(const struct pack *p, uint64_t offset,
				 struct record_head *head);

/*
 * Calls each() for every object of the pack as its records say, damaged
 * records left out (*ret_bad counts the places where something was not
 * readable); a negative answer ends it.
 */
int pack_scan(const struct pack *p,
	      int (*each)(void *arg, const struct pack_entry *entry,
			  struct err *err),
	      void *arg, uint64_t *ret_bad, struct err *err);

#endif
