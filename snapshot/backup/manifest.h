/*
 * Manifests: the commit points of a backup. Each says what it adds to the ones
 * before it, or is complete: all short ones, and two of 64 long ones. A file
 * that no manifest names counts for nothing.
 *
 *	manifest = "GUARDMF1" version:1 number:var previous:32 complete:1
 *	           seconds:svar host:text home:text newest:var
 *	           count:var *item count:var *drop           ; sealed as a whole
 *	item     = kind:1 name:text object:32 offset:var length:var check:8
 *	drop     = kind:1 name:text
 *	text     = length:var *byte                          ; without NUL
 *
 * `previous` is the hash of the sealed manifest of the number before, zeros for
 * number 1. `newest` is the highest sequence number that the store ever gave.
 * `object` is the hash of the file in p/ or s/ that has the item from `offset`
 * on; `check` are the last eight bytes of the item, which tell two versions of
 * a snapshot of one number apart. Items and drops ascend by kind, then name.
 */
#ifndef GUARD_SNAPSHOT_BACKUP_MANIFEST_H
#define GUARD_SNAPSHOT_BACKUP_MANIFEST_H

#include <stdbool.h>

#include "base/vec.h"
#include "snapshot/backup/destination.h"
#include "snapshot/backup/seal.h"

enum manifest_kind {
	MANIFEST_RECORDS = 1, /* a pack of data up to its index; in p/ */
	MANIFEST_INDEX = 2, /* the rest of the pack of that name; in s/ */
	MANIFEST_TREES = 3, /* a pack of other types, whole; in s/ */
	MANIFEST_SNAPSHOT = 4, /* name: 10 digits at least, ".gsn"; in s/ */
	MANIFEST_FILE = 5, /* "gone", "lost" of the store, "pins"; in s/ */
	MANIFEST_ROOT = 6, /* FORMAT and secret; name: "1", "2"; at the top */
};

struct manifest_item {
	uint8_t kind;
	char *name;
	unsigned char object[SEAL_HASH_LEN];
	uint64_t offset, len;
	uint64_t check;
};

struct manifest_items {
	struct manifest_item *items; /* ascending by kind and name */
	size_t count, capacity;
};

struct manifest {
	uint64_t number;
	unsigned char previous[SEAL_HASH_LEN];
	bool complete;
	int64_t time; /* seconds since 1970 */
	char *host, *home;
	uint64_t newest;
	struct manifest_items adds, drops; /* of drops: kind and name */
};

/* The destination and the namespace of a chain of manifests. */
struct manifest_place {
	struct destination *destination;
	unsigned char space[SEAL_SPACE_LEN];
};

/* Free all content. */
void manifest_free(struct manifest *m);
void manifest_items_free(struct manifest_items *items);

/* Adds an item; the name is copied. manifest_items_sort() afterwards. */
void manifest_items_add(struct manifest_items *to,
			const struct manifest_item *item);
/* Sorts by kind and name. */
void manifest_items_sort(struct manifest_items *items);
/* NULL: there is none. */
const struct manifest_item *manifest_items_find(const struct manifest_items *i,
						uint8_t kind, const char *name);
/* The items after m: its adds replace those of the same kind and name, its
 * drops go. A complete one replaces all. */
void manifest_items_advance(struct manifest_items *items,
			    const struct manifest *m);

void manifest_encode(const struct manifest *m, struct buf *to);
/* -EBADMSG; -EPROTO: of a newer guard. */
int manifest_decode(const void *data, size_t len, struct manifest *ret,
		    struct err *err);

/* The directory of a namespace that has the files of a kind, below the
 * destination. That of SEAL_ROOT is the namespace's own, above all others. */
char *manifest_space_path(const unsigned char space[SEAL_SPACE_LEN],
			  enum seal_kind kind);
/* A file in there. */
char *manifest_path(const unsigned char space[SEAL_SPACE_LEN],
		    enum seal_kind kind, const char *name);
/* The namespace whose own directory has this name. */
bool manifest_space_parse(const char *name, unsigned char ret[SEAL_SPACE_LEN]);

/* A file in c/. */
struct manifest_name {
	uint64_t number;
	unsigned char hash[SEAL_HASH_LEN];
};

struct manifest_names {
	struct manifest_name *items; /* ascending by number, then hash */
	size_t count, capacity;
};

void manifest_names_free(struct manifest_names *names);
/* Lists the manifests of a namespace, without reading them. */
int manifest_list(const struct manifest_place *place,
		  struct manifest_names *ret, struct err *err);
/* Whether another manifest has the number of the i-th: two clones wrote at
 * once. */
bool manifest_has_twin(const struct manifest_names *names, size_t i);

/* The kind of the file that has an item, its name and its path, and the name of
 * a manifest. Buffers of the names as in text_quote(). */
enum seal_kind manifest_seal_kind(const struct manifest_item *item);
const char *manifest_object_name(const struct manifest_item *item);
char *manifest_object_path(const struct manifest_place *place,
			   const struct manifest_item *item);
const char *manifest_file_name(const struct manifest_name *name);

/* A part of an item of a pack: its place in the pack, and its length. */
struct manifest_part {
	uint64_t at;
	size_t len;
};
#define MANIFEST_PART_LEN ((size_t)1 << 20)
/* The next part of a file of the store that an item has, of which `done` bytes
 * were copied; MANIFEST_PART_LEN at most. records: length of the records in
 * front of an index. */
struct manifest_part manifest_next_part(const struct manifest_item *item,
					uint64_t done, uint64_t records);

/* Reads one manifest. */
int manifest_read(const struct manifest_place *place,
		  const struct manifest_name *name, struct manifest *ret,
		  struct err *err);
/* Appends the content of the first root that is intact, whatever manifests
 * name: the store's secret and FORMAT. -EBADMSG: there is none. */
int manifest_read_root(const struct manifest_place *place, struct buf *to,
		       struct err *err);

/* Writes one, durably, and fills *ret. */
int manifest_write(const struct manifest_place *place, const struct manifest *m,
		   struct manifest_name *ret, struct err *err);

/* The state after a manifest. */
struct manifest_state {
	struct manifest last; /* without adds and drops */
	struct manifest_items items;
	/* The numbers that are missing or damaged in the chain, from the
	 * newest one back to the nearest complete one, ascending: what only
	 * they add is unknown. */
	VEC(uint64_t) missing;
};

void manifest_state_free(struct manifest_state *s);
/*
 * The state after the manifest of a number in the chain that ends with
 * `newest`; 0: after the newest that can be read. Reads back to the nearest
 * complete one, and forward again. A missing or damaged one in between is
 * skipped by its number. -ENOENT, -EBADMSG: of the manifest of that number, or
 * none can be read.
 */
int manifest_load(const struct manifest_place *place,
		  const struct manifest_names *all,
		  const struct manifest_name *newest, uint64_t number,
		  struct manifest_state *ret, struct err *err);

#endif
