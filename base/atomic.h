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
enum atomic_durability {
	ATOMIC_NO_SYNC, /* no power cut: not even one of both may be there */
	ATOMIC_DURABLE, /* a power cut: bytes and folder are synced */
	ATOMIC_DATA_SYNC, /* only the bytes are: after a power cut it is the old
			 or the new one, and the new one for sure once somebody
			 has synced the folder */
};

/* Writes name in dirfd through a temporary file and a rename. */
int atomic_write(int dirfd, const char *name, const void *data, size_t len,
		 mode_t mode, enum atomic_durability how, struct err *err);

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

/*
 * Files that become durable together, for the price of two syncs: all bytes
 * are synced at once, then each gets its name, in the order in which they were
 * added, then all folders are synced at once. Before that is done a power cut
 * may leave any of them there and any other not, unless the file system keeps
 * the order.
 *
 *	AUTO(atomic_set) struct atomic_set set = {0};
 *	atomic_set_write(&set, dirfd, name, data, len, 0600, err);
 *	atomic_set_publish(&set, sync_many, err);
 *
 * What was not published is gone when the set is freed.
 */
struct atomic_set {
	struct atomic_item *items;
	size_t count, capacity;
	bool synced;
};

void atomic_set_free(struct atomic_set *s);

/* dirfd stays open until the set is freed. An older file of that name is
 * replaced. */
int atomic_set_write(struct atomic_set *s, int dirfd, const char *name,
		     const void *data, size_t len, mode_t mode,
		     struct err *err);

/* One that is written already, temp in from_fd, open as fd (the set closes it);
 * its new name in dirfd must be free. */
void atomic_set_adopt(struct atomic_set *s, int fd, int from_fd,
		      const char *temp, int dirfd, const char *name);

/*
 * sync: fsync of many at once; NULL: one by one. Durable when it returns 0.
 * -EEXIST: the name of one that was adopted is taken; nothing behind it in the
 * set has got its name.
 */
typedef int (*atomic_sync)(const int *fds, size_t count, struct err *err);
/* The bytes alone, where something else has to be done before the names are
 * given; nothing may be added from then on. */
int atomic_set_sync(struct atomic_set *s, atomic_sync sync, struct err *err);
int atomic_set_publish(struct atomic_set *s, atomic_sync sync, struct err *err);

#endif
