/* Whether the file system of a project supports a transaction: it must create
 * directories and swap two files in one call (RENAME_EXCHANGE). */
#ifndef GUARD_RESTORE_FS_FEATURES_H
#define GUARD_RESTORE_FS_FEATURES_H

#include "base/err.h"

/* Fills err for the errno `num` of a failed mkdirat() in the directory `path`,
 * with the remedy. Returns -num. */
int fs_features_explain(int num, const char *path, struct err *err);

/* Checks RENAME_EXCHANGE and RENAME_NOREPLACE with probe files in an empty
 * directory of guard, unless the file system type is known to support both.
 * path is for the message. Returns 0, or -EOPNOTSUPP with the alternatives. */
int fs_features_check(int staging_fd, const char *path, struct err *err);

#endif
