/*
 * A file out of the store into an empty one that will be synced.
 *
 * Of a long one the disk writes what is there while the next is made: else all
 * of it would wait for the sync, which nothing can interrupt.
 */
#ifndef GUARD_RESTORE_WRITE_CONTENT_H
#define GUARD_RESTORE_WRITE_CONTENT_H

#include "snapshot/store/content.h"

/* As content_write_watched(), which see. What the disk reports meanwhile is
 * said here, once; the sync afterwards may not know of it any more. */
int write_content(struct store *s, const struct oid *id, int fd,
		  const struct content_watch *watch, struct err *err);

#endif
