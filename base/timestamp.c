#include "base/timestamp.h"

#include <time.h>

int timestamp_compare(struct timestamp a, struct timestamp b)
{
	if (a.sec != b.sec)
		return a.sec < b.sec ? -1 : 1;
	if (a.nsec != b.nsec)
		return a.nsec < b.nsec ? -1 : 1;
	return 0;
}

void timestamp_raise(struct timestamp *latest, struct timestamp t)
{
	if (timestamp_compare(*latest, t) < 0)
		*latest = t;
}

struct timestamp timestamp_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (struct timestamp){.sec = now.tv_sec,
				  .nsec = (uint32_t)now.tv_nsec};
}

int64_t timestamp_monotonic_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t timestamp_boot_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec * TIMESTAMP_NS + t.tv_nsec;
}
