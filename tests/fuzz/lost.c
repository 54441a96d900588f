/* The note of what repair could not bring back: lost_load(). */
#include <sys/stat.h>

#include "snapshot/lost.h"
#include "snapshot/store.h"
#include "tests/fuzz/fuzz.h"

/* A store that only has the file. */
static struct store *empty_store(void)
{
	static struct store *store;
	auto_free char *dir = NULL;
	struct err err;

	if (store)
		return store;
	must(fuzz_dir() >= 0);
	dir = mem_printf("%s/store", fuzz_dir_name);
	must(store_open(&store, dir, STORE_WRITE, &err) == 0);
	must(fchmod(store_dir(store), 0700) == 0);
	return store;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct store *s = empty_store();
	struct lost_list list = {0};
	auto_free uint8_t *bytes = NULL;
	uint8_t seals;
	size_t i;

	if (!len)
		return 0;
	seals = data[0];
	bytes = fuzz_copy(data, &len);
	if (seals & 1)
		seal_tail(bytes, len);
	fuzz_file("store/lost", bytes, len);
	lost_load(s, &list);
	for (i = 0; i < list.count; i++)
		must(lost_has(&list, list.items[i].seq, list.items[i].path));
	lost_list_free(&list);
	return 0;
}
