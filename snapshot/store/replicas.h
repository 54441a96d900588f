/*
 * Recovers lost objects from replicas: objects of the same keyed hash, length
 * and type with a higher ordinal. An object that cannot be read is not known to
 * be equal to new bytes, so a snapshot between the damage and the repair stores
 * the same bytes again under the next ordinal. replicas_fill() stores these
 * bytes under the missing lower ordinals, too: old snapshots have their objects
 * again, and new trees refer to the same names as the old ones.
 *
 * An object that was compared with all lower ordinals and differs from them
 * lacks the flag `again` (packformat.h) and is never used as a replica: of two
 * colliding objects, one never becomes the other. Candidates of one hash with
 * different bytes prove a collision, too, and are not used. The remaining case,
 * a collision whose first object was lost before the second was stored, has
 * probability 2^-52 without knowledge of the secret (hash.h).
 */
#ifndef GUARD_SNAPSHOT_STORE_REPLICAS_H
#define GUARD_SNAPSHOT_STORE_REPLICAS_H

#include "snapshot/store/store.h"

/* s must be open for writing, and must be closed and opened again afterwards,
 * so that lookups find the lower ordinals first. *ret_count: names that have
 * bytes again, durable when this returns 0. */
int replicas_fill(struct store *s, uint64_t *ret_count, struct err *err);

#endif
