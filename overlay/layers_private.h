/*
 * The list of the mounts of a run, in order. Only layers.c and its test include
 * this header.
 */
#ifndef GUARD_OVERLAY_LAYERS_PRIVATE_H
#define GUARD_OVERLAY_LAYERS_PRIVATE_H

#include "overlay/layers.h"
#include "overlay/mount.h"

struct layer {
	enum {
		LAYER_OVERLAY,
		LAYER_UPPER, /* the upper itself: see submount_overlay.h */
		LAYER_READ_ONLY, /* the real directory, read-only */
	} kind;
	char *path; /* the covered directory, absolute */
	struct mount_dir lower; /* visible at path: path itself or a copy */
	struct mount_dir upper, work; /* in the run's directory, or none */
	/* A throw-away copy: an overlay on top of this one. */
	struct mount_dir copy_upper, copy_work;
};

struct layers {
	struct layer *items; /* in the order of their mounts */
	size_t count, capacity;
	bool durable;
};

#endif
