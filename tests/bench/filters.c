/*
 * Writes the seccomp program of a run to a file, for bwrap to load:
 *
 *	filters CALLS
 */
#include <err.h>
#include <stdio.h>

#include "guard/sandbox/filter.h"

static void put(const char *path, const struct buf *program)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(program->data, 1, program->len, f) != program->len ||
	    fclose(f) != 0)
		err(1, "%s", path);
}

int main(int argc, char **argv)
{
	struct filter_options wishes = {0};
	struct filters filters = {0};
	struct err e;

	if (argc != 2)
		errx(2, "usage: filters CALLS");
	if (filters_make(&wishes, &filters, &e) < 0)
		errx(1, "%s", e.text);
	put(argv[1], &filters.calls);
	filters_free(&filters);
	return 0;
}
