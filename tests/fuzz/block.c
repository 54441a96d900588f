/* The table of a block of small objects: block_entries(). */
#include <stdlib.h>

#include "snapshot/store/packformat.h"
#include "tests/fuzz/fuzz.h"

/* The first byte is the count. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct pack_entry record = {.offset = 64};
	struct pack_entries list = {0};
	size_t at = 0, i;
	struct err err;
	int got;

	if (!len)
		return 0;
	got = block_entries(data + 1, len - 1, data[0], &record, &list, &err);
	for (i = 0; i < list.count; i++) {
		const struct pack_entry *e = &list.items[i];

		/* Each object begins at the end of the previous one. */
		must(e->inner == at && e->in_block && e->offset == 64);
		at += e->id.len;
	}
	if (got == 0) {
		must(list.count == data[0]);
		must(at + list.count * BLOCK_TABLE_ENTRY == len - 1);
	}
	free(list.items);
	return 0;
}
