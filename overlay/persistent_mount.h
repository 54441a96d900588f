/*
 * Directories of guard that a run sees in place of real ones and that remain
 * when the run's layers are removed: an agent's home, and caches.
 *
 * 	directory	mounted as it is; several runs may use it at once
 * 	caches		parts of one overlay over the real home directory with
 * 			a persistent upper: the run reads the user's files and
 * 			never writes them. One run at a time; another run
 * 			starts without them.
 *
 * The caches' own directory has upper/, work/ and lock. Nothing in it is
 * synced: a power cut may lose files there.
 *
 * The order of calls is that of layers.h. In the parent:
 * persistent_mount_new(), persistent_mount_add_dir(),
 * persistent_mount_open_caches(), persistent_mount_add_cache(). In the run's
 * child: persistent_mount_open(), then persistent_mount_attach() on top of the
 * layers, parents first.
 */
#ifndef GUARD_OVERLAY_PERSISTENT_MOUNT_H
#define GUARD_OVERLAY_PERSISTENT_MOUNT_H

#include <stddef.h>

#include "base/err.h"

struct persistent_mount;

/* Key in the session's record, one value for each place: absolute, without
 * symbolic links. */
#define PERSISTENT_MOUNT_PLACE "kept"

/* An empty set, to be freed with persistent_mount_free(). */
struct persistent_mount *persistent_mount_new(void);
/* Frees *k, unlocks the caches and sets *k to NULL. */
void persistent_mount_free(struct persistent_mount **k);

/* Adds the directory `source`, to be mounted at `place`. Both are absolute,
 * without symbolic links. */
int persistent_mount_add_dir(struct persistent_mount *k, const char *place,
			     const char *source, struct err *err);

/* Name in the run's directory: the work directory of the previous mount. */
#define PERSISTENT_MOUNT_OLD_WORK "kept-work"
/*
 * Locks and prepares the caches. home: the directory that holds all cached
 * places; dir: the caches' own directory, open; run_fd: the run's directory,
 * for PERSISTENT_MOUNT_OLD_WORK. -EBUSY: another run uses the caches; -EXDEV:
 * mounts exist below home.
 */
int persistent_mount_open_caches(struct persistent_mount *k, const char *home,
				 int dir, int run_fd, struct err *err);
/* Adds a cache; called after persistent_mount_open_caches(). A place that is
 * not below home is ignored. */
void persistent_mount_add_cache(struct persistent_mount *k, const char *place);

/* The n-th place in the order of the mounts; NULL after the last one. */
const char *persistent_mount_place(const struct persistent_mount *k, size_t n);

/* Opens all directories again: in the child, in its own mount namespace, before
 * any mount. -ESTALE: a directory was replaced. */
int persistent_mount_open(struct persistent_mount *k, struct err *err);
/* Mounts the n-th directory or cache: in the child, below the new root, one
 * after the other. A cache that cannot be mounted is skipped. */
int persistent_mount_attach(struct persistent_mount *k, size_t n, int root_fd,
			    struct err *err);

/* After the run: empties the caches' work directory, where the kernel leaves a
 * directory of mode 000. */
void persistent_mount_empty_work(const struct persistent_mount *k);

/*
 * Removes a mount point from a layer after the run. Mount points that the real
 * directory does not have are empty directories of the upper: removes `path`
 * and the empty directories above it. path is relative to upper_fd and
 * lower_fd.
 */
void persistent_mount_remove_point(int upper_fd, int lower_fd,
				   const char *path);

#endif
