/*
 * The extended attributes of an entry, as one object of the store.
 */
#ifndef GUARD_SNAPSHOT_TREE_ATTRSET_H
#define GUARD_SNAPSHOT_TREE_ATTRSET_H

#include "base/meta.h"
#include "snapshot/store/store.h"

/* id of OBJECT_NONE: no attributes. *ret is the caller's, empty on failure. */
int attrset_load(struct store *s, const struct oid *id, struct xattrs *ret,
		 struct err *err);
/* No attributes: OBJECT_NONE. */
int attrset_save(struct store *s, const struct xattrs *x, struct oid *ret,
		 struct err *err);

#endif
