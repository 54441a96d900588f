/*
 * The content of regular files, into the store and out of it.
 *
 * A file of up to CONTENT_SINGLE_MAX bytes is one data object. A longer file is
 * cut into chunks, and a chunklist object names chunks and holes. An empty file
 * has no object (type OBJECT_NONE). Callers hold a struct oid and need not tell
 * the cases apart.
 */
#ifndef GUARD_SNAPSHOT_STORE_CONTENT_H
#define GUARD_SNAPSHOT_STORE_CONTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot/store/longfile.h"
#include "snapshot/store/store.h"

#define CONTENT_SINGLE_MAX (1u << 20)

/*
 * Stores all bytes of an open regular file from its start. *ret_size is their
 * number; the file may have grown or shrunk since its fstat(2), and the caller
 * compares. Holes are found by SEEK_DATA. hints (may be NULL) names the
 * previous version, whose unchanged chunks are reused without cutting and
 * comparing.
 */
int content_put(struct store *s, int fd, const struct longfile_hints *hints,
		struct oid *ret, uint64_t *ret_size, struct err *err);

/* Stores len bytes of memory, of any length. */
int content_put_bytes(struct store *s, const void *data, uint64_t len,
		      struct oid *ret, struct err *err);

/* Called after each piece (at most CHUNK_MAX) with the number of bytes done;
 * false ends the call with -EINTR. */
struct content_watch {
	bool (*go_on)(void *arg, uint64_t done);
	void *arg;
};

/* Writes the content into fd, an empty file open for writing, from offset 0;
 * holes stay holes. Every byte is verified against its hash before it is
 * written. watch may be NULL. */
int content_write(struct store *s, const struct oid *id, int fd,
		  const struct content_watch *watch, struct err *err);

/* Passes the bytes in order to each(), in pieces; holes as zeros. A negative
 * result of each() ends the call and is returned. */
int content_each(struct store *s, const struct oid *id,
		 int (*each)(void *arg, const void *data, size_t len,
			     struct err *err),
		 void *arg, struct err *err);
/* The same for a search: of a long hole only the first zeros. */
int content_each_text(struct store *s, const struct oid *id,
		      int (*each)(void *arg, const void *data, size_t len,
				  struct err *err),
		      void *arg, struct err *err);
/* Appends the bytes to a buffer. The caller bounds their number. */
int content_append(struct store *s, const struct oid *id, struct buf *to,
		   struct err *err);

/* Passes the ranges that content_write() writes, in order, to each(): the data
 * between the holes, with lengths above 0. Reads no chunks. */
int content_map(struct store *s, const struct oid *id,
		int (*each)(void *arg, uint64_t at, uint64_t len,
			    struct err *err),
		void *arg, struct err *err);

/* Compares the open file with the content: 1 equal, 0 different, or a negative
 * errno. Sizes are compared first; the first difference ends the call. watch
 * may be NULL. */
int content_equal(struct store *s, const struct oid *id, int fd,
		  const struct content_watch *watch, struct err *err);

#endif
