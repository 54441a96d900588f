#include "base/meta.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>

#include "base/auto.h"
#include "base/chattr.h"
#include "base/fd.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/vec.h"

/* listxattrat(2) is in Linux 6.13; older headers lack its number. */
#if !defined(SYS_listxattrat) && (defined(__x86_64__) || defined(__aarch64__))
#define SYS_listxattrat 465
#elif !defined(SYS_listxattrat)
#define SYS_listxattrat (-1)
#endif

/* Limits of the kernel (linux/limits.h: XATTR_LIST_MAX, XATTR_SIZE_MAX). */
#define LIST_MAX 65536
#define VALUE_MAX 65536

int meta_get(int dirfd, const char *name, struct meta *ret)
{
	struct statx st;

	if (RETRY_ENOENT(statx(dirfd, name,
			       AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT |
				       (*name ? 0 : AT_EMPTY_PATH),
			       STATX_BASIC_STATS | STATX_BTIME, &st)) < 0)
		return -1;
	*ret = (struct meta){
		.mode = st.stx_mode,
		.uid = st.stx_uid,
		.gid = st.stx_gid,
		.nlink = st.stx_nlink,
		.chattr = (uint32_t)st.stx_attributes & CHATTR_IN_STATX,
		.mount = st.stx_attributes & STATX_ATTR_MOUNT_ROOT,
		.size = st.stx_size,
		.dev = makedev(st.stx_dev_major, st.stx_dev_minor),
		.ino = st.stx_ino,
		.rdev = makedev(st.stx_rdev_major, st.stx_rdev_minor),
		.mtime = {st.stx_mtime.tv_sec, st.stx_mtime.tv_nsec},
		.ctime = {st.stx_ctime.tv_sec, st.stx_ctime.tv_nsec},
	};
	if (st.stx_mask & STATX_BTIME)
		ret->born = (struct timestamp){st.stx_btime.tv_sec,
					       st.stx_btime.tv_nsec};
	return 0;
}

bool meta_foreign(const struct meta *m, uint32_t uid, uint32_t gid)
{
	return m->uid == uid
		       ? m->gid != gid
		       : !S_ISLNK(m->mode) && m->mode & (S_IWGRP | S_IWOTH);
}

int meta_set_time(int dirfd, const char *name, struct timestamp mtime)
{
	const struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = mtime.sec, .tv_nsec = mtime.nsec},
	};

	return utimensat(dirfd, name, times,
			 AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH));
}

bool meta_same(const struct meta *a, const struct meta *b)
{
	return a->dev == b->dev && a->ino == b->ino &&
	       (a->mode & S_IFMT) == (b->mode & S_IFMT) && a->size == b->size &&
	       timestamp_compare(a->mtime, b->mtime) == 0 &&
	       timestamp_compare(a->ctime, b->ctime) == 0;
}

struct dir_identity meta_identity(const struct meta *m)
{
	return (struct dir_identity){.ino = m->ino, .born = m->born};
}

static bool is_told(const struct dir_identity *d)
{
	return d->born.sec || d->born.nsec;
}

bool meta_identity_certain(const struct dir_identity *a,
			   const struct dir_identity *b)
{
	return a->ino && is_told(a) && a->ino == b->ino &&
	       timestamp_compare(a->born, b->born) == 0;
}

bool meta_identity_other(const struct dir_identity *a,
			 const struct dir_identity *b)
{
	if (is_told(a) && is_told(b) &&
	    timestamp_compare(a->born, b->born) != 0)
		return true;
	return (is_told(a) || is_told(b)) && a->ino != b->ino;
}

bool meta_identity_maybe(const struct dir_identity *a,
			 const struct dir_identity *b)
{
	return a->ino == b->ino && !meta_identity_other(a, b);
}

void xattrs_free(struct xattrs *x)
{
	size_t i;

	for (i = 0; i < x->count; i++) {
		free(x->items[i].name);
		free(x->items[i].value);
	}
	free(x->items);
	*x = (struct xattrs){0};
}

void xattrs_add(struct xattrs *x, const char *name, const void *value,
		size_t len)
{
	*VEC_ADD(x) = (struct xattr){
		.name = mem_strdup(name),
		.value = mem_dup(value, len),
		.len = len,
	};
	if (x->count > 1 && strcmp(x->items[x->count - 2].name, name) > 0)
		SORT_BY_TEXT(x->items, x->count, name);
}

static bool is_xattr_unsupported(int num)
{
	return num == ENOTSUP || num == ENODATA || num == ENOSYS;
}

/* Most files have no attributes. listxattrat(2) reports that without /proc, in
 * a third of the time. -1: the caller uses /proc, whatever the reason; a kernel
 * without the call is not asked again. */
static ssize_t list_xattrs_at(int dirfd, const char *name, char *list,
			      size_t size)
{
	static atomic_bool missing;
	ssize_t len;

	if (atomic_load_explicit(&missing, memory_order_relaxed)) {
		errno = ENOSYS;
		return -1;
	}
	len = syscall(SYS_listxattrat, dirfd, name,
		      AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, list, size);
	if (len < 0 && (errno == ENOSYS || errno == EPERM))
		atomic_store_explicit(&missing, true, memory_order_relaxed);
	return len;
}

/* One size for each call is enough for nearly all files: the kernel allocates
 * and clears as many bytes as the caller offers. */
#define LIST_USUAL 512
#define VALUE_USUAL 1024

struct xattr_source {
	int dirfd;
	const char *name;
	char path[512]; /* in /proc; empty until it is needed */
};

/* getxattrat(2) is newer than the oldest supported kernel; /proc takes its
 * place. The magic link of a descriptor must be followed; a name below it must
 * not. */
static const char *xattr_path(struct xattr_source *from)
{
	if (!*from->path)
		(void)snprintf(from->path, sizeof(from->path),
			       "/proc/self/fd/%d%s%s", from->dirfd,
			       *from->name ? "/" : "", from->name);
	return from->path;
}

static ssize_t list_xattrs(struct xattr_source *from, char *list, size_t size)
{
	ssize_t len = list_xattrs_at(from->dirfd, from->name, list, size);

	if (len >= 0 || errno == ERANGE)
		return len;
	return *from->name ? llistxattr(xattr_path(from), list, size)
			   : listxattr(xattr_path(from), list, size);
}

static ssize_t get_xattr(struct xattr_source *from, const char *xattr,
			 void *value, size_t size)
{
	return *from->name ? lgetxattr(xattr_path(from), xattr, value, size)
			   : getxattr(xattr_path(from), xattr, value, size);
}

static int add_xattr(struct xattr_source *from, const char *xattr,
		     struct xattrs *to, struct err *err)
{
	unsigned char usual[VALUE_USUAL];
	auto_free unsigned char *large = NULL;
	unsigned char *value = usual;
	ssize_t len = get_xattr(from, xattr, value, sizeof(usual));

	if (len < 0 && errno == ERANGE) {
		value = large = mem_alloc(VALUE_MAX);
		len = get_xattr(from, xattr, value, VALUE_MAX);
	}
	if (len < 0 && is_xattr_unsupported(errno))
		return 0;
	if (len < 0)
		return fail_errno(err, "read extended attribute %s",
				  text_quote(xattr));
	xattrs_add(to, xattr, value, (size_t)len);
	return 0;
}

int xattrs_get_filtered(int dirfd, const char *name,
			bool (*skip)(const char *name), struct xattrs *ret,
			struct err *err)
{
	static const char *const of_machine[] = {
		"security.selinux",  "security.ima",	 "security.evm",
		"security.apparmor", "security.SMACK64", NULL};
	struct xattr_source from = {.dirfd = dirfd, .name = name};
	char usual[LIST_USUAL], *list = usual;
	auto_free char *large = NULL;
	AUTO(xattrs) struct xattrs x = {0};
	ssize_t len, at;

	if (strlen(name) > sizeof(from.path) / 2)
		return fail(err, ENAMETOOLONG, "%s", text_quote(name));
	len = list_xattrs(&from, list, sizeof(usual));
	if (len < 0 && errno == ERANGE) {
		list = large = mem_alloc(LIST_MAX);
		len = list_xattrs(&from, list, LIST_MAX);
	}
	if (len < 0 && is_xattr_unsupported(errno)) {
		*ret = (struct xattrs){0};
		return 0;
	}
	if (len < 0)
		return fail_errno(err, "list extended attributes of %s",
				  text_quote(*name ? name : "."));
	for (at = 0; at < len; at += (ssize_t)strlen(list + at) + 1) {
		if (mem_list_has(of_machine, list + at) ||
		    (skip && skip(list + at)))
			continue;
		if (add_xattr(&from, list + at, &x, err) < 0)
			return -err->num;
	}
	*ret = TAKE(x);
	return 0;
}

int xattrs_get(int dirfd, const char *name, struct xattrs *ret, struct err *err)
{
	return xattrs_get_filtered(dirfd, name, NULL, ret, err);
}

int xattrs_set(int fd, const struct xattrs *x, struct err *err)
{
	AUTO(xattrs) struct xattrs old = {0};
	struct fd_proc_path name = fd_proc_path(fd);
	size_t i;

	if (xattrs_get(fd, "", &old, err) < 0)
		return -err->num;
	for (i = 0; i < old.count; i++) {
		if (xattrs_find(x, old.items[i].name))
			continue;
		if (removexattr(name.text, old.items[i].name) < 0 &&
		    errno != ENODATA)
			return fail_errno(err, "remove extended attribute %s",
					  text_quote(old.items[i].name));
	}
	for (i = 0; i < x->count; i++) {
		const struct xattr *new = &x->items[i];
		const struct xattr *is = xattrs_find(&old, new->name);

		if (is && xattrs_same_value(is, new))
			continue;
		if (setxattr(name.text, new->name, new->value, new->len, 0) < 0)
			return fail_errno(err, "set extended attribute %s",
					  text_quote(new->name));
	}
	return 0;
}

bool xattrs_same_value(const struct xattr *a, const struct xattr *b)
{
	if (!a || !b)
		return !a && !b;
	return a->len == b->len && memcmp(a->value, b->value, a->len) == 0;
}

bool xattrs_equal(const struct xattrs *a, const struct xattrs *b)
{
	size_t i;

	if (a->count != b->count)
		return false;
	for (i = 0; i < a->count; i++) {
		const struct xattr *p = &a->items[i], *q = &b->items[i];

		if (strcmp(p->name, q->name) != 0 || !xattrs_same_value(p, q))
			return false;
	}
	return true;
}

const struct xattr *xattrs_find(const struct xattrs *x, const char *name)
{
	return FIND_BY_TEXT(name, x->items, x->count, name);
}

size_t xattrs_remove_prefix(struct xattrs *x, const char *prefix)
{
	size_t kept = 0, i, len = strlen(prefix), dropped;

	for (i = 0; i < x->count; i++) {
		if (strncmp(x->items[i].name, prefix, len) == 0) {
			free(x->items[i].name);
			free(x->items[i].value);
		} else {
			x->items[kept++] = x->items[i];
		}
	}
	dropped = x->count - kept;
	x->count = kept;
	return dropped;
}

bool xattrs_acl_differs(const struct xattrs *now, const struct xattrs *old)
{
	static const char *const names[] = {"system.posix_acl_access",
					    "system.posix_acl_default"};
	size_t i;

	for (i = 0; i < 2; i++) {
		const struct xattr *a = xattrs_find(now, names[i]);
		const struct xattr *b = xattrs_find(old, names[i]);

		if (a && !xattrs_same_value(a, b))
			return true;
	}
	return false;
}
