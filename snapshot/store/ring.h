/*
 * Reading and syncing many files at once: io_uring where the kernel lets us,
 * plain calls everywhere else. Long files are read by stream.h and written by
 * writer.h in the same way; nobody else uses io_uring.
 *
 * A reader takes small files in a batch: each is opened, read and closed in
 * one chain, up to `depth` of them under way. One reader belongs to one
 * thread. Results come in no promised order.
 *
 *	r = reader_new(64, false);
 *	while (there are files) {
 *		while (!reader_add(r, dirfd, name, size, cookie))
 *			if (reader_next(r, &file))
 *				use(&file);
 *	}
 *	while (reader_next(r, &file))
 *		use(&file);
 *	reader_free(&r);
 *
 * dirfd (may be O_PATH) stays open and name's folder the same until the
 * result was handed out; the name itself is copied. Nothing is followed
 * (O_NOFOLLOW), nothing blocks (O_NONBLOCK: a fifo reads as empty), access
 * times stay where the owner may ask for that (O_NOATIME).
 *
 * A reader says what was read, not that it was at rest: the caller compares
 * meta_get(dirfd, name) from before and after (meta_same()) and the length.
 *
 * io_uring is tried at run time, never guessed from a version: it may be
 * missing, switched off (kernel.io_uring_disabled) or filtered by seccomp.
 * See io_uring_setup(2), io_uring_prep_openat_direct(3).
 */
#ifndef GUARD_SNAPSHOT_STORE_RING_H
#define GUARD_SNAPSHOT_STORE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define READER_DEPTH_MAX 256
#define READER_LEN_MAX (256u << 10)

struct reader;

struct reader_file {
	uint64_t cookie;
	int error; /* 0, or the errno (> 0) of open or read */
	bool grew; /* there is more than `size` said: data is the start */
	size_t len;
	const unsigned char *data; /* until the next call on this reader */
};

/* plain: never io_uring. Never fails: without io_uring it is plain. The thread
 * that adds the first file is the one that it belongs to. */
struct reader *reader_new(unsigned int depth, bool plain);
void reader_free(struct reader **reader);
/* Known once the first file was added. */
bool reader_uses_ring(const struct reader *r);

/*
 * Queues a file of `size` bytes (<= READER_LEN_MAX). False when depth files
 * are under way: call reader_next() first.
 */
bool reader_add(struct reader *r, int dirfd, const char *name, size_t size,
		uint64_t cookie);

/* The next finished file; waits for it. False when none is under way. */
bool reader_next(struct reader *r, struct reader_file *ret);

/*
 * fsync of many open files and folders, all at once where io_uring is there. 0
 * when every one succeeded; the first failure otherwise (the others were
 * tried).
 */
int ring_sync_files(const int *fds, size_t count, bool plain, struct err *err);

#endif
