/* Sets of extended attributes: attrset_decode(). */
#include "snapshot/tree/tree.c"

#include "base/meta.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	AUTO(xattrs) struct xattrs x = {0};
	AUTO(buf) struct buf again = {0};
	struct err err;
	size_t i;

	if (attrset_decode(data, len, &x, &err) < 0)
		return 0;
	for (i = 0; i < x.count; i++)
		must(xattrs_find(&x, x.items[i].name) == &x.items[i]);
	attrset_encode(&x, &again);
	must(again.len == len && memcmp(again.data, data, len) == 0);
	return 0;
}
