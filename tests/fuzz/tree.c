/* Tree objects and the entries in them: tree_decode(), tree_decode_pair(). */

#include "tests/unit/tree_bytes.h"
#include <stdlib.h>

#include "base/path.h"
#include "tests/fuzz/fuzz.h"

/* For any pair of trees: both are decoded, or neither is. */
static void apart(const uint8_t *a, size_t a_len, const uint8_t *b,
		  size_t b_len, bool same)
{
	struct buf x = {.data = mem_dup(a, a_len), .len = a_len};
	struct buf y = {.data = mem_dup(b, b_len), .len = b_len};
	AUTO(tree) struct tree t = {0}, u = {0};
	struct err err;
	int got = tree_decode_pair(&x, &y, &t, &u, &err);

	free(x.data);
	free(y.data);
	must(!same || got == 0);
	must(!same || t.split || t.count + u.count == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	AUTO(tree) struct tree t = {0};
	AUTO(buf) struct buf again = {0};
	struct err err;
	size_t i;

	apart(data, len / 2, data + len / 2, len - len / 2, false);
	apart(data, len, data, len / 2, false);
	if (tree_decode(data, len, &t, &err) < 0)
		return 0;
	apart(data, len, data, len, true);
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
