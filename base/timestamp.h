/* Points in time. */
#ifndef GUARD_BASE_TIMESTAMP_H
#define GUARD_BASE_TIMESTAMP_H

#include <stdint.h>

/* Seconds before 1970 are negative. */
struct timestamp {
	int64_t sec;
	uint32_t nsec;
};

/* Returns a negative number, 0 or a positive number as strcmp(3). */
int timestamp_compare(struct timestamp a, struct timestamp b);
/* Sets *latest to t if t is later. */
void timestamp_raise(struct timestamp *latest, struct timestamp t);

/* The time of CLOCK_REALTIME. */
struct timestamp timestamp_now(void);
/* Milliseconds of CLOCK_MONOTONIC. */
int64_t timestamp_monotonic_ms(void);
/* Nanoseconds of CLOCK_BOOTTIME, which no user sets. */
#define TIMESTAMP_NS INT64_C(1000000000)
int64_t timestamp_boot_ns(void);

#endif
