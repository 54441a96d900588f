/* Lists of the chunks of long files: chunklist_decode(). */
#include "snapshot/store/chunklist.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct chunklist list = {0};
	AUTO(buf) struct buf again = {0};
	uint64_t size = 0;
	struct err err;
	size_t i;

	if (chunklist_decode(data, len, &list, &err) < 0)
		return 0;
	for (i = 0; i < list.count; i++) {
		must(list.runs[i].len);
		size += list.runs[i].len;
	}
	must(size == list.size);
	chunklist_encode(&list, &again);
	must(again.len == len && memcmp(again.data, data, len) == 0);
	chunklist_free(&list);
	return 0;
}
