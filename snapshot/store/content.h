/*
 * The bytes of a regular file, into the store and out of it.
 *
 * Up to CONTENT_SINGLE_MAX a file is one data object; above, it is cut by its
 * content into chunks, and a chunklist object names them and the holes. An
 * empty file has no object (type OBJECT_NONE). Callers never care: they hold
 * a struct oid and use this module.
 */
#ifndef GUARD_SNAPSHOT_STORE_CONTENT_H
#define GUARD_SNAPSHOT_STORE_CONTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot/store/longfile.h"
#include "snapshot/store/store.h"

#define CONTENT_SINGLE_MAX (1u << 20)

/*
 * Keeps all bytes of an open regular file from its start. *ret_size is how
 * many there were (the file may have grown or shrunk since its fstat: the
 * caller compares). Holes are found by SEEK_DATA and kept. What it has in
 * common with the version before (known, may be NULL) is known again without
 * being cut and compared.
 */
int content_put(struct store *s, int fd, const struct longfile_hints *hints,
		struct oid *ret, uint64_t *ret_size, struct err *err);

/* Keeps bytes that are in memory already (any length). */
int content_put_bytes(struct store *s, const void *data, uint64_t len,
		      struct oid *ret, struct err *err);

/*
 * Writes the file into fd from offset 0 (an empty file opened for writing),
 * holes as holes, and sets its length. Every byte is verified against its
 * hash before it is written.
 */
int content_write(struct store *s, const struct oid *id, int fd,
		  struct err *err);

/* Asked after each piece (at most CHUNK_MAX) with what has been done of the
 * file; false ends it: -EINTR. */
struct content_watch {
	bool (*go_on)(void *arg, uint64_t done);
	void *arg;
};

/* The same; watch may be NULL. */
int content_write_watched(struct store *s, const struct oid *id, int fd,
			  const struct content_watch *watch, struct err *err);

/* Gives the bytes in order to each() in pieces; stops when it is negative and
 * returns that. Holes come as zeros. */
int content_each(struct store *s, const struct oid *id,
		 int (*each)(void *arg, const void *data, size_t len,
			     struct err *err),
		 void *arg, struct err *err);

/*
 * Where content_write() writes: each stretch between the holes, in order, the
 * length above 0. Reads no chunks.
 */
int content_map(struct store *s, const struct oid *id,
		int (*each)(void *arg, uint64_t at, uint64_t len,
			    struct err *err),
		void *arg, struct err *err);

/*
 * Whether the open file holds exactly these bytes: 1, 0 or negative. Stops at
 * the first difference; size is compared first.
 */
int content_equal(struct store *s, const struct oid *id, int fd,
		  struct err *err);

/* The same; watch may be NULL. */
int content_equal_watched(struct store *s, const struct oid *id, int fd,
			  const struct content_watch *watch, struct err *err);

#endif
