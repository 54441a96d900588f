/*
 * The files that a library opens by itself: regular files, directories and
 * /dev/null only.
 *
 * libgit2 opens many files of a repository by open(2). A named pipe in place of
 * one of them (the index, a ref, the configuration) would block the process for
 * ever, and opening a device can have effects. libgit2 has no hook for this.
 * The dynamic linker looks a library's open() up in the program first, so this
 * module defines open(): a call from the library is refused for another kind of
 * file, a call from anywhere else is open(2) unchanged. The module uses no
 * other one of guard, because any of them may open files.
 */
#ifndef GUARD_BASE_LIBRARY_OPEN_H
#define GUARD_BASE_LIBRARY_OPEN_H

#include <stdint.h>

/* Checks calls from the library that has this symbol, from now on. */
void library_open_check(const void *symbol);

/* Forgets the refused file of this thread. */
void library_open_forget(void);

/* The path that was last refused in this thread, and the mode of its file;
 * NULL: none was. */
const char *library_open_refused(uint32_t *ret_mode);

#endif
