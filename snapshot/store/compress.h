/*
 * Compression of payloads. The only user of zstd.
 *
 * Level 1: deeper levels cost three times the time for a tenth of the space.
 * Contexts are kept a thread, so a call allocates nothing.
 */
#ifndef GUARD_SNAPSHOT_STORE_COMPRESS_H
#define GUARD_SNAPSHOT_STORE_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Compresses into memory of this thread, which holds until its next call.
 * NULL when the bytes are better kept as they are: nothing was saved, or
 * (probe) their first 16 KiB did not shrink to 97 %, which is true of media
 * and archives and costs next to nothing to find out.
 */
const void *compress_bytes(const void *data, size_t len, bool probe,
			   size_t *ret_len);

/* Exactly plain_len bytes come out, or false. data may be hostile. */
bool decompress_bytes(void *to, size_t plain_len, const void *data, size_t len);

#endif
