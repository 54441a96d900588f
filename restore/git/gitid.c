#include "restore/git/gitid.h"

#include <string.h>

static const char *const types[] = {"object", "commit", "tree", "blob", "tag"};

#define TYPES (sizeof(types) / sizeof(*types))

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool gitid_read(const char *hex, struct gitid *ret)
{
	size_t i;

	for (i = 0; i < GITID_LEN; i++) {
		int high = hex_value(hex[2 * i]);
		int low = high < 0 ? -1 : hex_value(hex[2 * i + 1]);

		if (low < 0)
			return false;
		ret->raw[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

void gitid_hex(const struct gitid *id, char *hex)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < GITID_LEN; i++) {
		hex[2 * i] = digits[id->raw[i] >> 4];
		hex[2 * i + 1] = digits[id->raw[i] & 15];
	}
	hex[GITID_HEX] = '\0';
}

int gitid_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct gitid));
}

const char *gitid_type_name(enum gittype type)
{
	return types[type < TYPES ? type : 0];
}

enum gittype gitid_type(const char *name, size_t len)
{
	size_t i;

	for (i = 1; i < TYPES; i++)
		if (strlen(types[i]) == len && memcmp(types[i], name, len) == 0)
			return (enum gittype)i;
	return 0;
}
