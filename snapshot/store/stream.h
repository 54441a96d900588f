/*
 * Reading a long file from front to back, with the next pieces under way in
 * io_uring while the caller works on this one. Without io_uring each piece is
 * a plain read. Belongs to the thread that made it.
 */
#ifndef GUARD_SNAPSHOT_STORE_STREAM_H
#define GUARD_SNAPSHOT_STORE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define STREAM_PIECE ((size_t)256 << 10)
#define STREAM_ALIGN ((uint64_t)4096)

struct stream;

/* fd stays open until stream_free(). size: how far it is worth to read ahead,
 * no more: all that is there is read. Never fails. */
struct stream *stream_new(int fd, uint64_t size, bool plain);
void stream_free(struct stream **stream);
bool stream_uses_ring(const struct stream *s);

/*
 * Lets what is read of fd pass by the page cache (O_DIRECT), or not. What is
 * not in the cache comes faster that way, and drives nothing else out. Ranges
 * then begin and end on borders of STREAM_ALIGN, or behind the file's end;
 * where the end is met, or a read is refused, streams switch it off. False: the
 * file system refuses. Concerns all who share fd.
 */
bool stream_direct(int fd, bool on);

/* Whether most of the file's first size bytes are in the page cache, by a
 * sample; true where nobody says. */
bool stream_is_cached(int fd, uint64_t size);

/* From now on the bytes of [start, end). Nothing may be under way: call it
 * first, and when stream_next() answered 0. */
void stream_range(struct stream *s, uint64_t start, uint64_t end);

/*
 * The next bytes, until the next call: STREAM_PIECE of them, fewer only at the
 * end of the range or of the file; 0: there are no more. -1 with errno.
 */
ssize_t stream_next(struct stream *s, const unsigned char **ret);

#endif
