/*
 * Preloaded into a program, it shifts the clock: CLOCK_DAYS=-40 is 40 days ago.
 * With CLOCK_ALL the time since boot is shifted, too, as faketime(1) does.
 * Times that the kernel gives to files stay.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *ret)
{
	const char *days = getenv("CLOCK_DAYS");
	int got = (int)syscall(SYS_clock_gettime, id, ret);

	if (days && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE ||
		     getenv("CLOCK_ALL")))
		ret->tv_sec += strtol(days, NULL, 10) * 24 * 3600;
	return got;
}

time_t time(time_t *ret)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (ret)
		*ret = now.tv_sec;
	return now.tv_sec;
}
