/*
 * Selects the directories that a run sees through a layer, and mounts the
 * layers.
 *
 * A descriptor from another mount namespace cannot be mounted, and an overlay
 * covers all mounts below it. So the run's child does two of the three steps:
 *
 * 	layers_plan()	parent: selects directories; prepares upper and work
 * 	layers_open()	child, in its own mount namespace, before any mount
 * 	layers_mount()	child, onto the new root
 *
 * layers_finalize() follows after the run.
 *
 * The lower is the real directory and is never written. The kernel gets layers
 * as /proc/self/fd/N, so any path works. Error texts translate the kernel's
 * errno into a remedy for the user.
 */
#ifndef GUARD_OVERLAY_LAYERS_H
#define GUARD_OVERLAY_LAYERS_H

#include <stdbool.h>

#include "overlay/session.h"

struct layers;

/* Key in the session's record: the repository outside of the project,
 * which has a layer of its own, git-upper. */
#define LAYERS_GIT "git-folder"

/* Closes and frees all layers and sets *l to NULL. Mounts stay. */
void layers_free(struct layers **l);

/* Checks, before a run is created, whether the file system of the directory of
 * all runs can hold an upper. 0, or -EOPNOTSUPP with the remedy in the text. */
int layers_check_state(int runs_fd, struct err *err);

/*
 * Mounts a test layer below an empty directory and writes a file through it.
 * The caller has a mount namespace of its own, in which the mount stays, and
 * removes the entries of the directory.
 */
int layers_probe(const char *dir_path, struct err *err);

/* Key in the session's record: the boot id at the creation of the session.
 * After a reboot a directory may have another device number. */
#define LAYERS_BOOT "boot"

/* Key in the session's record, one value for each mount below the project
 * without a layer: the run sees the mount read-only. All other mounts are
 * session.roots. */
#define LAYERS_UNCOVERED "uncovered"

/*
 * Key in the session's record, one value for each directory: it has no
 * meta_foreign() entry, so pre_copy_up_foreign() is not called for it.
 */
#define LAYERS_ONE_GROUP "one-group"

/*
 * Prepares the uppers: mode, owner, xattrs and times of the root, a fresh work
 * directory, copies of entries whose group the run cannot map. A directory with
 * mounts below gets one layer for each part (submount_overlay.h). home NULL: no
 * layer over the home directory. Adds one line to notes for each fact that the
 * user should know. *ret must be freed with layers_free(). -ESTALE: a root is
 * another directory than at the creation of the session; -EXDEV: a mount in the
 * project is newer than the session.
 */
int layers_plan(const struct session *s, const char *home, struct layers **ret,
		struct buf *notes, struct err *err);

/*
 * Makes throw-away copies of the planned layers: another overlay is mounted on
 * each, with an empty upper in `dir`, an absolute path, so that the run's own
 * upper is not written. (One overlay with two lowers does not do: the kernel
 * refuses a lower inside of another one, and the home directory holds guard's
 * state.) -EOPNOTSUPP: a directory consists of several parts.
 */
int layers_copy(struct layers *l, const char *dir, struct err *err);

/* Lets overlayfs sync each file that it copies up, and each fsync(2) in the
 * run. Without that only guard syncs a layer (mounted volatile). */
void layers_make_durable(struct layers *l);

/* Whether a directory consists of several parts: in the run its files are on
 * several file systems. */
bool layers_are_split(const struct layers *l);

/* Makes a layer of several parts look like any other layer (adds the missing
 * whiteouts). Called after the run by the holder of its lock, also for an
 * interrupted run. A second call does nothing. */
int layers_finalize(const struct session *s, struct err *err);

/* Opens every lower, upper and work directory again. -ESTALE: device or inode
 * of a lower or upper differs from layers_plan(). */
int layers_open(struct layers *l, struct err *err);

/* The path of the n-th layer in the order of the mounts; NULL after the last
 * one. */
const char *layers_path(const struct layers *l, size_t n);
/*
 * Mounts the n-th layer (an overlay: nosuid, nodev; userxattr) on its path
 * below root_fd, the new root, which is a mount that guard made. Creates mount
 * points that a private directory hides. -EROFS: the kernel made the layer
 * read-only.
 */
int layers_mount(struct layers *l, size_t n, int root_fd, struct err *err);

#endif
