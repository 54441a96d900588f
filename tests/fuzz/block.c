/* The table of a block of small objects: block_each(). */
#include "snapshot/store/packformat.h"
#include "tests/fuzz/fuzz.h"

struct seen {
	const uint8_t *data;
	size_t at, objects;
};

static int see(void *arg, const struct pack_entry *e, struct err *err)
{
	struct seen *s = arg;

	(void)err;
	/* Each object begins at the end of the previous one. */
	must(e->inner == s->at && e->in_block);
	s->at += e->id.len;
	s->objects++;
	return 0;
}

/* The first byte is the count. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct seen seen = {.data = data};
	struct err err;
	uint32_t count;

	if (!len)
		return 0;
	count = data[0];
	if (block_each(data + 1, len - 1, count, see, &seen, &err) == 0) {
		must(seen.objects == count);
		must(seen.at + (size_t)count * BLOCK_TABLE_ENTRY == len - 1);
	}
	return 0;
}
