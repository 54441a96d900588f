/*
 * Linked into the program of tests/calls: counts calls between modules, and
 * appends "scan_layer 1 tree_diff 9 catalog_load 9" to the file that
 * GUARD_CALLS names when a process ends by exit(3).
 */
#include <stdio.h>
#include <stdlib.h>

#include "overlay/scan.h"
#include "snapshot/tree/catalog.h"
#include "snapshot/tree/tree.h"

static unsigned int scans, diffs, loads;

int __real_scan_layer(int upper_fd, int lower_fd, const char *const *skip,
		      struct change_list *ret, struct err *err);
int __wrap_scan_layer(int upper_fd, int lower_fd, const char *const *skip,
		      struct change_list *ret, struct err *err);
int __real_tree_diff(struct store *s, const struct entry *a,
		     const struct entry *b, tree_diff_visit *each, void *arg,
		     struct err *err);
int __wrap_tree_diff(struct store *s, const struct entry *a,
		     const struct entry *b, tree_diff_visit *each, void *arg,
		     struct err *err);
int __real_catalog_load(struct store *store, uint64_t seq, struct snapshot *ret,
			struct err *err);
int __wrap_catalog_load(struct store *store, uint64_t seq, struct snapshot *ret,
			struct err *err);

int __wrap_scan_layer(int upper_fd, int lower_fd, const char *const *skip,
		      struct change_list *ret, struct err *err)
{
	scans++;
	return __real_scan_layer(upper_fd, lower_fd, skip, ret, err);
}

int __wrap_tree_diff(struct store *s, const struct entry *a,
		     const struct entry *b, tree_diff_visit *each, void *arg,
		     struct err *err)
{
	diffs++;
	return __real_tree_diff(s, a, b, each, arg, err);
}

int __wrap_catalog_load(struct store *store, uint64_t seq, struct snapshot *ret,
			struct err *err)
{
	loads++;
	return __real_catalog_load(store, seq, ret, err);
}

static void __attribute__((destructor)) print_counts(void)
{
	const char *path = getenv("GUARD_CALLS");
	FILE *to = path ? fopen(path, "ae") : NULL;

	if (!to)
		return;
	(void)fprintf(to, "scan_layer %u tree_diff %u catalog_load %u\n", scans,
		      diffs, loads);
	(void)fclose(to);
}
