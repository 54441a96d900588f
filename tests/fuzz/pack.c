/* Packs with their index: pack_open() and the functions that read packs. */
#include "snapshot/store/pack.c"

#include "tests/fuzz/fuzz.h"

enum seals { SEAL_HEADER = 1, SEAL_RECORDS = 2, SEAL_INDEX = 4 };

static const unsigned char uuid[PACK_UUID_LEN] = "fuzz fuzz fuzz f";

static void seal_header(uint8_t *data)
{
	memcpy(data, "GUARDPK1", 8);
	memcpy(data + 16, uuid, PACK_UUID_LEN);
	seal_u64(data + 56, hash_check(data, 56));
}

/* Heads and payloads, as far as each leads to the next. */
static void seal_records(uint8_t *data, size_t len)
{
	size_t at = HEADER_LEN;

	while (len - at >= HEAD_LEN && memcmp(data + at, "GREC", 4) == 0) {
		uint64_t stored = get_le(data + at + 16, 8);
		size_t left = len - at - HEAD_LEN;

		if (stored <= left)
			seal_u64(data + at + 40,
				 hash_check(data + at + HEAD_LEN, stored));
		put_le(data + at + 52, hash_check(data + at, 52), 4);
		if (stored > left || ((stored + 7) & ~(uint64_t)7) > left)
			return;
		at += record_file_len(stored);
	}
}

static void seal_index(uint8_t *data, size_t len)
{
	uint8_t *footer = data + len - FOOTER_LEN;
	uint64_t offset = get_le(footer + 8, 8);

	memcpy(footer, "GUARDPKE", 8);
	if (offset < len - FOOTER_LEN)
		seal_u64(footer + 24,
			 hash_check(data + offset, len - FOOTER_LEN - offset));
	seal_u64(footer + 56, hash_check(footer, 56));
}

static void read_all(const struct pack *p)
{
	uint32_t i, count = pack_count(p);

	for (i = 0; i < count; i++) {
		uint32_t found = pack_find(p, pack_hash(p, i));
		auto_free unsigned char *plain = NULL;
		struct record_head head;
		struct pack_entry e;
		struct err err;
		size_t len;

		/* In an unsorted index a search may fail, but never finds
		 * another hash. */
		must(found == count || memcmp(pack_hash(p, found),
					      pack_hash(p, i), HASH_LEN) == 0);
		if (!pack_get(p, i, &e))
			continue;
		(void)pack_record(p, e.offset, &head);
		if (i < 64 &&
		    pack_read(p, e.offset, &head, &plain, &len, &err) == 0)
			must(len == head.plain_len);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	AUTO(pack) struct pack *p = NULL;
	auto_free uint8_t *bytes = NULL;
	struct pack_entries found = {0};
	size_t i;
	uint8_t seals;
	struct err err;

	if (!len)
		return 0;
	seals = data[0];
	bytes = fuzz_copy(data, &len);
	if (len >= HEADER_LEN + FOOTER_LEN) {
		if (seals & SEAL_HEADER)
			seal_header(bytes);
		if (seals & SEAL_RECORDS)
			seal_records(bytes, len);
		if (seals & SEAL_INDEX)
			seal_index(bytes, len);
	}
	fuzz_file("pack", bytes, len);
	if (pack_open(fuzz_dir(), "pack", uuid, false, &p, &err) < 0)
		return 0;
	read_all(p);
	(void)pack_scan(p, &found);
	for (i = 0; i < found.count; i++)
		must(found.items[i].id.type >= 1 &&
		     found.items[i].id.type <= 4 &&
		     found.items[i].id.len <= OBJECT_LEN_MAX);
	free(found.items);
	return 0;
}
