/* The note of which snapshots prune took away: tombstones_load(). */
#include "snapshot/maintain/missing.h"
#include "tests/fuzz/fuzzstore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct store *s = fuzz_store();
	AUTO(tombstones) struct tombstones g = {0};
	struct err err;
	auto_free uint8_t *bytes = fuzz_sealed(data, &len);
	size_t i;

	if (!bytes)
		return 0;
	fuzz_file("store/gone", bytes, len);
	if (tombstones_load(s, &g, &err) < 0)
		return 0;
	for (i = 0; i < g.count; i++) {
		must(g.items[i].first && g.items[i].count);
		must(!i || g.items[i - 1].first + g.items[i - 1].count <
				   g.items[i].first);
	}
	return 0;
}
