/* Small files that are replaced atomically: after a crash a file has either its
 * old or its new content. */
#ifndef GUARD_BASE_ATOMIC_H
#define GUARD_BASE_ATOMIC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/err.h"

/* How much of a write survives a power cut. A killed process never leaves a
 * partial file at any level. */
enum atomic_durability {
	ATOMIC_NO_SYNC, /* nothing is synced: after a power cut the old file
			   may be gone, too */
	ATOMIC_DURABLE, /* content and directory are synced */
	ATOMIC_DATA_SYNC, /* only the content is synced: after a power cut
			     the file is the old or the new one, and
			     certainly the new one once its directory is
			     synced */
};

/* Writes name in dirfd through a temporary file and a rename. Returns 0 or a
 * negative errno. After a failure name has its old content, or the new content
 * when only the sync of the directory failed. */
int atomic_write(int dirfd, const char *name, const void *data, size_t len,
		 mode_t mode, enum atomic_durability how, struct err *err);
/* As atomic_write(), with the content in parts. */
int atomic_write_parts(int dirfd, const char *name, const struct iovec *parts,
		       size_t count, mode_t mode, enum atomic_durability how,
		       struct err *err);

/* Removes the temporary files of killed processes from a directory into which
 * no other process writes now. */
int atomic_clear(int dirfd, struct err *err);

/* A file that appears complete or not at all, written piece by piece:
 * atomic_begin(), write to fd, atomic_publish(), atomic_file_free(). A file
 * that is freed before it was published is removed. */
struct atomic_file {
	int dirfd; /* borrowed */
	int fd;
	char *temp; /* temporary name, or NULL for a file without a name
		       (O_TMPFILE) */
};

#define ATOMIC_FILE_NONE                                                       \
	{                                                                      \
		.dirfd = -1, .fd = -1                                          \
	}

/* Creates the file, still without its name. The result must be freed with
 * atomic_file_free(), also after atomic_publish(). dirfd is borrowed. */
int atomic_begin(int dirfd, const char *name, mode_t mode,
		 struct atomic_file *ret, struct err *err);
/* Syncs the file and gives it its name; durable on return. -EEXIST: the name is
 * taken, and the file of that name is unchanged. */
int atomic_publish(struct atomic_file *f, const char *name, struct err *err);

/* Closes and empties *f and removes the file unless it was published. */
void atomic_file_free(struct atomic_file *f);

/* fsync(2) of a directory, which may be open with O_PATH. */
int atomic_sync_dir(int dirfd, struct err *err);

/*
 * Files that become durable together for the price of two syncs: all contents
 * are synced at once, each file gets its name in the order of the calls, then
 * all directories are synced at once. A power cut before the last sync may
 * leave any subset of the names, unless the file system keeps their order.
 *
 *	AUTO(atomic_set) struct atomic_set set = {0};
 *	atomic_set_write(&set, dirfd, name, data, len, 0600, err);
 *	atomic_set_publish(&set, sync_many, err);
 *
 * Files that were not published are removed when the set is freed.
 */
struct atomic_set {
	struct atomic_item *items;
	size_t count, capacity;
	bool synced;
};

/* Closes and empties the set and removes all files that were not published. */
void atomic_set_free(struct atomic_set *s);

/* Adds a file with this content. It replaces an older file of the same name.
 * dirfd must stay open until the set is freed. */
int atomic_set_write(struct atomic_set *s, int dirfd, const char *name,
		     const void *data, size_t len, mode_t mode,
		     struct err *err);

/* Adds a file that is already written: temp in from_fd, open as fd, which the
 * set closes. must_be_new: its name in dirfd must be free. */
void atomic_set_adopt(struct atomic_set *s, int fd, int from_fd,
		      const char *temp, int dirfd, const char *name,
		      bool must_be_new);

/* sync does fsync(2) of many descriptors at once; NULL: one call for each. The
 * set is durable when atomic_set_publish() returns 0. -EEXIST: the name of a
 * file that must be new is taken; no file behind it in the set has got its
 * name. */
typedef int (*atomic_sync)(const int *fds, size_t count, struct err *err);
/* Syncs the contents only, for callers that have work to do before the names
 * appear. No file may be added after this call. */
int atomic_set_sync(struct atomic_set *s, atomic_sync sync, struct err *err);
int atomic_set_publish(struct atomic_set *s, atomic_sync sync, struct err *err);

#endif
