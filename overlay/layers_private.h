/*
 * Shared by the files layers*.c: the list of the mounts of a run, in order.
 */
#ifndef GUARD_OVERLAY_LAYERS_PRIVATE_H
#define GUARD_OVERLAY_LAYERS_PRIVATE_H

#include "base/meta.h"
#include "overlay/layers.h"

struct layer {
	enum {
		LAYER_OVERLAY,
		LAYER_UPPER, /* the upper itself: see submount_overlay.h */
		LAYER_READ_ONLY, /* the real directory, read-only */
	} kind;
	char *path; /* the covered directory, absolute */
	/* the directory that is visible at path: path itself or a copy */
	char *lower;
	char *upper, *work; /* absolute, in the run's directory, or NULL */
	struct meta lower_meta, upper_meta;
	int lower_fd, upper_fd, work_fd;
};

struct layers {
	struct layer *items; /* in the order of their mounts */
	size_t count, capacity;
};

/* Closes and frees the fields of one layer. */
void layer_free(struct layer *l);
/* Appends an empty layer. The pointer is valid until the next call. */
struct layer *layers_add(struct layers *l);
/* Removes and frees the last layer. */
void layers_drop(struct layers *l);

/* The absolute path of an open directory, as this process sees it; the caller's
 * to free. NULL on failure. */
char *layer_path_of(int fd, struct err *err);
/* Opens an absolute path with O_PATH, without following links. Returns a
 * descriptor or a negative errno. */
int layer_open_absolute(const char *path, struct err *err);
/* Sets path, lower, lower_fd and lower_meta; the upper and work descriptors
 * become -1. */
int layer_open_lower(struct layer *l, const char *path, struct err *err);

/*
 * Gives the last layer, whose lower is open, its upper and a work directory in
 * the run's directory. Where mounts are below the lower, adds more layers for
 * the parts (submount_overlay.h).
 */
int layers_cover(struct layers *l, const struct session *s, const char *upper,
		 const char *work, struct buf *notes, struct err *err);

#endif
