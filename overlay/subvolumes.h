/*
 * btrfs subvolumes below a directory. They are no mounts, but a rename or hard
 * link from one subvolume to another gives EXDEV, and each has a device number
 * of its own. guard treats them as mounts below a project.
 */
#ifndef GUARD_OVERLAY_SUBVOLUMES_H
#define GUARD_OVERLAY_SUBVOLUMES_H

/*
 * Appends the absolute paths of the subvolumes directly below the directory
 * dir_fd, whose path is `path`, to *ret; free with mem_list_free(). Without
 * those that a mount hides, that this user cannot reach, or that are a .git or
 * in one: a repository has no layer apart from its project's. Other file
 * systems have none.
 */
void subvolumes_list_below(int dir_fd, const char *path, char ***ret);

#endif
