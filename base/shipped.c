#include "base/shipped.h"

#include <string.h>

#include "base/path.h"

const char *shipped_text(const char *path)
{
	const struct shipped_text *t = shipped_texts;

	while (t->path && strcmp(t->path, path) != 0)
		t++;
	return t->text;
}

const char *shipped_name(const char *dir, size_t n)
{
	const struct shipped_text *t;

	for (t = shipped_texts; t->path; t++)
		if (path_below(t->path, dir) && !n--)
			return path_rest(t->path, dir);
	return NULL;
}
