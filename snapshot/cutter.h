/*
 * Cuts a long file into chunks and holes while its bytes come in, in order,
 * and puts the chunks into the store: new, any number of add and skip, end,
 * free. What is a hole is decided by the bytes alone (chunklist.h).
 */
#ifndef GUARD_SNAPSHOT_CUTTER_H
#define GUARD_SNAPSHOT_CUTTER_H

#include "snapshot/store.h"

struct cutter;

struct cutter *cutter_new(struct store *s);
void cutter_free(struct cutter **c);
/* The next bytes. All lengths but the last are multiples of HOLE_ALIGN. */
int cutter_add(struct cutter *c, const unsigned char *data, size_t len,
	       struct err *err);
/* The next bytes are zeros; len as above. */
void cutter_skip(struct cutter *c, uint64_t len);
/* Puts what is left and the list of all; gives the list's name. */
int cutter_end(struct cutter *c, struct oid *ret, struct err *err);

/* How many bytes at the start of data are zeros, in whole blocks of
 * HOLE_ALIGN: data begins on a border of one, the last may be short. */
size_t cutter_zeros(const unsigned char *data, size_t len);
/* How many bytes are before the first such block. */
size_t cutter_data(const unsigned char *data, size_t len);

#endif
