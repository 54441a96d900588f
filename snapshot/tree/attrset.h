/*
 * The extended attributes of an entry, as one object of the store.
 */
#ifndef GUARD_SNAPSHOT_TREE_ATTRSET_H
#define GUARD_SNAPSHOT_TREE_ATTRSET_H

#include "base/meta.h"
#include "snapshot/store/store.h"

/* Loads the attributes of an entry into *ret, which is the caller's to free and
 * empty on failure. An id of OBJECT_NONE gives no attributes. -EBADMSG:
 * damaged. */
int attrset_load(struct store *s, const struct oid *id, struct xattrs *ret,
		 struct err *err);
/* Stores the attributes and sets *ret to their object, OBJECT_NONE for an empty
 * set. 0 or a negative errno of store_put(). */
int attrset_save(struct store *s, const struct xattrs *x, struct oid *ret,
		 struct err *err);

#endif
