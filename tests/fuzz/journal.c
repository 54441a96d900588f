/* The journal of a transaction: journal_load(). */
#include "base/path.h"
#include "restore/journal.h"
#include "tests/fuzz/fuzz.h"

enum { VERSION_AT = 8, CHECK_AT = 10, BODY_AT = 18, WITH_TABLE = 4 };

/* FNV-1a, as in journal.c. */
static uint64_t fnv(const uint8_t *data, size_t len)
{
	uint64_t h = 0xcbf29ce484222325u;
	size_t i;

	for (i = 0; i < len; i++)
		h = (h ^ data[i]) * 0x100000001b3u;
	return h;
}

/* From version 4 on the body contains its length, and a table follows. */
static void seal(uint8_t *bytes, size_t len)
{
	size_t at = BODY_AT, body = len - BODY_AT;

	if (bytes[VERSION_AT] >= WITH_TABLE && len >= BODY_AT + 16) {
		at += 8;
		body = (size_t)bytes[BODY_AT] | (size_t)bytes[BODY_AT + 1] << 8;
		if (body + 8 > len - at)
			body = len - at - 8;
		seal_u64(bytes + BODY_AT, body);
		seal_u64(bytes + at + body,
			 fnv(bytes + at + body + 8, len - at - body - 8));
	}
	seal_u64(bytes + CHECK_AT, fnv(bytes + at, body));
}

static void check_root(const struct journal_root *r)
{
	size_t i;

	must(path_name_ok(r->staging, strlen(r->staging)));
	for (i = 0; i < r->ops.count; i++)
		must(path_ok(r->ops.items[i].path));
	for (i = 0; i < r->parent_mtimes.count; i++)
		must(path_ok(r->parent_mtimes.items[i].path));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	AUTO(journal) struct journal j = {0};
	auto_free uint8_t *bytes = NULL;
	uint8_t seals;
	struct err err;
	size_t i;

	if (!len)
		return 0;
	seals = data[0];
	bytes = fuzz_copy(data, &len);
	if ((seals & 1) && len >= BODY_AT)
		seal(bytes, len);
	fuzz_file(JOURNAL_NAME, bytes, len);
	if (journal_load(fuzz_dir(), &j, &err) < 0)
		return 0;
	for (i = 0; i < j.roots.count; i++)
		check_root(&j.roots.items[i]);
	return 0;
}
