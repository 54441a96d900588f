/* Tree objects and the entries in them: tree_decode(). */

#include "tests/unit/tree_bytes.h"
#include <stdlib.h>

#include "base/path.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	AUTO(tree) struct tree t = {0};
	AUTO(buf) struct buf again = {0};
	struct err err;
	size_t i;

	if (tree_decode(data, len, &t, &err) < 0)
		return 0;
	for (i = 0; i < t.count; i++) {
		const struct entry *e = &t.entries[i];

		must(entry_ok(e, false));
		must(path_name_ok(e->name, strlen(e->name)));
		must(!i || strcmp(t.entries[i - 1].name, e->name) < 0);
		must(tree_find(&t, e->name) == e);
	}
	/* A directory has exactly one encoding; two would be stored twice. */
	if (t.split)
		tree_encode_split(t.entries, t.count, &again);
	else
		tree_encode(t.entries, t.count, &again);
	must(again.len == len && memcmp(again.data, data, len) == 0);
	return 0;
}
