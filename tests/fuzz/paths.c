/*
 * Selecting paths: pathglob_match(), and the content of a pathset. The input: a
 * pattern and paths, one per line.
 */
#include "base/path.h"
#include "base/pathset.h"
#include "guard/history/pathglob.h"
#include "tests/fuzz/fuzz.h"

#define PATHS_MAX 64

static void check_pattern(const char *pattern, char *const *paths)
{
	auto_free char *fixed = pathglob_fixed(pattern);
	size_t len = strlen(fixed);

	must(len <= strlen(pattern) && strncmp(pattern, fixed, len) == 0);
	must(!pathglob_has_wildcards(fixed));
	for (; paths && *paths; paths++) {
		bool is = pathglob_match(pattern, *paths);

		must(!is || pathglob_has_wildcards(pattern) ||
		     !path_ok(pattern) || !path_ok(*paths) ||
		     strcmp(pattern, *paths) == 0);
		/* A search below the fixed part finds every match. */
		must(!is || !path_ok(*paths) || !path_ok(fixed) || !*fixed ||
		     path_below(*paths, fixed));
		/* A pattern without wildcards matches exactly its own path. */
		must(!path_ok(*paths) || pathglob_has_wildcards(*paths) ||
		     pathglob_match(*paths, *paths));
	}
}

/* Half of the paths are in the set, all are looked up. */
static void check_below(char *const *paths)
{
	const char *named[PATHS_MAX + 1] = {NULL};
	AUTO(pathset) struct pathset set = {0};
	size_t i, k, count = 0;

	for (i = 0; paths && paths[i]; i++)
		if (i % 2 == 0 && path_ok(paths[i]))
			named[count++] = paths[i];
	set = pathset_make(named);
	for (i = 0; paths && paths[i]; i++) {
		bool below = false, above = false;

		for (k = 0; k < count; k++) {
			below |= path_below(paths[i], named[k]);
			above |= path_below(named[k], paths[i]);
			must((path_compare(paths[i], named[k]) < 0) ==
			     (path_compare(named[k], paths[i]) > 0));
		}
		must(!path_ok(paths[i]) ||
		     (pathset_contains(&set, paths[i]) == below &&
		      (below || pathset_has_below(&set, paths[i]) == above)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	auto_free char *text = mem_strndup((const char *)data, len);
	char **paths = NULL, *line, *more = text;
	const char *pattern = strsep(&more, "\n");
	size_t count = 0;

	while ((line = strsep(&more, "\n")) && count++ < PATHS_MAX)
		mem_list_add(&paths, line);
	check_pattern(pattern, paths);
	check_below(paths);
	mem_list_free(&paths);
	return 0;
}
