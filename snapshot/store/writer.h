/*
 * Writes one file from several threads and keeps the final sync short:
 * writeback starts after every few megabytes, and the sync itself runs in
 * io_uring, where available, beside other work.
 *
 * Writes are plain calls. The kernel runs a buffered write of io_uring in a
 * thread of its own, and the handover costs more than the copy: a tenth of the
 * processor time of a first snapshot.
 *
 * Order of calls: new; write from any thread; sync_begin and sync_end (the
 * bytes are durable); free. A failed write is reported by that call, by all
 * later writes and by the sync; nothing of the file may be used then.
 */
#ifndef GUARD_SNAPSHOT_STORE_WRITER_H
#define GUARD_SNAPSHOT_STORE_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/err.h"

struct writer;

/* fd must stay open until writer_free(). Never fails. */
struct writer *writer_new(int fd);
/* Waits for calls in flight. */
void writer_free(struct writer **writer);

/* Writes the parts one behind the other at offset. Ranges must not overlap. */
int writer_write(struct writer *w, const struct iovec *parts, int count,
		 uint64_t offset, struct err *err);

/*
 * fdatasync(2) of all bytes written: begin starts it, so that several files are
 * synced at once; end waits and returns the result. A failed sync is never
 * repeated: the kernel may have dropped the pages, and a second sync would
 * succeed.
 */
void writer_sync_begin(struct writer *w);
int writer_sync_end(struct writer *w, struct err *err);

#endif
