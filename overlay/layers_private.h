/*
 * What the files layers*.c share: the list of what is mounted, in order.
 */
#ifndef GUARD_OVERLAY_LAYERS_PRIVATE_H
#define GUARD_OVERLAY_LAYERS_PRIVATE_H

#include "base/meta.h"
#include "overlay/layers.h"

struct layer {
	enum {
		LAYER_OVERLAY,
		LAYER_UPPER, /* the upper itself: see patchwork.h */
		LAYER_READ_ONLY, /* the real folder, read-only */
	} kind;
	char *path; /* what is covered, absolute */
	char *lower; /* what is shown there: the same, or a copy of it */
	char *upper, *work; /* absolute, in the run's folder, or NULL */
	struct meta lower_meta, upper_meta;
	int lower_fd, upper_fd, work_fd;
};

struct layers {
	struct layer *items; /* in the order of their mounts */
	size_t count, capacity;
};

void layer_free(struct layer *l);
/* One more at the end, empty; holds until the next call. */
struct layer *layers_add(struct layers *l);
/* Takes the last one away. */
void layers_drop(struct layers *l);

/* The absolute path of an open folder, as this process sees it. */
char *layer_path_of(int fd, struct err *err);
int layer_open_absolute(const char *path, struct err *err);
/* Fills path, lower, lower_fd and lower_meta. */
int layer_open_lower(struct layer *l, const char *path, struct err *err);

/*
 * The last one, whose lower is open, gets its upper and a work folder in the
 * run's; where mounts lie below it, more layers follow that put it together.
 */
int layers_cover(struct layers *l, const struct session *s, const char *upper,
		 const char *work, struct buf *notes, struct err *err);

#endif
