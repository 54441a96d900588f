#include "snapshot/walk/stable_read.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/chattr.h"
#include "base/fd.h"
#include "base/text.h"
#include "snapshot/store/ring.h"
#include "snapshot/tree/tree.h"

#define PROBE_LEN (64u << 10)

void stable_read_free(struct stable_read *r)
{
	free(r->link);
	*r = (struct stable_read){0};
}

int stable_read_add_fault(struct stable_read *r, const char *what, int num,
			  struct err *err)
{
	if (err_is_exhaustion(num))
		return fail_num(err, num, "%s", what);
	if (r->incomplete)
		return 0;
	r->incomplete = true;
	(void)snprintf(r->why, sizeof(r->why), "%s%s%s", what, num ? ": " : "",
		       num ? strerror(num) : "");
	return 0;
}

static int open_keeping_atime(int dirfd, const char *name)
{
	int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

	return *name ? reader_open(dirfd, name, flags)
		     : fd_reopen(dirfd, flags);
}

/* Reads the flags of CHATTR_STORED of an open file or directory (not O_PATH).
 * False where the file system has no flags. */
static bool read_chattr(int fd, uint32_t *ret)
{
	unsigned int flags = 0;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
		return false;
	*ret = flags & CHATTR_STORED;
	return true;
}

/* Whether flags that statx(2) does not report can be there: chattr(1) sets the
 * ctime alone, a write both times. */
static bool may_have_flags(int dirfd, const char *name, const struct meta *m)
{
	return timestamp_compare(m->ctime, m->mtime) != 0 ||
	       chattr_may_have(dirfd, name);
}

/* Reads the chattr flags. For a file that must not be opened, the flags of
 * statx(2) stay. */
static int read_chattr_flags(int dirfd, const char *name, bool of_layer,
			     struct stable_read *r, struct err *err)
{
	struct meta *m = &r->meta, opened;
	bool read = true;

	if (of_layer || (!S_ISREG(m->mode) && !S_ISDIR(m->mode))) {
		m->chattr = 0;
	} else if (r->has_chattr) {
		return 0;
	} else if (S_ISDIR(m->mode) && !*name) {
		read = read_chattr(dirfd, &m->chattr);
	} else if (S_ISDIR(m->mode) || m->chattr || r->ask_chattr ||
		   may_have_flags(dirfd, name, m)) {
		auto_close int fd = open_keeping_atime(dirfd, name);

		/* The name may have been swapped: the stat after the read
		 * notices. */
		read = fd >= 0 && meta_get(fd, "", &opened) == 0 &&
		       (opened.ino != m->ino || read_chattr(fd, &m->chattr));
	}
	if (!read && err_is_exhaustion(errno))
		return fail_errno(err, "read the chattr flags");
	r->has_chattr = true;
	return 0;
}

int stable_read_attrs(struct store *store, int dirfd, const char *name,
		      const char *private_xattrs, struct stable_read *r,
		      struct err *err)
{
	AUTO(xattrs) struct xattrs x = {0};
	struct err fault;
	int got;

	r->attrs = (struct oid){0};
	if (read_chattr_flags(dirfd, name, private_xattrs != NULL, r, err) < 0)
		return -err->num;
	got = xattrs_get(dirfd, name, &x, &fault);
	if (got == -ENOENT)
		got = xattrs_get(dirfd, name, &x, &fault);
	if (got < 0) {
		/* The stat after the read notices a removed or swapped file. */
		return got == -ENOENT || got == -ENOTDIR
			       ? 0
			       : stable_read_add_fault(r, "extended attributes",
						       fault.num, err);
	}
	if (private_xattrs)
		(void)xattrs_remove_prefix(&x, private_xattrs);
	return attrset_save(store, &x, &r->attrs, err);
}

static int read_file_content(struct store *store, int dirfd, const char *name,
			     const struct longfile_hints *hints,
			     struct stable_read *r, struct err *err)
{
	auto_close int fd = open_keeping_atime(dirfd, name);
	auto_free char *bytes = NULL;
	struct meta opened;
	uint64_t at = 0;
	ssize_t n;

	if (fd < 0)
		return stable_read_add_fault(r, "open", errno, err);
	if (meta_get(fd, "", &opened) < 0)
		return stable_read_add_fault(r, "stat", errno, err);
	/* The name was swapped between stat and open: the stat after the read
	 * notices. */
	if (!S_ISREG(opened.mode))
		return 0;
	r->has_chattr = read_chattr(fd, &r->meta.chattr);
	r->no_writers = fd_find_writers(fd) == FD_WRITERS_NONE;
	if (content_put(store, fd, hints, &r->content, &r->size, err) == 0)
		return 0;
	/* Reading the file itself tells a fault of the file from a fault of the
	 * store. */
	bytes = mem_alloc(PROBE_LEN);
	while ((n = fd_pread(fd, bytes, PROBE_LEN, at)) > 0)
		at += (uint64_t)n;
	if (n == 0)
		return -err->num;
	r->size = 0;
	return stable_read_add_fault(r, "read", errno, err);
}

/* One attempt. 1: the entry did not change while it was read; 0: it changed. */
static int try_stable_read(struct store *store, int dirfd, const char *name,
			   const char *private_xattrs,
			   const struct longfile_hints *hints,
			   struct stable_read *r, struct err *err)
{
	char text[PATH_MAX];
	struct meta after;
	ssize_t len;

	if (meta_get(dirfd, name, &r->meta) < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			return fail_errno(err, "%s", text_quote(name));
		return stable_read_add_fault(r, "stat", errno, err) < 0
			       ? -err->num
			       : 1;
	}
	if (S_ISREG(r->meta.mode) && r->meta.size &&
	    read_file_content(store, dirfd, name, hints, r, err) < 0)
		return -err->num;
	if (S_ISLNK(r->meta.mode)) {
		len = readlinkat(dirfd, name, text, sizeof(text) - 1);
		if (len > 0)
			r->link = mem_strndup(text, (size_t)len);
		else if (stable_read_add_fault(r, "read link",
					       len < 0 ? errno : 0, err) < 0)
			return -err->num;
	}
	if (stable_read_attrs(store, dirfd, name, private_xattrs, r, err) < 0)
		return -err->num;
	if (meta_get(dirfd, name, &after) < 0)
		return err_is_exhaustion(errno) ? fail_errno(err, "stat") : 0;
	return meta_same(&r->meta, &after) &&
	       (!S_ISREG(after.mode) || r->incomplete || r->size == after.size);
}

int stable_read_entry(struct store *store, int dirfd, const char *name,
		      const char *private_xattrs,
		      const struct longfile_hints *hints,
		      struct stable_read *ret, struct err *err)
{
	AUTO(stable_read) struct stable_read r = {0};
	int tries, got = 0;

	for (tries = 0; tries < STABLE_READ_TRIES && got == 0; tries++) {
		stable_read_free(&r);
		got = try_stable_read(store, dirfd, name, private_xattrs, hints,
				      &r, err);
	}
	if (got < 0)
		return err_context(err, "%s", text_quote(name));
	if (!got) {
		r.unstable = true;
		(void)stable_read_add_fault(&r, "changed while it was read", 0,
					    err);
	}
	*ret = TAKE(r);
	return 0;
}

void stable_read_make_entry(struct stable_read *r, const char *name,
			    struct entry *ret)
{
	const struct meta *m = &r->meta;
	bool device = S_ISCHR(m->mode) || S_ISBLK(m->mode);
	uint64_t size = r->content.type == OBJECT_NONE ? m->size : r->size;

	*ret = (struct entry){
		.name = mem_strdup(name),
		.mode = m->mode,
		.uid = m->uid,
		.gid = m->gid,
		.mtime = m->mtime,
		.size = S_ISREG(m->mode) ? size : 0,
		.rdev = device ? m->rdev : 0,
		.content = r->content,
		.attrs = r->attrs,
		.link = r->link,
		.chattr = m->chattr & CHATTR_STORED,
		.link_group = m->nlink > 1 && !S_ISDIR(m->mode) ? m->ino : 0,
		.flags = r->incomplete ? ENTRY_INCOMPLETE : 0,
	};
	*r = (struct stable_read){0};
}
