/*
 * Kinds of hunks, of any bytes: the old text, a NUL, the new text. The first
 * byte tells how often the difference is added.
 */
#include "guard/parse/parse_worker.h"
#include "guard/review/kinds.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	AUTO(buf) struct buf old = {0}, now = {0};
	AUTO(hunks) struct hunks h = {0};
	AUTO(kinds) struct kinds k = {0};
	const uint8_t *nul;
	size_t i, n, hunks = 0, families = 0;
	bool ambiguous;
	struct err err;
	int got;

	if (!len)
		return 0;
	nul = memchr(data + 1, '\0', len - 1);
	buf_add(&old, data + 1, nul ? (size_t)(nul - data) - 1 : len - 1);
	if (nul)
		buf_add(&now, nul + 1, (size_t)(data + len - nul) - 1);
	parse_worker_install();
	got = hunks_make(&old, &now, &h, &err);
	must(got >= 0);
	if (got)
		return 0;
	for (n = 0; n <= data[0] % 3u; n++)
		for (i = 0; i < h.count; i++)
			kinds_add(&k, n, i, &h.items[i], false);
	kinds_finish(&k);
	/* Equal hunks are of one kind, and every hunk is of one. */
	must(k.items.count <= h.count);
	for (i = 0; i < k.items.count; i++) {
		must(k.items.items[i].places.count % (data[0] % 3u + 1) == 0);
		must(kinds_find(&k, k.items.items[i].id, &ambiguous) ==
		     &k.items.items[i]);
		hunks += k.items.items[i].places.count;
	}
	must(hunks == k.hunks);
	for (i = 0; i < k.families.count; i++)
		families += k.families.items[i].count;
	must(families == k.items.count);
	return 0;
}
