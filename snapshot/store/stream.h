/* Reads a long file from front to back, with the next pieces in flight in
 * io_uring while the caller works on the current one. Without io_uring each
 * piece is a plain read. A stream belongs to the thread that made it. */
#ifndef GUARD_SNAPSHOT_STORE_STREAM_H
#define GUARD_SNAPSHOT_STORE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define STREAM_PIECE ((size_t)256 << 10)
#define STREAM_ALIGN ((uint64_t)4096)

struct stream;

/* fd must stay open until stream_free(). size limits the read-ahead only: the
 * file is read to its end. Never fails. */
struct stream *stream_new(int fd, uint64_t size, bool plain);
void stream_free(struct stream **stream);

/*
 * Switches O_DIRECT of fd on or off. Pages that are not cached are read faster
 * past the page cache, and displace no other pages. With O_DIRECT, ranges begin
 * and end at borders of STREAM_ALIGN or behind the end of the file; streams
 * switch it off at the end of the file and when a read is refused. False: the
 * file system refuses. The switch affects all users of fd.
 */
bool stream_direct(int fd, bool on);

/* Whether most of the file's first `size` bytes are in the page cache, by a
 * sample; true where the kernel does not tell. */
bool stream_is_cached(int fd, uint64_t size);

/* Continues with the bytes of [start, end). No read may be in flight: call it
 * before the first stream_next(), or after stream_next() has returned 0. */
void stream_range(struct stream *s, uint64_t start, uint64_t end);

/* Returns the next bytes, valid until the next call: STREAM_PIECE of them,
 * fewer only at the end of the range or file; 0 at the end; -1 with errno. */
ssize_t stream_next(struct stream *s, const unsigned char **ret);

#endif
