/* File systems on which no transaction is possible. */
#ifndef GUARD_RESTORE_FS_FEATURES_H
#define GUARD_RESTORE_FS_FEATURES_H

#include "base/err.h"

/* Fills err for the errno `num` of a failed mkdirat() in the directory `path`,
 * with the remedy. Returns -num. */
int fs_features_explain(int num, const char *path, struct err *err);

#endif
