#include "guard/history/pathglob.h"

#include <fnmatch.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"

bool pathglob_has_wildcards(const char *text)
{
	return text[strcspn(text, "*?[")] != '\0';
}

static size_t glob_part_len(const char *at)
{
	return strcspn(at, "/");
}

static const char *next_glob_part(const char *at)
{
	at += glob_part_len(at);
	while (*at == '/')
		at++;
	return at;
}

static bool match_glob_part(const char *pattern, const char *name)
{
	auto_free char *p = mem_strndup(pattern, glob_part_len(pattern));
	auto_free char *n = mem_strndup(name, glob_part_len(name));

	if (!pathglob_has_wildcards(p) || strcmp(n, ".git") == 0)
		return strcmp(p, n) == 0;
	return fnmatch(p, n, FNM_PERIOD) == 0;
}

bool pathglob_match(const char *pattern, const char *path)
{
	/* Where matching continues when the text behind the last "**" does not
	 * match. */
	const char *again = NULL, *from = NULL;

	while (*pattern || *path) {
		if (strncmp(pattern, "**", 2) == 0 &&
		    glob_part_len(pattern) == 2) {
			pattern = next_glob_part(pattern);
			/* A "**" at the end matches at least one name. */
			if (!*pattern)
				pattern = "*";
			again = pattern;
			from = path;
		} else if (*pattern && *path &&
			   match_glob_part(pattern, path)) {
			pattern = next_glob_part(pattern);
			path = next_glob_part(path);
		} else if (again && *from && *from != '.') {
			from = next_glob_part(from);
			pattern = again;
			path = from;
		} else {
			return false;
		}
	}
	return true;
}

char *pathglob_fixed(const char *pattern)
{
	size_t first = strcspn(pattern, "*?["), len = first;

	while (len && pattern[len - 1] != '/')
		len--;
	while (len > 1 && pattern[len - 1] == '/')
		len--;
	return mem_strndup(pattern, len);
}
