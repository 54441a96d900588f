/* An input of the parsing worker, see restore/parse/parse.h. */
#ifndef GUARD_RESTORE_PARSE_PARSE_TEXT_H
#define GUARD_RESTORE_PARSE_PARSE_TEXT_H

#include <stddef.h>

/* data NULL: it does not exist, which differs from an empty one. */
struct parse_text {
	const void *data;
	size_t len;
};

#define PARSE_INPUTS_MAX 4

#endif
