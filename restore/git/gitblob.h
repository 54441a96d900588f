/* The id that git gives to the bytes of a file: the SHA-1 of a blob. */
#ifndef GUARD_RESTORE_GIT_GITBLOB_H
#define GUARD_RESTORE_GIT_GITBLOB_H

#include "base/err.h"
#include "base/mem.h"

#define GITBLOB_ID_LEN 40

/* 0 and 40 hex digits; -ENOPKG: libgit2 is missing. No filter is applied. */
int gitblob_id(const struct buf *bytes, char ret[static GITBLOB_ID_LEN + 1],
	       struct err *err);

#endif
