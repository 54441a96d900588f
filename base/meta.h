/* Metadata of an entry: the fields of stat(2), and extended attributes. */
#ifndef GUARD_BASE_META_H
#define GUARD_BASE_META_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/timestamp.h"

struct meta {
	uint32_t mode; /* type and permission bits, as st_mode */
	uint32_t uid, gid;
	uint32_t nlink;
	uint32_t chattr; /* only the flags of CHATTR_IN_STATX */
	bool mount; /* the root of a mount */
	uint64_t size;
	uint64_t dev, ino, rdev;
	struct timestamp mtime, ctime;
	struct timestamp born; /* 0: the file system does not tell */
};

/* lstat(2) of name in dirfd; "" is dirfd itself. Returns 0, or -1 with errno;
 * ENOENT only when a second call reports it, too. */
int meta_get(int dirfd, const char *name, struct meta *ret);

/* Whether the user and group of a plain user's run (uid, gid) are not those of
 * the entry, although the user may be allowed to write it. */
bool meta_foreign(const struct meta *m, uint32_t uid, uint32_t gid);

/* Sets mtime and leaves atime unchanged. Name and result as in meta_get(). */
int meta_set_time(int dirfd, const char *name, struct timestamp mtime);

/* Whether both describe the same, unchanged file as far as the file system
 * reports: equal device, inode, type, size, mtime and ctime. */
bool meta_same(const struct meta *a, const struct meta *b);

/*
 * A directory keeps its inode number and birth time when it is renamed, and no
 * other directory has both. The device number is left out: one disk can get
 * another number at each boot.
 */
struct dir_identity {
	uint64_t ino; /* 0: none */
	struct timestamp born; /* 0: the file system does not tell */
};
struct dir_identity meta_identity(const struct meta *m);
/* Whether both are certainly the same directory. Without a birth time never:
 * inode numbers are given again. */
bool meta_identity_certain(const struct dir_identity *a,
			   const struct dir_identity *b);
/* Whether both are certainly different ones. Directories that are born within
 * one tick of the clock differ by their inode numbers alone, and where one of
 * both has no birth time, as below the mount of an encrypted directory. */
bool meta_identity_other(const struct dir_identity *a,
			 const struct dir_identity *b);
/* Whether both can be the same directory as far as they tell. */
bool meta_identity_maybe(const struct dir_identity *a,
			 const struct dir_identity *b);

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

/* Frees the attributes and empties the set. */
void xattrs_free(struct xattrs *x);

/*
 * Reads all attributes of name in dirfd that this user may read; "" is dirfd
 * itself, which may be O_PATH. Symbolic links are not followed. A file system
 * without attributes gives an empty set. Attributes of overlayfs
 * ("trusted.overlay.", "user.overlay.") are included: the caller decides about
 * them. security.selinux, security.ima, security.evm, security.apparmor and
 * security.SMACK64 are excluded: they belong to the machine, not to the file.
 */
int xattrs_get(int dirfd, const char *name, struct xattrs *ret,
	       struct err *err);
/* As xattrs_get(), without the names for which skip() returns true; skip may be
 * NULL. */
int xattrs_get_filtered(int dirfd, const char *name,
			bool (*skip)(const char *name), struct xattrs *ret,
			struct err *err);

/* Makes the attributes of the open file equal to x: adds, changes and removes.
 */
int xattrs_set(int fd, const struct xattrs *x, struct err *err);

/* Compares the values only, not the names. NULL equals NULL. */
bool xattrs_same_value(const struct xattr *a, const struct xattr *b);

/* Whether both sets have the same names with the same values. */
bool xattrs_equal(const struct xattrs *a, const struct xattrs *b);
/* Whether `now` has an ACL (access or default) that `old` lacks or has with
 * another value. */
bool xattrs_acl_differs(const struct xattrs *now, const struct xattrs *old);

/* The attribute of this name, owned by x; NULL when x does not have it. */
const struct xattr *xattrs_find(const struct xattrs *x, const char *name);
/* Removes all attributes whose name begins with prefix; returns their number.
 */
size_t xattrs_remove_prefix(struct xattrs *x, const char *prefix);

/* Adds a copy of an attribute and keeps the set sorted. */
void xattrs_add(struct xattrs *x, const char *name, const void *value,
		size_t len);

#endif
