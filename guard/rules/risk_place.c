#include "guard/rules/risk_place.h"

#include <string.h>

#include "base/mem.h"

/* Bytes of a key, and of a place: each line has a copy. */
#define KEY_MAX 100
#define PATH_MAX_LEN 400
#define PATH_END 200

char *risk_place_join(const char *path, const char *key, size_t key_len)
{
	size_t len = strlen(path);
	const char *end = "";

	if (key_len > KEY_MAX)
		key_len = KEY_MAX;
	if (len > PATH_MAX_LEN - KEY_MAX) {
		end = path + len - PATH_END / 2;
		len = PATH_END / 2;
	}
	return mem_printf("%.*s%s%s%.*s", (int)len, path, end,
			  *path && key_len ? "." : "", (int)key_len, key);
}
