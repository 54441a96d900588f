/*
 * What a file system says of an entry besides its bytes.
 */
#ifndef GUARD_BASE_META_H
#define GUARD_BASE_META_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"

/* Seconds may be before 1970. */
struct timestamp {
	int64_t sec;
	uint32_t nsec;
};

struct meta {
	uint32_t mode; /* type and permissions, as st_mode */
	uint32_t uid, gid;
	uint32_t nlink;
	uint32_t chattr; /* only those that stat tells: CHATTR_IN_STATX */
	uint64_t size;
	uint64_t dev, ino, rdev;
	struct timestamp mtime, ctime;
};

/* <0, 0, >0 */
int timestamp_compare(struct timestamp a, struct timestamp b);
struct timestamp timestamp_now(void);

struct statx;
/* What a statx(2) with STATX_BASIC_STATS says. */
void meta_from_statx(const struct statx *st, struct meta *ret);

/* lstat of name in dirfd; "" is dirfd itself. 0, or -1 with errno: ENOENT only
 * when it is not there at the second look either. */
int meta_get(int dirfd, const char *name, struct meta *ret);

/* The time of its last change becomes mtime, that of its last access stays;
 * otherwise as meta_get(). 0, or -1 with errno. */
int meta_set_time(int dirfd, const char *name, struct timestamp mtime);

/* Same entry, unchanged as far as the file system can tell: device, inode,
 * type, size, mtime, ctime. */
bool meta_same(const struct meta *a, const struct meta *b);

/* Extended attributes, sorted by name. ACLs are among them. */
struct xattr {
	char *name;
	unsigned char *value;
	size_t len;
};

struct xattrs {
	struct xattr *items;
	size_t count, capacity;
};

void xattrs_free(struct xattrs *x);

/*
 * All that this user may read of name in dirfd ("" = dirfd itself, which may
 * be O_PATH), links not followed. A file system without any gives an empty
 * set. What begins with one of the kernel's own (overlay's, in both forms:
 * "trusted.overlay.", "user.overlay.") is left in: the caller decides.
 * security.selinux and security.ima/evm are left out: they belong to the
 * machine, not to the file.
 */
int xattrs_get(int dirfd, const char *name, struct xattrs *ret,
	       struct err *err);
/* The same without those that skip() says of by name; NULL: none. */
int xattrs_get_filtered(int dirfd, const char *name,
			bool (*skip)(const char *name), struct xattrs *ret,
			struct err *err);

/* Makes the open file's set equal to x (adds, changes, removes). */
int xattrs_set(int fd, const struct xattrs *x, struct err *err);

/* One canonical sequence of bytes for a set, and back (-EBADMSG). */
void xattrs_encode(const struct xattrs *x, struct buf *to);
int xattrs_decode(const void *data, size_t len, struct xattrs *ret,
		  struct err *err);

/* Of the same name or not: what they hold; none is like none. */
bool xattrs_same_value(const struct xattr *a, const struct xattr *b);
bool xattrs_equal(const struct xattrs *a, const struct xattrs *b);
/* Whether now has an access list (of its own, or for what will be in it) that
 * old does not have, or has another one. */
bool xattrs_acl_differs(const struct xattrs *now, const struct xattrs *old);
const struct xattr *xattrs_find(const struct xattrs *x, const char *name);
/* Removes every one whose name begins so; returns how many. */
size_t xattrs_remove_prefix(struct xattrs *x, const char *prefix);
void xattrs_add(struct xattrs *x, const char *name, const void *value,
		size_t len);

#endif
