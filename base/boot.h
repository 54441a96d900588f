/* The current boot of the machine. Device numbers and process ids are
 * comparable only within one boot. */
#ifndef GUARD_BASE_BOOT_H
#define GUARD_BASE_BOOT_H

#include <stdint.h>

/* The kernel's id of this boot, or "" where the kernel does not report one.
 * Valid until the process ends. */
const char *boot_id(void);

/* Seconds by which the wall clock is ahead of the time since boot. A value
 * smaller than before means that the clock was set back. */
int64_t boot_clock(void);

#endif
