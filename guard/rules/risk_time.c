/*
 * The time that a file's rules may use: processor time of this thread and of
 * the parsing worker. Its two clocks are system calls, which cost as much as
 * the rules of a small file. The wall clock is none, and both work in turn: it
 * is a bound that does for most files. Only a file that seems to take long,
 * while other processes may have run, is measured by processor time.
 */
#include <time.h>

#include "guard/rules/risk_private.h"
#include "restore/parse/parse.h"

/* Microseconds. */
#define FILE_TIME_MAX 300000
#define FILE_TIME_SHORT 1000
/* Time that is used after the last look, but before a file, may count for the
 * file: a small part of FILE_TIME_MAX. */
#define LOOK_AGE_MAX 30000

static _Thread_local struct {
	int64_t start; /* by the wall clock */
	int64_t looked; /* the last look, by the wall clock */
	int64_t used; /* processor time then, and */
	int64_t before; /* of that, when the file began; -1: unknown */
} file;

static int64_t microseconds(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t risk_time(void)
{
	return microseconds(CLOCK_THREAD_CPUTIME_ID) / 1000 + parse_time();
}

void risk_begin_file(void)
{
	file.start = microseconds(CLOCK_MONOTONIC);
	file.before = -1;
	if (file.start - file.looked > LOOK_AGE_MAX) {
		file.used = risk_time() * 1000;
		file.looked = file.start;
	}
}

int64_t risk_file_time(void)
{
	int64_t now = microseconds(CLOCK_MONOTONIC), wall = now - file.start;
	int64_t used;

	if (wall < FILE_TIME_SHORT)
		return wall;
	used = risk_time() * 1000;
	if (file.before < 0)
		file.before = used - wall > file.used ? used - wall : file.used;
	file.used = used;
	file.looked = now;
	return used - file.before;
}

bool risk_is_late(void)
{
	return risk_file_time() > FILE_TIME_MAX;
}
