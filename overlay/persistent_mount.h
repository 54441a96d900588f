/*
 * Folders of guard's own that a run sees in the places of real ones, and that
 * stay when its layers go: an agent's home, and caches.
 *
 *	a folder	mounted as it is; several runs may have it at once
 *	caches		parts of one overlay over the real home folder, whose
 *			upper stays: the run reads what the user has and never
 *			writes it. One run at a time; another goes without.
 *
 * Caches lie in a folder with upper/, work/ and lock. Nothing in them is
 * synced: what a power cut takes of them is lost.
 *
 * The same three steps as in layers.h; what is added is mounted on top of the
 * layers, parents first.
 */
#ifndef GUARD_OVERLAY_PERSISTENT_MOUNT_H
#define GUARD_OVERLAY_PERSISTENT_MOUNT_H

#include <stddef.h>

#include "base/err.h"

struct persistent_mount;

/* Repeated in the session's record: the places, absolute, without links. */
#define PERSISTENT_MOUNT_PLACE "kept"

struct persistent_mount *persistent_mount_new(void);
/* Lets go of the caches. */
void persistent_mount_free(struct persistent_mount **k);

/* place, source: absolute, without links. */
int persistent_mount_add_dir(struct persistent_mount *k, const char *place,
			     const char *source, struct err *err);

/* In the run's folder: what the mount before has left behind. */
#define PERSISTENT_MOUNT_OLD_WORK "kept-work"
/* home: the folder that the caches are below of; dir: theirs, open; run_fd:
 * the run's folder, for PERSISTENT_MOUNT_OLD_WORK. -EBUSY: another run has
 * them; -EXDEV: there are mounts below home. */
int persistent_mount_open_caches(struct persistent_mount *k, const char *home,
				 int dir, int run_fd, struct err *err);
/* After that. A place that is not below the home is left as it is. */
void persistent_mount_add_cache(struct persistent_mount *k, const char *place);

/* The n-th place in the order of the mounts; NULL behind the last. */
const char *persistent_mount_place(const struct persistent_mount *k, size_t n);

/* Child, in its own mount namespace, nothing mounted yet. */
int persistent_mount_open(struct persistent_mount *k, struct err *err);
/* Child, onto the new root. A cache that cannot be mounted is left out. */
int persistent_mount_attach(struct persistent_mount *k, int root_fd,
			    struct err *err);

/*
 * The folders in which they were mounted and that the real one does not have
 * are empty ones of the layer: takes them away, with the empty ones above.
 * path: of a place, below what upper and lower stand for.
 */
void persistent_mount_remove_point(int upper_fd, int lower_fd,
				   const char *path);

#endif
