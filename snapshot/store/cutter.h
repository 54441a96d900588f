/*
 * Cuts a long file into chunks and holes while its bytes come in, in order,
 * and puts the chunks into the store: new, any number of add and skip, end,
 * free. What is a hole is decided by the bytes alone (chunklist.h).
 */
#ifndef GUARD_SNAPSHOT_STORE_CUTTER_H
#define GUARD_SNAPSHOT_STORE_CUTTER_H

#include "snapshot/store/past.h"
#include "snapshot/store/store.h"

struct cutter;

/* past: may be NULL; must live longer. */
struct cutter *cutter_new(struct store *s, const struct past *past);
void cutter_free(struct cutter **c);
/*
 * The next bytes. All lengths but the last are multiples of HOLE_ALIGN. 1: a
 * cut was made where a kept chunk of the past begins, cutter_met(): go on with
 * cutter_keep(); what was added behind that place is forgotten.
 */
int cutter_add(struct cutter *c, const unsigned char *data, size_t len,
	       struct err *err);
/* The next bytes, up to a border of HOLE_ALIGN, of which none is in a hole. As
 * cutter_add(). */
int cutter_lead(struct cutter *c, const unsigned char *data, size_t len,
		struct err *err);
/* Takes over the runs of the past from i on that are kept. Returns the first
 * one that is not: what comes next begins where that one began. */
size_t cutter_keep(struct cutter *c, size_t i);
size_t cutter_met(const struct cutter *c);
/* The next bytes are zeros; len as above. */
void cutter_skip(struct cutter *c, uint64_t len);
/* Puts what is left and the list of all; gives the list's name. */
int cutter_end(struct cutter *c, struct oid *ret, struct err *err);

/* After that: a mark for each run of the list, to free; NULL when some chunk
 * has none. */
unsigned char *cutter_marks(struct cutter *c, size_t *ret_count);

#endif
