#include "base/parse.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

int parse_number(const char *text, unsigned long max, unsigned long *ret)
{
	unsigned long value;
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return -1;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value > max)
		return -1;
	*ret = value;
	return 0;
}

uint64_t parse_size(const char *text)
{
	static const char units[] = "KMGT";
	uint64_t factor = 1;
	const char *unit;
	char *end;
	double value;

	if (text[0] < '0' || text[0] > '9')
		return 0;
	value = strtod(text, &end);
	if (*end && (unit = strchr(units, *end & ~0x20))) {
		do {
			factor *= 1000;
		} while (unit-- != units);
		end++;
	}
	if (*end == 'B')
		end++;
	if (*end || value < 0 || value * (double)factor > 1e18)
		return 0;
	return (uint64_t)(value * (double)factor);
}

bool parse_is_word(const char *text)
{
	return *text && !text[strcspn(text, ", \t\n")] &&
	       text_is_utf8(text, strlen(text));
}

int64_t parse_milliseconds(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	switch (*end) {
	case 'm':
		value *= 60;
		break;
	case 'h':
		value *= 3600;
		break;
	case 'd':
		value *= 86400;
		break;
	case 's':
	case '\0':
		break;
	default:
		return -1;
	}
	if (end == text || (*end && end[1]) || !isfinite(value) || value <= 0 ||
	    value > 1e9)
		return -1;
	return value * 1000 < 1 ? 1 : (int64_t)(value * 1000);
}
