/*
 * Which start of the machine this is: numbers of devices, and processes, mean
 * the same within one alone.
 */
#ifndef GUARD_BASE_BOOT_H
#define GUARD_BASE_BOOT_H

/* The kernel's id of it, "" where it does not tell. Lives as long as the
 * process. */
const char *boot_id(void);

#endif
