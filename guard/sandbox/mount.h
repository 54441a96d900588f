/*
 * Single mounts, by descriptor: create a file system, copy a mount, attach it
 * below the new root. All fail with the errno of the system call.
 */
#ifndef GUARD_SANDBOX_MOUNT_H
#define GUARD_SANDBOX_MOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"

/* Creates a file system that is mounted nowhere yet. options: "key", "value"
 * pairs, NULL-terminated, or NULL; attrs: MOUNT_ATTR_*. Returns a descriptor of
 * the caller's. */
int mount_new_fs(const char *type, const char *const *options,
		 unsigned int attrs, struct err *err);

/* Copies the mount behind fd, with its attributes and attrs. Returns a
 * descriptor of the caller's. */
int mount_copy(int fd, bool recursive, unsigned int attrs, struct err *err);

/* Opens path below the new root with O_PATH; symbolic links cannot leave the
 * root. Returns a descriptor of the caller's, or -1 with errno. */
int mount_point(int root_fd, const char *path);

/* Attaches a mount at the mount point `target`, or changes the attributes of a
 * mount. 0, or -1 with errno. */
int mount_attach(int mount_fd, int target);
int mount_set_attrs(int mount_fd, unsigned int attrs);

/* Attaches a mount to path below the new root. */
int mount_place(int root_fd, const char *path, int mount_fd, struct err *err);

/* Creates the missing components of path; the last one is a directory (dir) or
 * an empty file. */
int mount_make_point(int root_fd, const char *path, bool dir, struct err *err);

/* The option "size" of a tmpfs: the limit in bytes; half of the machine's
 * memory if it is 0. Returns text. */
const char *mount_size(uint64_t limit, char text[24]);

/* A mount table. It tells at which other paths the same file or directory is
 * visible: a masked path is masked at all of them. */

struct mountinfo_item {
	/* Parts of the text. */
	const char *dev; /* "major:minor" of the file system */
	const char *root; /* the mounted directory of the file system */
	const char *point; /* the mount point */
	const char *type; /* file system, "overlay" */
	bool writable; /* mount and file system are writable */
};

struct mountinfo {
	struct mountinfo_item *items; /* later ones cover earlier ones */
	size_t count, capacity;
	struct buf text;
};

/* Reads the mount table of a process (0: of this one). Free with
 * mountinfo_free(). */
void mountinfo_free(struct mountinfo *m);
int mountinfo_load(pid_t pid, struct mountinfo *ret, struct err *err);

/* Fills ret with the absolute paths, other than path and not below it, that
 * show the same file or directory or a part of it. Free with names_free(). */
void mountinfo_aliases(const struct mountinfo *m, const char *path,
		       struct names *ret);

#endif
