#include "overlay/session_id.h"

#include <string.h>

#define EPOCH_2020 1577836800
#define DIGITS "0123456789abcdefghijklmnopqrstuvwxyz"
#define SECOND_LEN 6
#define PART_LEN 2
#define PARTS (36 * 36)

static void put_base36(char *to, int len, uint64_t value)
{
	while (len--) {
		to[len] = DIGITS[value % 36];
		value /= 36;
	}
}

void session_id_make(struct timestamp now, char ret[static SESSION_ID_LEN + 1])
{
	int64_t since = now.sec > EPOCH_2020 ? now.sec - EPOCH_2020 : 0;

	put_base36(ret, SECOND_LEN, (uint64_t)since);
	ret[SECOND_LEN] = '-';
	put_base36(ret + SECOND_LEN + 1, PART_LEN,
		   (uint64_t)now.nsec * PARTS / 1000000000);
	ret[SESSION_ID_LEN] = '\0';
}

static uint64_t get_base36(const char *from, int len)
{
	uint64_t value = 0;

	while (len--)
		value = value * 36 +
			(uint64_t)(strchr(DIGITS, *from++) - DIGITS);
	return value;
}

struct timestamp session_id_time(const char *id)
{
	return (struct timestamp){
		.sec = EPOCH_2020 + (int64_t)get_base36(id, SECOND_LEN),
		.nsec = (uint32_t)(get_base36(id + SECOND_LEN + 1, PART_LEN) *
				   1000000000 / PARTS),
	};
}

bool session_id_ok(const char *text)
{
	return strlen(text) == SESSION_ID_LEN && text[SECOND_LEN] == '-' &&
	       strspn(text, DIGITS) == SECOND_LEN &&
	       strspn(text + SECOND_LEN + 1, DIGITS) == PART_LEN;
}

bool session_id_begins(const char *text)
{
	size_t len = strspn(text, DIGITS);

	return len == SECOND_LEN && text[len] == '-' &&
	       strspn(text + len + 1, DIGITS) <= PART_LEN &&
	       !text[len + 1 + strspn(text + len + 1, DIGITS)];
}
