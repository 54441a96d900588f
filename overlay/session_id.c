#include "overlay/session_id.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define EPOCH_2020 1577836800
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789" LETTERS
#define RANDOM_LEN 4
#define SECOND_LEN 6
/* Older ids: the seconds, "-", and a fraction of the second. */
#define FRACTION_LEN 2

static void put_base36(char *to, int len, uint64_t value)
{
	while (len--) {
		to[len] = DIGITS[value % 36];
		value /= 36;
	}
}

int session_id_make(struct timestamp now, char ret[static SESSION_ID_LEN + 1],
		    struct err *err)
{
	int64_t since = now.sec > EPOCH_2020 ? now.sec - EPOCH_2020 : 0;
	uint32_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return fail_errno(err, "random number of a run's id");
	put_base36(ret, RANDOM_LEN, random);
	/* A digit at the beginning would look like a date or a number. */
	ret[0] = LETTERS[random % 26];
	ret[RANDOM_LEN] = '-';
	put_base36(ret + RANDOM_LEN + 1, SECOND_LEN, (uint64_t)since);
	ret[SESSION_ID_LEN] = '\0';
	return 0;
}

static bool is_base36(const char *text, size_t len)
{
	return strspn(text, DIGITS) >= len;
}

static bool is_old_id(const char *text)
{
	return strlen(text) == SECOND_LEN + 1 + FRACTION_LEN &&
	       is_base36(text, SECOND_LEN) && text[SECOND_LEN] == '-' &&
	       is_base36(text + SECOND_LEN + 1, FRACTION_LEN);
}

bool session_id_ok(const char *text)
{
	return is_old_id(text) ||
	       (strlen(text) == SESSION_ID_LEN && is_base36(text, RANDOM_LEN) &&
		text[RANDOM_LEN] == '-' &&
		is_base36(text + RANDOM_LEN + 1, SECOND_LEN));
}

int64_t session_id_time(const char *id)
{
	const char *from = is_old_id(id) ? id : id + RANDOM_LEN + 1;
	uint64_t value = 0;
	int i;

	for (i = 0; i < SECOND_LEN; i++)
		value = value * 36 +
			(uint64_t)(strchr(DIGITS, from[i]) - DIGITS);
	return EPOCH_2020 + (int64_t)value;
}

/* "s12" is snapshot 12. */
static bool is_snapshot(const char *text)
{
	return *text == 's' && text[1] &&
	       !text[1 + strspn(text + 1, "0123456789")];
}

bool session_name_ok(const char *text)
{
	size_t len = strlen(text);

	return len && len <= SESSION_NAME_MAX &&
	       strchr(LETTERS CAPITALS, text[0]) &&
	       strspn(text, DIGITS CAPITALS "._-") == len &&
	       strcmp(text, "latest") != 0 && !session_id_ok(text) &&
	       !is_snapshot(text);
}
