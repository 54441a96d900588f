/*
 * Reads and syncs many files at once: with io_uring where the kernel allows it,
 * with plain calls elsewhere. stream.h reads long files and writer.h writes
 * them in the same way; no other module uses io_uring.
 *
 * A reader takes small files in batches: each file is opened, read and closed
 * in one chain, with up to `depth` chains in flight. A reader belongs to one
 * thread. Results come in no defined order.
 *
 *	r = reader_new(64, false);
 *	while (there are files) {
 *		while (!reader_add(r, dirfd, name, size, false, cookie))
 *			if (reader_next(r, &file))
 *				use(&file);
 *	}
 *	while (reader_next(r, &file))
 *		use(&file);
 *	reader_free(&r);
 *
 * dirfd (may be O_PATH) must stay open and name's directory unchanged until the
 * result is returned; the name is copied. Symbolic links are not followed
 * (O_NOFOLLOW), opens do not block (O_NONBLOCK: a FIFO reads as empty), and
 * access times are unchanged where the user may ask for that (O_NOATIME).
 *
 * A reader does not detect concurrent changes: the caller compares
 * meta_get(dirfd, name) before and after the read (meta_same()), and the
 * length.
 *
 * io_uring is tried at run time and never derived from a version: it may be
 * missing, switched off (kernel.io_uring_disabled) or filtered by seccomp. See
 * io_uring_setup(2), io_uring_prep_openat_direct(3).
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
	int error; /* 0, or the positive errno of open or read */
	bool no_writers; /* none before the read, as far as it was asked */
	bool grew; /* the file has more bytes than `size`; data is its start */
	size_t len;
	const unsigned char *data; /* valid until the next call on this
				      reader */
};

/* plain: io_uring is not used. Never fails: without io_uring the reader is
 * plain. The thread that adds the first file owns the reader. */
struct reader *reader_new(unsigned int depth, bool plain);
void reader_free(struct reader **reader);

/* Queues a file of `size` bytes (<= READER_LEN_MAX). ask_writers:
 * fd_find_writers() is called before the read, which is made at once. False:
 * `depth` files are in flight, and reader_next() must be called first. */
bool reader_add(struct reader *r, int dirfd, const char *name, size_t size,
		bool ask_writers, uint64_t cookie);

/* Waits for the next finished file. False: no file is in flight. */
bool reader_next(struct reader *r, struct reader_file *ret);

/* Opens name in dirfd so that the access time stays: with O_NOATIME, which the
 * kernel allows only to the owner and CAP_FOWNER (else EPERM), and then
 * without. Returns the descriptor, or -1 with errno. */
int reader_open(int dirfd, const char *name, int flags);

/* fsync(2) of many open files and directories, at once where io_uring is
 * available. Returns 0 when every sync succeeded; otherwise the first failure,
 * after all were tried. */
int ring_sync_files(const int *fds, size_t count, struct err *err);

#endif
