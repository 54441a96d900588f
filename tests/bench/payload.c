/* Prints the time at which it was reached, as CLOCK_MONOTONIC nanoseconds. */
#include <stdio.h>
#include <time.h>

int main(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	(void)printf("%lld\n", (long long)ts.tv_sec * 1000000000 + ts.tv_nsec);
	return 0;
}
