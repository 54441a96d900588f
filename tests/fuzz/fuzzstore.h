/*
 * A store for targets whose format is a file in a store.
 */
#ifndef GUARD_TESTS_FUZZ_FUZZSTORE_H
#define GUARD_TESTS_FUZZ_FUZZSTORE_H

#include <sys/stat.h>

#include "snapshot/store/store.h"
#include "tests/fuzz/fuzz.h"

/* A store that has only its own new file; stays open. */
static struct store *fuzz_store(void)
{
	static struct store *store;
	auto_free char *dir = NULL;
	struct err err;

	if (store)
		return store;
	must(fuzz_dir() >= 0);
	dir = mem_printf("%s/store", fuzz_dir_name);
	must(store_open(&store, dir, STORE_WRITE, &err) == 0);
	must(fchmod(store_root_fd(store), 0700) == 0);
	return store;
}

#endif
