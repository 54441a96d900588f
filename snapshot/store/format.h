/*
 * A store's FORMAT: which store this is and what a program must know to use
 * it. The text is written down in docs/formats.md.
 */
#ifndef GUARD_SNAPSHOT_STORE_FORMAT_H
#define GUARD_SNAPSHOT_STORE_FORMAT_H

#include "base/err.h"
#include "snapshot/store/packformat.h"

/* Durable, 0400, in place of the one that is there. */
int format_write(int fd, const struct format *format, struct err *err);

/* -ENOENT: there is none; -EBADMSG: damaged; -EPROTO: the store needs a newer
 * guard, the text says why. */
int format_read(int fd, struct format *ret, struct err *err);

#endif
