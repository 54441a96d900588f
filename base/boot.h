/* The current boot of the machine. Device numbers and process ids are
 * comparable only within one boot. */
#ifndef GUARD_BASE_BOOT_H
#define GUARD_BASE_BOOT_H

/* The kernel's id of this boot, or "" where the kernel does not report one.
 * Valid until the process ends. */
const char *boot_id(void);

#endif
