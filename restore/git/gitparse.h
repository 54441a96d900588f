/*
 * What a git object refers to, read so that a damaged or hostile one is found
 * out: every object that passes here passes `git fsck` too.
 *
 * The formats are those of gitformat-commit, git-mktag(1) and git-mktree(1);
 * ids are SHA-1.
 */
#ifndef GUARD_RESTORE_GIT_GITPARSE_H
#define GUARD_RESTORE_GIT_GITPARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"

#define GITID_LEN 20
#define GITID_HEX 40

struct gitid {
	unsigned char raw[GITID_LEN];
};

/* The numbers are git's own (git_object_t). */
enum gittype {
	GITTYPE_ANY = -2,
	GITTYPE_COMMIT = 1,
	GITTYPE_TREE = 2,
	GITTYPE_BLOB = 3,
	GITTYPE_TAG = 4,
};

/* 40 lower-case hex digits; false when they are none. */
bool gitparse_id(const char *hex, struct gitid *ret);
/* hex: room for GITID_HEX + 1. */
void gitparse_hex(const struct gitid *id, char *hex);
const char *gitparse_type_name(enum gittype type);

/*
 * Calls each() for everything that the object refers to (not the commit of a
 * submodule) and stops when it is negative. -EBADMSG: the object is not what
 * git makes; the text says what is wrong.
 */
int gitparse_object(enum gittype type, const void *data, size_t len,
		    int (*each)(void *arg, enum gittype type,
				const struct gitid *id, struct err *err),
		    void *arg, struct err *err);

/* The first line of a commit's or tag's message, as it stands, at most 200
 * bytes; appended. */
void gitparse_subject(const void *data, size_t len, struct buf *to);

#endif
