/*
 * Gives lost objects their bytes back from others of the same keyed hash,
 * length and type. What could not be read was not known to be equal when its
 * bytes came again, so that a snapshot between damage and repair has stored
 * them under the next ordinal. The lower ones that are missing get these bytes,
 * too: then old snapshots have them again, and trees that are made anew refer
 * to the names that the lost ones referred to.
 *
 * What was compared with all lower ones and differs from them has a mark of its
 * absence (`again` in packformat.h), and nothing is taken from it: of two
 * objects that collide one does not become the other. Bytes of one hash that
 * differ though each may be the lost one prove a collision, too: nothing is
 * taken from them either. What is left is a collision whose first half was lost
 * before the second came, 2^-52 for who does not know the secret (hash.h).
 */
#ifndef GUARD_SNAPSHOT_STORE_REPLICAS_H
#define GUARD_SNAPSHOT_STORE_REPLICAS_H

#include "snapshot/store/store.h"

/*
 * s: open for writing, and to be opened anew afterwards, so that the lower
 * names are found first. *ret_count: names that have bytes again; they are
 * durable when this returns 0.
 */
int replicas_fill(struct store *s, uint64_t *ret_count, struct err *err);

#endif
