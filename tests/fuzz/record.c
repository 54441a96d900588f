/* Small state files: record_load(), which reads a store's FORMAT too. */
#include "base/record.h"
#include "tests/fuzz/fuzz.h"

static bool same(const struct record *a, const struct record *b)
{
	size_t i;

	for (i = 0; i < a->count && i < b->count; i++)
		if (strcmp(a->items[i].key, b->items[i].key) != 0 ||
		    strcmp(a->items[i].value, b->items[i].value) != 0)
			return false;
	return a->count == b->count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	AUTO(record) struct record r = {0};
	AUTO(record) struct record again = {0};
	struct err err;

	fuzz_file("FORMAT", data, len);
	if (record_load(fuzz_dir(), "FORMAT", "store", 1, &r, &err) < 0)
		return 0;
	must(record_save(fuzz_dir(), "again", "store", 1, &r, false, &err) ==
	     0);
	must(record_load(fuzz_dir(), "again", "store", 1, &again, &err) == 0);
	must(same(&r, &again));
	return 0;
}
