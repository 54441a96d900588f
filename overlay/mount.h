/*
 * Mounts overlays and directories, and reads the kernel's mount table.
 *
 * Descriptors are borrowed. The caller has the privileges to mount, usually in
 * a user and mount namespace of its own.
 */
#ifndef GUARD_OVERLAY_MOUNT_H
#define GUARD_OVERLAY_MOUNT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/meta.h"

struct mount_overlay_dirs {
	int lower_fd, upper_fd, work_fd;
	/* The content of the upper may be lost in a power cut: overlayfs never
	 * syncs it. A normal overlay syncs the complete file system of the
	 * upper when it is unmounted. */
	bool is_volatile;
};

/*
 * Mounts an overlay (nosuid, nodev, userxattr) on target_fd. All descriptors
 * are O_PATH directories that were opened in this mount namespace; path is for
 * messages only. Uses fsopen(2), or mount(2) where the kernel has no fsopen(2).
 * 0 or the kernel's negative errno; the text has the kernel's message and a
 * remedy.
 */
int mount_overlay(const struct mount_overlay_dirs *p, int target_fd,
		  const char *path, struct err *err);

/*
 * Appends the absolute paths of the mounts directly below the directory dir_fd,
 * whose path is `path`, to *ret, each path once; free with mem_list_free().
 * Mounts that another mount hides are not counted. Returns the number of paths
 * or a negative errno.
 */
int mount_list_below(int dir_fd, const char *path, char ***ret,
		     struct err *err);

/* Copies the mount at fd (nosuid, nodev), mounted nowhere; fd may be a
 * directory inside of a mount. read_only: read-only, with all mounts below it.
 * Returns a descriptor, or -1 with errno. */
int mount_detached_copy(int fd, bool read_only);
/* Attaches a mount that is mounted nowhere to target_fd. 0, or -1 with errno.
 */
int mount_move(int mount_fd, int target_fd);

/* Bind-mounts the directory from_fd (O_PATH, opened in this mount namespace) on
 * target_fd (nosuid, nodev). read_only: read-only, with all mounts below it. */
int mount_bind(int from_fd, int target_fd, bool read_only, const char *path,
	       struct err *err);

/*
 * Opens an absolute path with O_PATH|O_DIRECTORY, part by part from root_fd,
 * the directory that stands for "/". Symbolic links are refused, mounts are
 * entered, any length works. make: creates missing parts with mode 0755.
 * Returns a descriptor or a negative errno; -EINVAL: the path has a "..".
 */
int mount_open_dir(int root_fd, const char *path, bool make, struct err *err);

/* A directory that guard opens, and that its child opens again in a mount
 * namespace of its own; {.fd = -1} is none. */
struct mount_dir {
	char *path; /* absolute */
	struct meta meta;
	int fd; /* O_PATH */
};

/* Closes the descriptor and frees the path; *d is none then. */
void mount_dir_free(struct mount_dir *d);
/* Opens the directory `path`, which *d then owns, and records its metadata. */
int mount_dir_open(struct mount_dir *d, char *path, struct err *err);
/* Opens it again; nothing to do without a path. -ESTALE: device or inode
 * differs from the recorded metadata, if there is any (mode is not 0). */
int mount_dir_reopen(struct mount_dir *d, struct err *err);

#endif
