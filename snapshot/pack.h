/*
 * Packs: immutable files of objects (`.gpk`). The grammar stands in pack.c.
 *
 * A pack is written once from front to back by a struct pack_writer (records,
 * then the sorted index, then a footer), synced, and only then renamed to
 * where readers look. A struct pack is an open one. Every field that comes
 * from the disk is taken as hostile: what does not fit gives -EBADMSG.
 *
 * A record holds one object, or several small ones compressed together (a
 * block): block.objects || table, so the index can be rebuilt from the
 * records alone. pack_open() does so when index or footer are damaged.
 *
 * Readers take no lock; a struct pack may be used from any thread.
 */
#ifndef GUARD_SNAPSHOT_PACK_H
#define GUARD_SNAPSHOT_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "snapshot/hash.h"

#define PACK_UUID_LEN 16
#define OBJECT_LEN_MAX ((uint64_t)1 << 30)
#define BLOCK_TABLE_ENTRY 24 /* bytes an object in a block's table */
#define BLOCK_OBJECTS_MAX (1u << 20)
#define BLOCK_LEN_MAX (64u << 20) /* objects and table, refused above */

enum pack_kind {
	PACK_DATA = 0,
	PACK_META = 1, /* trees, chunk lists, attribute sets */
	PACK_KINDS = 2,
};

enum pack_codec { CODEC_RAW = 0, CODEC_ZSTD = 1 };

/* Type of a record that is a block; the others are enum object_type. */
#define RECORD_BLOCK 0x40

/* The head of a record. */
struct record_head {
	uint8_t type, codec;
	uint16_t ord; /* of a single object */
	uint32_t count; /* objects in it; 1 for a single one */
	uint64_t plain_len, stored_len;
	unsigned char hash[HASH_LEN]; /* of a single object, else zeros */
	uint64_t check; /* of the payload as stored */
};

/* Where an object lies. */
struct pack_entry {
	unsigned char hash[HASH_LEN];
	uint64_t offset; /* of its record */
	uint32_t len; /* of the object */
	uint32_t inner; /* where it begins in the block */
	uint32_t stored_len; /* of the whole record's payload */
	uint16_t ord;
	uint8_t type;
	bool in_block;
};

/* --- reading --- */

struct pack;

/*
 * Opens name in dirfd; it must be of the store `uuid`. -EBADMSG: not a pack of
 * this store, or nothing of it can be used; -EPROTO: of a newer guard. With
 * damaged index or footer the index is rebuilt from the records;
 * pack_damaged() then says so, and also of a damaged header.
 */
int pack_open(int dirfd, const char *name, const unsigned char *uuid,
	      struct pack **ret, struct err *err);
void pack_free(struct pack **pack);
const char *pack_name(const struct pack *p);
bool pack_damaged(const struct pack *p);
enum pack_kind pack_kind(const struct pack *p);
uint32_t pack_count(const struct pack *p);
uint64_t pack_size(const struct pack *p); /* bytes of the file */

/* The first entry with this hash, or pack_count(). */
uint32_t pack_find(const struct pack *p, const unsigned char *hash);
/* Entry i; false when it is damaged (then only its hash is set). */
bool pack_get(const struct pack *p, uint32_t i, struct pack_entry *ret);

/*
 * The plain bytes of the record at offset, checked against its head, to be
 * freed. *ret_len is the length of the bytes (with a block's table).
 */
int pack_read(const struct pack *p, uint64_t offset, struct record_head *head,
	      unsigned char **ret, size_t *ret_len, struct err *err);

/*
 * Calls each() for every object of the pack as its records say, damaged
 * records left out (*ret_bad counts the places where something was not
 * readable); a negative answer ends it.
 */
int pack_scan(const struct pack *p,
	      int (*each)(void *arg, const struct pack_entry *entry,
			  struct err *err),
	      void *arg, uint64_t *ret_bad, struct err *err);

/* --- a block's table --- */

/* Appends an object's line to a table. */
void block_table_add(unsigned char *at, const unsigned char *hash, uint32_t len,
		     uint16_t ord, uint8_t type);
/*
 * Takes a block apart: each() for every object with its place, all within the
 * block. -EBADMSG when the table does not fit.
 */
int block_each(const unsigned char *plain, size_t len, uint32_t count,
	       int (*each)(void *arg, const struct pack_entry *entry,
			   struct err *err),
	       void *arg, struct err *err);

/* --- writing --- */

struct pack_writer;

/* A new pack in dirfd, 0400 and flocked by this process until it is freed. */
int pack_writer_new(int dirfd, const unsigned char *uuid, enum pack_kind kind,
		    struct pack_writer **ret, struct err *err);
/* Removes the file when it was not handed on by pack_writer_publish(). */
void pack_writer_free(struct pack_writer **w);
const char *pack_writer_name(const struct pack_writer *w);
uint64_t pack_writer_size(const struct pack_writer *w); /* reserved so far */
uint32_t pack_writer_count(const struct pack_writer *w);

/* Sets room aside for a record and returns its offset. One caller at a time. */
uint64_t pack_writer_reserve(struct pack_writer *w, uint64_t stored_len);
/* Writes a record into room that was set aside; from any thread. */
int pack_writer_put(struct pack_writer *w, uint64_t offset,
		    const struct record_head *head, const void *payload,
		    struct err *err);
/* Tells the index of an object. One caller at a time. */
void pack_writer_add(struct pack_writer *w, const struct pack_entry *entry);
/* Like pack_read(), from a pack that is still being written. */
int pack_writer_read(struct pack_writer *w, uint64_t offset,
		     struct record_head *head, unsigned char **ret,
		     size_t *ret_len, struct err *err);

/* Writes index and footer and syncs the file: it is complete then. */
int pack_writer_finish(struct pack_writer *w, struct err *err);
/* Renames a finished pack into to_dirfd, never over another. Not synced. */
int pack_writer_publish(struct pack_writer *w, int to_dirfd, struct err *err);
/* The entries of a pack that is finished, in order of the index. */
const struct pack_entry *pack_writer_entries(const struct pack_writer *w);

#endif
