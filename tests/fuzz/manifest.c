/* Manifests of backups: manifest_decode(), manifest_items_advance(). */
#include "snapshot/backup/manifest.h"

#include "base/path.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	AUTO(manifest) struct manifest m = {0};
	AUTO(manifest_items) struct manifest_items items = {0};
	AUTO(buf) struct buf again = {0};
	struct err err;
	size_t i;

	if (manifest_decode(data, len, &m, &err) < 0)
		return 0;
	/* A manifest has exactly one encoding. */
	manifest_encode(&m, &again);
	must(again.len == len && memcmp(again.data, data, len) == 0);
	for (i = 0; i < m.adds.count; i++) {
		const struct manifest_item *item = &m.adds.items[i];

		must(path_name_ok(item->name, strlen(item->name)));
		must(item->offset + item->len >= item->len);
		must(manifest_items_find(&m.adds, item->kind, item->name) ==
		     item);
	}
	manifest_items_advance(&items, &m);
	must(items.count == m.adds.count);
	m.complete = false;
	manifest_items_free(&m.adds);
	manifest_items_advance(&items, &m);
	for (i = 0; i < m.drops.count; i++)
		must(!manifest_items_find(&items, m.drops.items[i].kind,
					  m.drops.items[i].name));
	return 0;
}
