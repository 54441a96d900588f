/*
 * Writing one file from several threads without waiting for it: bytes are
 * copied, handed to io_uring, and written while the caller goes on. Without
 * io_uring each write is a plain call.
 *
 * Order of calls: new; write and read from any thread; flush (all bytes are in
 * the file); sync_begin and sync_end (they are on the disk); free. A failure
 * is told by a later write or by the flush: then nothing of the file may be
 * used.
 */
#ifndef GUARD_SNAPSHOT_STORE_WRITER_H
#define GUARD_SNAPSHOT_STORE_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/err.h"

/* Longer writes are plain calls: they would be copied in vain. */
#define WRITER_LEN_MAX ((size_t)2 << 20)

struct writer;

/* fd stays open until writer_free(). Never fails. */
struct writer *writer_new(int fd, bool plain);
/* Waits for what is under way. */
void writer_free(struct writer **writer);
/* Whether a write went through io_uring. */
bool writer_uses_ring(const struct writer *w);

/* Writes the parts one behind the other. Ranges never overlap. */
int writer_write(struct writer *w, const struct iovec *parts, int count,
		 uint64_t offset, struct err *err);
/* Reads what was written before; as fd_pread(), in one range's bounds. */
ssize_t writer_read(struct writer *w, void *data, size_t len, uint64_t offset);

/* Waits until everything is written. No writes beside it. */
int writer_flush(struct writer *w, struct err *err);

/*
 * fdatasync of a flushed file: begin starts it, so that several files are
 * synced at once, end waits for it and says how it went. A sync that failed is
 * never tried again: the kernel may have dropped the pages, and a second one
 * would succeed.
 */
void writer_sync_begin(struct writer *w);
int writer_sync_end(struct writer *w, struct err *err);

#endif
