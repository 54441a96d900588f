/* The index over many packs: midx_open(), and searches for hashes in it. */
#include "snapshot/store/midx.h"
#include "snapshot/store/packformat.h"
#include "tests/fuzz/fuzz.h"

enum { SEAL_HEAD = 1, SEAL_BODY = 2, HEAD = 64 };

static const unsigned char uuid[PACK_UUID_LEN] = "fuzz fuzz fuzz f";

static void look(const struct midx *m, const unsigned char *hash)
{
	size_t first, end, i;

	must(midx_find(m, hash, &first, &end) == (first < end));
	for (i = first; i < end; i++)
		must(midx_pack(m, i) <= midx_count(m));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	AUTO(midx) struct midx *m = NULL;
	auto_free uint8_t *bytes = NULL;
	unsigned char hash[HASH_LEN] = {0};
	uint8_t seals;
	struct err err;
	size_t i;

	if (!len)
		return 0;
	seals = data[0];
	bytes = fuzz_copy(data, &len);
	if (len >= HEAD && seals & SEAL_BODY)
		seal_u64(bytes + 40, hash_check(bytes + HEAD, len - HEAD));
	if (len >= HEAD && seals & SEAL_HEAD) {
		memcpy(bytes, "GUARDMX1", 8);
		memcpy(bytes + 24, uuid, PACK_UUID_LEN);
		seal_u64(bytes + 56, hash_check(bytes, 56));
	}
	fuzz_file("midx", bytes, len);
	if (midx_open(fuzz_dir(), "midx", uuid, &m, &err) < 0)
		return 0;
	for (i = 0; i < midx_count(m); i++)
		must(midx_number(m, midx_name(m, i)) == i);
	/* Bytes of the file, taken as the start of a hash. */
	for (i = HEAD; i + 8 <= len && i < 4096; i += 4) {
		memcpy(hash, bytes + i, 8);
		look(m, hash);
	}
	(void)midx_is_intact(m);
	return 0;
}
