/*
 * Mounts as the kernel tells and takes them.
 */
#ifndef GUARD_OVERLAY_MOUNT_H
#define GUARD_OVERLAY_MOUNT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"

/*
 * Mounts an overlay (nosuid, nodev, userxattr) on target_fd. All are O_PATH
 * folders, opened in this mount namespace; path is for messages. Goes by
 * fsopen(2), else by mount(2). The kernel's own words are in the error.
 */
int mount_overlay(int lower_fd, int upper_fd, int work_fd, int target_fd,
		  const char *path, struct err *err);
/* The same for an upper that may be lost in a power cut: it is never synced,
 * which an overlay does at its end for all of the file system. */
int mount_overlay_volatile(int lower_fd, int upper_fd, int work_fd,
			   int target_fd, const char *path, struct err *err);

/* For tests: true = as if the kernel had no fsopen(2). */
void mount_without_fsopen(bool on);

/*
 * The mounts directly on something below the folder dir_fd, path: how many.
 * Their paths (absolute) are added to the list, each once. Those that an upper
 * mount hides do not count.
 */
int mount_list_below(int dir_fd, const char *path, char ***ret,
		     struct err *err);

/* Mounts the folder behind from_fd, O_PATH and opened in this mount namespace,
 * on target_fd as well (nosuid, nodev); read_only: with all mounts below. */
int mount_bind(int from_fd, int target_fd, bool read_only, const char *path,
	       struct err *err);

/*
 * Opens an absolute path as O_PATH|O_DIRECTORY part by part from root_fd
 * (a folder that stands for "/"): no link is followed, mounts are entered,
 * the length does not matter. make: parts that are missing are made, 0755.
 */
int mount_open_dir(int root_fd, const char *path, bool make, struct err *err);

#endif
