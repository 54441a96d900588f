#include "snapshot/tree/attrset.h"

#include "base/auto.h"

int attrset_load(struct store *s, const struct oid *id, struct xattrs *ret,
		 struct err *err)
{
	AUTO(buf) struct buf bytes = {0};

	*ret = (struct xattrs){0};
	if (id->type == OBJECT_NONE)
		return 0;
	if (store_get(s, id, &bytes, err) < 0)
		return -err->num;
	return xattrs_decode(bytes.data, bytes.len, ret, err);
}

int attrset_save(struct store *s, const struct xattrs *x, struct oid *ret,
		 struct err *err)
{
	AUTO(buf) struct buf bytes = {0};

	*ret = (struct oid){0};
	if (!x->count)
		return 0;
	xattrs_encode(x, &bytes);
	return store_put(s, OBJECT_ATTRSET, bytes.data, bytes.len, ret, err);
}
