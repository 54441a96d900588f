/*
 * Files that guard has made out of other files and keeps to save time, in the
 * directory "derived" of the state: a settings file without its secrets, a list
 * of names. The name of such a file is a hash of its subject (a kind of file
 * and a path) and of a stamp of the original: device, inode, size, mtime,
 * ctime, the boot, and guard's program with its rules. So a changed original, a
 * new guard and a power cut (nothing is synced) each make a new file; older
 * ones of the subject are removed.
 */
#ifndef GUARD_BASE_DERIVED_H
#define GUARD_BASE_DERIVED_H

#include <stddef.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"

/* The path below the state of the file that is derived from `from`. For the
 * caller to free. */
char *derived_name(const char *subject, const struct stat *from);

/* Opens the file for reading; it is not removed in the next minute. Returns -1
 * if there is none. */
int derived_open(int state_fd, const char *name);

/* Appends its content, at most max bytes. Returns 0 or a negative errno. */
int derived_read(int state_fd, const char *name, size_t max, struct buf *to);

/*
 * Writes the file. from: of the original, before its bytes were read. Fails
 * with -EAGAIN if the original changed in the last two seconds: another change
 * in the same tick of the clock would leave no trace in the stamp.
 */
int derived_save(int state_fd, const char *name, const struct stat *from,
		 const void *data, size_t len, struct err *err);

#endif
