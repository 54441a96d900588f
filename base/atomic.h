/*
 * Small files that are either the old or the new one, whatever happens.
 */
#ifndef GUARD_BASE_ATOMIC_H
#define GUARD_BASE_ATOMIC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* What is survived, besides a sudden end of processes. */
enum atomic_how {
	ATOMIC_LOOSE, /* no power cut: not even one of both may be there */
	ATOMIC_DURABLE, /* a power cut: bytes and folder are synced */
	ATOMIC_BYTES, /* only the bytes are: after a power cut it is the old or
			 the new one, and the new one for sure once somebody has
			 synced the folder */
};

/* Writes name in dirfd through a temporary file and a rename. */
int atomic_write(int dirfd, const char *name, const void *data, size_t len,
		 mode_t mode, enum atomic_how how, struct err *err);

/*
 * A file that is there whole or not at all, written piece by piece: begin,
 * write to fd, publish, free. What was not published is gone.
 */
struct atomic_file {
	int dirfd; /* borrowed */
	int fd;
	char *temp; /* its name so far; NULL: it has none */
};

#define ATOMIC_FILE_NONE                                                       \
	{                                                                      \
		.dirfd = -1, .fd = -1                                          \
	}

int atomic_begin(int dirfd, const char *name, mode_t mode,
		 struct atomic_file *ret, struct err *err);
/* Durable when it returns. -EEXIST: the name is taken, and is left alone. */
int atomic_publish(struct atomic_file *f, const char *name, struct err *err);
void atomic_file_free(struct atomic_file *f);

/* fsync of a folder, also from an O_PATH descriptor. */
int atomic_sync_dir(int dirfd, struct err *err);

#endif
