/*
 * Gives lost objects their bytes back from others of the same keyed hash,
 * length and type. What could not be read was not known to be equal when its
 * bytes came again, so that a snapshot between damage and repair has stored
 * them under the next ordinal. The lower ones that are missing get these bytes,
 * too: then old snapshots have them again, and trees that are made anew refer
 * to the names that the lost ones referred to.
 *
 * Bytes of one hash that differ from each other prove a collision: then nothing
 * is taken from them. Of a forged pair of which one is lost the other would be
 * taken, here as from the user's folder: only who knows the secret makes one.
 */
#ifndef GUARD_SNAPSHOT_TWINS_H
#define GUARD_SNAPSHOT_TWINS_H

#include "snapshot/store.h"

/*
 * s: open for writing, and to be opened anew afterwards, so that the lower
 * names are found first. *ret_count: names that have bytes again; they are
 * durable when this returns 0.
 */
int twins_fill(struct store *s, uint64_t *ret_count, struct err *err);

#endif
