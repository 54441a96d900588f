/*
 * Compression of payloads. No other module includes zstd.
 *
 * Level 1: higher levels take three times as long for a tenth less space. Each
 * thread keeps its contexts, so that a call allocates nothing.
 */
#ifndef GUARD_SNAPSHOT_STORE_COMPRESS_H
#define GUARD_SNAPSHOT_STORE_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Compresses into memory of this thread, valid until the thread's next call.
 * NULL: the bytes should be stored uncompressed, because compression saves
 * nothing or, with probe, because their first 16 KiB did not shrink to 97 %.
 * Media files and archives do not, and the probe costs next to nothing.
 */
const void *compress_bytes(const void *data, size_t len, bool probe,
			   size_t *ret_len);

/* Unpacks exactly plain_len bytes into `to`; false when the result has another
 * length. data is untrusted. */
bool decompress_bytes(void *to, size_t plain_len, const void *data, size_t len);

#endif
