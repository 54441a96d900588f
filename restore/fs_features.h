/*
 * Whether the file system of a project can do what a transaction needs:
 * folders can be made in it, and files swapped by one call.
 */
#ifndef GUARD_RESTORE_FS_FEATURES_H
#define GUARD_RESTORE_FS_FEATURES_H

#include "base/err.h"

/* For errno of the first mkdirat() in the project at path. -> -errno */
int fs_features_explain(int num, const char *path, struct err *err);

/*
 * Tries in an empty folder of ours, where the file system is not known to be
 * able. -EOPNOTSUPP with the ways out.
 */
int fs_features_check(int staging_fd, const char *path, struct err *err);

#endif
