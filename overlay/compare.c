#include "overlay/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/text.h"
#include "overlay/change_list.h"
#include "overlay/whiteout.h"
#include "overlay/scan.h"

#define PIECE (256 * 1024)

bool compare_is_fatal(int got)
{
	return got == -EMFILE || got == -ENFILE || got == -ENOMEM;
}

bool compare_is_gone(int got)
{
	return got == -ENOENT || got == -ENOTDIR || got == -ESTALE;
}

/* Leaves the access time unchanged where the kernel allows O_NOATIME. */
static int open_lower_file(const struct pair *p, struct err *err)
{
	int flags = O_RDONLY | O_NONBLOCK, fd;

	fd = beneath_open(p->lower, p->lower_name, flags | O_NOATIME, 0, err);
	if (fd == -EPERM)
		fd = beneath_open(p->lower, p->lower_name, flags, 0, err);
	return fd;
}

/* Returns 1 for equal bytes, 0 for different ones. */
static int same_file_bytes(int a, int b, uint64_t size, struct err *err)
{
	auto_free unsigned char *x = mem_alloc(PIECE), *y = mem_alloc(PIECE);
	uint64_t at = 0;

	while (at < size) {
		ssize_t n = fd_pread(a, x, PIECE, at);
		ssize_t m = n < 0 ? -1 : fd_pread(b, y, PIECE, at);

		if (m < 0)
			return fail_errno(err, "read");
		if (n != m || memcmp(x, y, (size_t)n) != 0)
			return 0;
		if (n == 0)
			break;
		at += (uint64_t)n;
	}
	return 1;
}

static int same_files(const struct pair *p, struct err *err)
{
	AUTO(temp_chmod) struct temp_chmod opened = {.fd = -1};
	auto_close int upper = -1, lower = -1;
	struct stat st;

	if (p->u.size != p->l.size)
		return 0;
	if (p->u.size == 0)
		return 1;
	upper = upper_open(p->upper, p->upper_name, O_RDONLY, 0400, &opened,
			   err);
	if (upper < 0)
		return upper;
	lower = open_lower_file(p, err);
	if (lower < 0)
		return lower;
	if (fstat(lower, &st) < 0)
		return fail_errno(err, "look at %s", text_quote(p->lower_name));
	if (!S_ISREG(st.st_mode))
		return fail(err, ENOENT, "%s was replaced meanwhile",
			    text_quote(p->lower_name));
	return same_file_bytes(upper, lower, p->u.size, err);
}

static int same_links(const struct pair *p, struct err *err)
{
	char a[PATH_MAX], b[PATH_MAX];
	ssize_t n = readlinkat(p->upper, p->upper_name, a, sizeof(a));
	ssize_t m = readlinkat(p->lower, p->lower_name, b, sizeof(b));

	if (n < 0 || m < 0)
		return fail_errno(err, "read link %s",
				  text_quote(p->upper_name));
	return n == m && memcmp(a, b, (size_t)n) == 0;
}

static int same_content(const struct pair *p, struct err *err)
{
	if (S_ISREG(p->u.mode))
		return same_files(p, err);
	if (S_ISLNK(p->u.mode))
		return same_links(p, err);
	if (S_ISCHR(p->u.mode) || S_ISBLK(p->u.mode))
		return p->u.rdev == p->l.rdev;
	return 1;
}

/* Whether name is an xattr of overlayfs, which most entries of a layer have.
 * Xattrs of the same prefix that the run set are stored with a second
 * "overlay.". */
static bool is_layer_xattr(const char *name)
{
	static const char own[] = LAYER_XATTR_PREFIX,
			  escaped[] = LAYER_XATTR_PREFIX "overlay.";

	return strncmp(name, own, strlen(own)) == 0 &&
	       strncmp(name, escaped, strlen(escaped)) != 0;
}

/* Reads the xattrs; user.* is readable only with read permission on the
 * file. */
static int upper_xattrs(const struct pair *p, struct xattrs *ret,
			struct err *err)
{
	AUTO(temp_chmod) struct temp_chmod opened = {.fd = -1};
	auto_close int fd = -1;
	int got = xattrs_get_filtered(p->upper, p->upper_name, is_layer_xattr,
				      ret, err);

	if (got != -EACCES || !(S_ISREG(p->u.mode) || S_ISDIR(p->u.mode)))
		return got;
	fd = upper_open(p->upper, p->upper_name, O_RDONLY,
			S_ISDIR(p->u.mode) ? 0500 : 0400, &opened, err);
	return fd < 0 ? fd
		      : xattrs_get_filtered(fd, "", is_layer_xattr, ret, err);
}

/*
 * Compares the xattrs without "trusted.": only root of the initial user
 * namespace can read these, and overlayfs in a user namespace cannot copy them
 * up. Xattrs of the project itself below "user.overlay." are invisible in a
 * run, so a copy without them is no change.
 */
static int same_xattrs(const struct pair *p, struct difference *d,
		       struct err *err)
{
	AUTO(xattrs) struct xattrs u = {0}, l = {0};
	int got = upper_xattrs(p, &u, err);

	if (got == 0)
		got = xattrs_get(p->lower, p->lower_name, &l, err);
	if (got < 0)
		return got;
	(void)xattrs_remove_prefix(&u, LAYER_XATTR_PREFIX);
	(void)xattrs_remove_prefix(&u, "trusted.");
	(void)xattrs_remove_prefix(&l, "trusted.");
	d->caps = S_ISREG(p->u.mode) && xattrs_find(&u, "security.capability");
	d->acl = xattrs_acl_differs(&u, &l);
	if (xattrs_equal(&u, &l))
		return 1;
	return xattrs_remove_prefix(&l, LAYER_XATTR_PREFIX) > 0 &&
	       xattrs_equal(&u, &l);
}

/* Translates a result of same_*(): 0 equal, 1 different or unreadable, negative
 * for an error that ends the comparison. */
static int difference_or_error(int got, struct difference *d)
{
	if (got >= 0)
		return !got;
	if (compare_is_fatal(got) || compare_is_gone(got))
		return got;
	d->unreadable = true;
	return 1;
}

int compare_pair(const struct pair *p, struct difference *ret, struct err *err)
{
	struct difference d = {0};
	int content, xattrs;

	content = difference_or_error(same_content(p, err), &d);
	if (content < 0)
		return content;
	xattrs = difference_or_error(same_xattrs(p, &d, err), &d);
	if (xattrs < 0)
		return xattrs;
	d.content = content;
	d.attrs = xattrs;
	d.meta = xattrs || p->u.mode != p->l.mode || p->u.uid != p->l.uid ||
		 p->u.gid != p->l.gid;
	d.time = timestamp_compare(p->u.mtime, p->l.mtime) != 0;
	*ret = d;
	return 0;
}

unsigned int compare_new_file(int dirfd, const char *name)
{
	AUTO(xattrs) struct xattrs x = {0};
	char path[NAME_MAX + 48];
	struct err ignored;
	bool caps;

	/* Most files have no xattrs; this query is the fastest. */
	if (xattrs_get(dirfd, name, &x, &ignored) == 0) {
		caps = xattrs_find(&x, "security.capability") != NULL;
		return (caps ? CHANGE_SETID : 0) |
		       (xattrs_remove_prefix(&x, LAYER_XATTR_PREFIX)
				? 0
				: CHANGE_UNMARKED);
	}
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dirfd, name);
	return lgetxattr(path, "security.capability", NULL, 0) > 0
		       ? CHANGE_SETID
		       : 0;
}
