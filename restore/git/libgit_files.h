/*
 * The files that libgit2 opens: regular files, directories and /dev/null only.
 *
 * libgit2 opens many files of a repository by open(2). A named pipe in place of
 * one of them (the index, a ref, the configuration) would block the process for
 * ever, and opening a device can have effects. libgit2 has no hook for this.
 * The dynamic linker looks a library's open() up in the program first, so this
 * module defines open(): a call from libgit2 is refused for another kind of
 * file, a call from anywhere else is open(2) unchanged.
 */
#ifndef GUARD_RESTORE_GIT_LIBGIT_FILES_H
#define GUARD_RESTORE_GIT_LIBGIT_FILES_H

#include "base/err.h"

/* Checks calls from the library that has this symbol, from now on. */
void libgit_files_check(const void *symbol);

/* Forgets the refused file of this thread. */
void libgit_files_forget(void);

/* -EIO with the file that was last refused in this thread; 0: none was. */
int libgit_files_refused(struct err *err);

#endif
