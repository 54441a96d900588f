/* The authentication tags of long files: chunk_mac_cache_find(). */
#include "snapshot/store/chunk_mac_cache.h"
#include "tests/fuzz/fuzz.h"

static volatile unsigned char sink;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct oid id = {.type = OBJECT_CHUNKLIST};
	auto_free uint8_t *bytes = fuzz_sealed(data, &len);
	auto_free char *path = NULL;
	const unsigned char *found;
	struct chunk_mac_cache *m;
	size_t count;

	if (!bytes)
		return 0;
	fuzz_file("marks", bytes, len);
	path = mem_printf("%s/marks", fuzz_dir_name);
	m = chunk_mac_cache_new(path);
	/* The chunk list of the corpus. */
	memset(id.hash, 'h', HASH_LEN);
	id.len = 100;
	for (count = 0; count < 40; count++) {
		found = chunk_mac_cache_find(m, &id, count);
		if (found && count)
			sink = found[count * CHUNK_MAC_LEN - 1];
	}
	must(chunk_mac_cache_key(m) != NULL);
	chunk_mac_cache_free(&m);
	return 0;
}
