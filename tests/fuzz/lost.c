/* The note of what repair could not bring back: known_missing_load(). */
#include "snapshot/maintain/missing.h"
#include "tests/fuzz/fuzzstore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct store *s = fuzz_store();
	struct known_missing_list list = {0};
	auto_free uint8_t *bytes = fuzz_sealed(data, &len);
	size_t i;

	if (!bytes)
		return 0;
	fuzz_file("store/lost", bytes, len);
	known_missing_load(s, &list);
	for (i = 0; i < list.count; i++)
		must(known_missing_has(&list, list.items[i].seq,
				       list.items[i].path));
	known_missing_list_free(&list);
	return 0;
}
