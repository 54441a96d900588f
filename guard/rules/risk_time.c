/* The time that a file's rules may use. */
#include <time.h>

#include "guard/rules/risk_private.h"
#include "restore/parse/parse.h"

/* Milliseconds. */
#define FILE_TIME_MAX 300

static _Thread_local int64_t file_start;

int64_t risk_time(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000 + parse_time();
}

void risk_begin_file(void)
{
	file_start = risk_time();
}

int64_t risk_file_time(void)
{
	return risk_time() - file_start;
}

bool risk_is_late(void)
{
	return risk_file_time() > FILE_TIME_MAX;
}
