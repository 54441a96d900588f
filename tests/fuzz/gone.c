/* The note of which snapshots prune took away: gone_load(). */
#include "snapshot/tree/gone.h"
#include "tests/fuzz/fuzzstore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct store *s = fuzz_store();
	AUTO(gone) struct gone g = {0};
	struct err err;
	auto_free uint8_t *bytes = NULL;
	uint8_t seals;
	size_t i;

	if (!len)
		return 0;
	seals = data[0];
	bytes = fuzz_copy(data, &len);
	if (seals & 1)
		seal_tail(bytes, len);
	fuzz_file("store/gone", bytes, len);
	if (gone_load(s, &g, &err) < 0)
		return 0;
	for (i = 0; i < g.count; i++) {
		must(g.items[i].first && g.items[i].count);
		must(!i || g.items[i - 1].first + g.items[i - 1].count <
				   g.items[i].first);
	}
	return 0;
}
