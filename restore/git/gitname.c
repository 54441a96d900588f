#include "restore/git/gitname.h"

#include <string.h>

/* A ref is a file with this name: longer names cannot be created. */
#define REF_MAX 1024
#define REF_PART_MAX 250

static bool part_ok(const char *part, size_t len)
{
	size_t i;

	if (!len || len > REF_PART_MAX || part[0] == '.' ||
	    part[len - 1] == '.')
		return false;
	if (len >= 5 && memcmp(part + len - 5, ".lock", 5) == 0)
		return false;
	for (i = 0; i < len; i++) {
		unsigned char c = (unsigned char)part[i];

		if (c <= ' ' || c == 0x7f || strchr("~^:?*[\\", c))
			return false;
		if (i && ((c == '.' && part[i - 1] == '.') ||
			  (c == '{' && part[i - 1] == '@')))
			return false;
	}
	return true;
}

bool gitname_ref_ok(const char *name)
{
	if (strncmp(name, "refs/", 5) != 0 || strlen(name) > REF_MAX)
		return false;
	for (;;) {
		size_t len = strcspn(name, "/");

		if (!part_ok(name, len))
			return false;
		if (!name[len])
			return true;
		name += len + 1;
	}
}
