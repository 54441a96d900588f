/*
 * Small files that are either the old or the new one, whatever happens.
 */
#ifndef GUARD_BASE_ATOMIC_H
#define GUARD_BASE_ATOMIC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Writes name in dirfd through a temporary file and a rename. durable: the
 * bytes and the folder are synced (survives a power cut); otherwise only a
 * sudden end of processes is survived.
 */
int atomic_write(int dirfd, const char *name, const void *data, size_t len,
		 mode_t mode, bool durable, struct err *err);

/* fsync of a folder, also from an O_PATH descriptor. */
int atomic_sync_dir(int dirfd, struct err *err);

#endif
