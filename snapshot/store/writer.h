/*
 * Writing one file from several threads, so that little is left to do when it
 * is synced: the disk is told to begin after every few megabytes, and the sync
 * itself goes through io_uring, where it is there, beside other work.
 *
 * The writes are plain calls. A buffered write by io_uring is done by a thread
 * of the kernel, and handing it over costs more than the copy: a tenth of the
 * processor time of a first snapshot.
 *
 * Order of calls: new; write from any thread; sync_begin and sync_end (the
 * bytes are on the disk); free. A failure is told by the write, by all later
 * ones and by the sync: then nothing of the file may be used.
 */
#ifndef GUARD_SNAPSHOT_STORE_WRITER_H
#define GUARD_SNAPSHOT_STORE_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/err.h"

struct writer;

/* fd stays open until writer_free(). Never fails. */
struct writer *writer_new(int fd, bool plain);
/* Waits for what is under way. */
void writer_free(struct writer **writer);

/* Writes the parts one behind the other. Ranges never overlap. */
int writer_write(struct writer *w, const struct iovec *parts, int count,
		 uint64_t offset, struct err *err);

/*
 * fdatasync of all that was written: begin starts it, so that several files
 * are synced at once, end waits for it and says how it went. A sync that failed
 * is never tried again: the kernel may have dropped the pages, and a second one
 * would succeed.
 */
void writer_sync_begin(struct writer *w);
int writer_sync_end(struct writer *w, struct err *err);

#endif
