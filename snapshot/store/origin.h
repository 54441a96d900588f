/*
 * The origin of snapshots: 16 random bytes in the record "origin" of the store,
 * bound to this machine and to this place of the store. A store that was
 *copied, or restored on another machine, gets another origin with its next
 *snapshot. Original and copy go on with the same numbers; origin and number
 *together mean one snapshot.
 *
 *	id=<32 hex digits>
 *	place=<16 hex digits>   XXH3-64 of the machine's id, the file system's
 *	                        id, and the inode and the bytes of FORMAT
 */
#ifndef GUARD_SNAPSHOT_STORE_ORIGIN_H
#define GUARD_SNAPSHOT_STORE_ORIGIN_H

#include <stdbool.h>

#include "base/err.h"

#define ORIGIN_LEN 16

/* Fills in the origin; a store without one, or in another place, gets a new
 * one. root_fd: the store's directory, writable, under commit.lock. */
int origin_get(int root_fd, unsigned char ret[ORIGIN_LEN], struct err *err);
/* Binds the origin of the store to this place, after FORMAT was written again.
 * Nothing to do without an origin. */
int origin_bind(int root_fd, struct err *err);

#endif
