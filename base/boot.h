/*
 * Which start of the machine this is: numbers of devices, and processes, mean
 * the same within one alone.
 */
#ifndef GUARD_BASE_BOOT_H
#define GUARD_BASE_BOOT_H

#include <stdint.h>

/* The kernel's id of it, "" where it does not tell. Lives as long as the
 * process. */
const char *boot_id(void);

/* By how many seconds the clock is ahead of the time since that start; a
 * smaller number than before: it was set back. */
int64_t boot_clock(void);

#endif
