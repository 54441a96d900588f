/* A store's FORMAT: the store's identity and the features a program must know
 * to use it. docs/formats.md describes the text. */
#ifndef GUARD_SNAPSHOT_STORE_FORMAT_H
#define GUARD_SNAPSHOT_STORE_FORMAT_H

#include "base/err.h"
#include "snapshot/store/packformat.h"

/* Replaces the file in directory fd durably, with mode 0400. */
int format_write(int fd, const struct format *format, struct err *err);

/* -ENOENT: no such file. -EBADMSG: damaged. -EPROTO: the store needs a newer
 * guard; the text names the reason. */
int format_read(int fd, struct format *ret, struct err *err);

#endif
