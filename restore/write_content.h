/*
 * Writing of a stored file into an empty file that is synced later.
 *
 * During a long file the disk already writes the earlier parts. Otherwise all
 * data would wait for the sync, which cannot be interrupted.
 */
#ifndef GUARD_RESTORE_WRITE_CONTENT_H
#define GUARD_RESTORE_WRITE_CONTENT_H

#include "snapshot/store/content.h"

/* Writes like content_write_watched(). A write error of the disk is reported
 * here, once; the later sync may not report it again. */
int write_content(struct store *s, const struct oid *id, int fd,
		  const struct content_watch *watch, struct err *err);

#endif
