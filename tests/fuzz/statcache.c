/* The stat cache: statcache_open(), and a walk over its entries. */
#include <sys/stat.h>

#include "snapshot/walk/statcache.h"
#include "tests/fuzz/fuzz.h"

enum { ENTRIES_MAX = 500, DEPTH_MAX = 64 };

/* Positions of the header's checksums and of the checked data (statcache.c). */
enum { HEADER_SIZE = 200, HEAD_CHECK_AT = 192, CHECK_AT = 184, KEY_AT = 16 };

static void seal(uint8_t *data, size_t len, const struct cache_key *key)
{
	memcpy(data, "GUARDST1", 8);
	memcpy(data + KEY_AT, key, sizeof(*key));
	seal_u64(data + CHECK_AT,
		 hash_check(data + HEADER_SIZE, len - HEADER_SIZE));
	seal_u64(data + HEAD_CHECK_AT, hash_check(data, HEAD_CHECK_AT));
}

/* Directories may point anywhere, also to themselves: the walk in the store
 * descends only in parallel with a real directory, this one stops at a depth.
 */
static void walk(const struct statcache *c, const struct cache_entry *e,
		 unsigned int depth, size_t *left)
{
	const struct cache_dir *folder = statcache_dir(c, e);
	const struct cache_entry *entries;
	size_t count, i;

	if (!folder || depth > DEPTH_MAX)
		return;
	entries = statcache_entries(c, folder, &count);
	for (i = 0; i < count && *left; i++) {
		struct oid content = statcache_content(&entries[i]);
		struct oid attrs = statcache_attrs(c, &entries[i]);
		struct meta meta;

		--*left;
		statcache_meta(c, &entries[i], &meta);
		must(statcache_same(c, &entries[i], &meta));
		must(oid_equal(&content, &content) || content.type);
		must(attrs.type <= 255);
		must(strlen(statcache_name(c, &entries[i])) < SIZE_MAX);
		must(strlen(statcache_link(c, &entries[i])) < SIZE_MAX);
		walk(c, &entries[i], depth + 1, left);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct cache_key key = {.store = 1, .path = 2, .dev = 3, .ino = 4};
	auto_free uint8_t *bytes = NULL;
	auto_free char *path = NULL;
	struct statcache *c;
	size_t left = ENTRIES_MAX;
	uint8_t seals;

	if (!len)
		return 0;
	seals = data[0];
	bytes = fuzz_copy(data, &len);
	if ((seals & 1) && len >= HEADER_SIZE)
		seal(bytes, len, &key);
	fuzz_file("cache", bytes, len);
	path = mem_printf("%s/cache", fuzz_dir_name);
	c = statcache_open(path, &key);
	if (!c)
		return 0;
	walk(c, statcache_root(c), 0, &left);
	statcache_free(&c);
	return 0;
}
