#include "overlay/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/meta.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"
#include "overlay/change_list.h"
#include "overlay/scan_range.h"
#include "overlay/whiteout.h"

/*
 * Compares two entries of one name: the layer's and the real directory's.
 *
 * An entry of the layer may get more permissions while it is read
 * (temp_chmod.h). The real entry is only read. An unreadable part counts as
 * different.
 */

struct pair {
	int upper, lower; /* the two directories */
	const char *upper_name, *lower_name; /* "" is the directory itself */
	struct meta u, l;
};

struct difference {
	bool content; /* bytes, link target, device number */
	bool meta; /* mode, owner, xattrs */
	bool time; /* mtime */
	bool unreadable; /* a part could not be compared: counts as changed */
	bool attrs; /* xattrs only */
	/* the layer's entry has an ACL that the real one does not have */
	bool acl;
	bool caps; /* the layer's file has file capabilities */
};

#define PIECE (256 * 1024)

/* Whether an error means that the entry or its directory no longer exists. */
static bool compare_is_gone(int got)
{
	return got == -ENOENT || got == -ENOTDIR || got == -ESTALE;
}

/* Where the next data of the file may be: `at` itself, or its size. */
static uint64_t skip_hole(int fd, uint64_t at, uint64_t size)
{
	off_t data = lseek(fd, (off_t)at, SEEK_DATA);

	return data >= 0 ? (uint64_t)data : errno == ENXIO ? size : at;
}

/* Returns 1 for equal bytes, 0 for different ones. */
static int same_files(const struct pair *p, struct err *err)
{
	AUTO(temp_chmod) struct temp_chmod opened = {.fd = -1};
	auto_free unsigned char *a = NULL, *b = NULL;
	auto_close int upper = -1, lower = -1;
	int flags = O_RDONLY | O_NONBLOCK;
	uint64_t at = 0;
	struct stat st;

	if (p->u.size != p->l.size)
		return 0;
	if (p->u.size == 0)
		return 1;
	upper = upper_open(p->upper, p->upper_name, O_RDONLY, 0400, &opened,
			   err);
	if (upper < 0)
		return upper;
	/* The access time stays unchanged where the kernel allows O_NOATIME. */
	lower = beneath_open(p->lower, p->lower_name, flags | O_NOATIME, 0,
			     err);
	if (lower == -EPERM)
		lower = beneath_open(p->lower, p->lower_name, flags, 0, err);
	if (lower < 0)
		return lower;
	if (fstat(lower, &st) < 0)
		return fail_errno(err, "stat %s", text_quote(p->lower_name));
	if (!S_ISREG(st.st_mode))
		return fail(err, ENOENT,
			    "%s was replaced during the command: try again",
			    text_quote(p->lower_name));
	a = mem_alloc(PIECE);
	b = mem_alloc(PIECE);
	while (at < p->u.size) {
		uint64_t next = skip_hole(upper, at, p->u.size);
		ssize_t n, m;

		/* Both have a hole here. */
		if (next > at)
			at = MIN(next, skip_hole(lower, at, p->u.size));
		n = fd_pread(upper, a, PIECE, at);
		m = n < 0 ? -1 : fd_pread(lower, b, PIECE, at);
		if (m < 0)
			return fail_errno(err, "read");
		if (n != m || memcmp(a, b, (size_t)n) != 0)
			return 0;
		if (n == 0)
			break;
		at += (uint64_t)n;
	}
	return 1;
}

static int same_content(const struct pair *p, struct err *err)
{
	char a[PATH_MAX], b[PATH_MAX];
	ssize_t n, m;

	if (S_ISREG(p->u.mode))
		return same_files(p, err);
	if (S_ISCHR(p->u.mode) || S_ISBLK(p->u.mode))
		return p->u.rdev == p->l.rdev;
	if (!S_ISLNK(p->u.mode))
		return 1;
	n = readlinkat(p->upper, p->upper_name, a, sizeof(a));
	m = readlinkat(p->lower, p->lower_name, b, sizeof(b));
	if (n < 0 || m < 0)
		return fail_errno(err, "read link %s",
				  text_quote(p->upper_name));
	return n == m && memcmp(a, b, (size_t)n) == 0;
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

/*
 * Compares the xattrs without "trusted.": only root of the initial user
 * namespace can read these, and overlayfs in a user namespace cannot copy them
 * up. Xattrs of the project itself below "user.overlay." are invisible in a
 * run, so a copy without them is no change.
 */
static int same_xattrs(const struct pair *p, struct difference *d,
		       struct err *err)
{
	AUTO(temp_chmod) struct temp_chmod opened = {.fd = -1};
	AUTO(xattrs) struct xattrs u = {0}, l = {0};
	auto_close int fd = -1;
	int got = xattrs_get_filtered(p->upper, p->upper_name, is_layer_xattr,
				      &u, err);

	/* user.* is readable only with read permission on the file. */
	if (got == -EACCES && (S_ISREG(p->u.mode) || S_ISDIR(p->u.mode))) {
		fd = upper_open(p->upper, p->upper_name, O_RDONLY,
				S_ISDIR(p->u.mode) ? 0500 : 0400, &opened, err);
		got = fd < 0 ? fd
			     : xattrs_get_filtered(fd, "", is_layer_xattr, &u,
						   err);
	}
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
	if (err_is_exhaustion(-got) || compare_is_gone(got))
		return got;
	d->unreadable = true;
	return 1;
}

/*
 * Compares two entries of one file type; directories are compared without their
 * entries. Returns 0 and fills *ret, or a negative errno: err_is_exhaustion()
 * (no descriptors, no memory), or compare_is_gone() when one of the entries was
 * removed during the call.
 */
static int compare_pair(const struct pair *p, struct difference *ret,
			struct err *err)
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

/* Change flags from the xattrs of a file that the lower does not have:
 * CHANGE_SETID when it has file capabilities, CHANGE_UNMARKED when it has no
 * xattrs of overlayfs. */
static int compare_new_file(int dirfd, const char *name, unsigned int *ret,
			    struct err *err)
{
	AUTO(xattrs) struct xattrs x = {0};
	char path[NAME_MAX + 48];
	bool caps;
	int got;

	/* Most files have no xattrs; this query is the fastest. */
	got = xattrs_get(dirfd, name, &x, err);
	if (err_is_exhaustion(-got))
		return got;
	if (got == 0) {
		caps = xattrs_find(&x, "security.capability") != NULL;
		*ret = (caps ? CHANGE_SETID : 0) |
		       (xattrs_remove_prefix(&x, LAYER_XATTR_PREFIX)
				? 0
				: CHANGE_UNMARKED);
		return 0;
	}
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dirfd, name);
	*ret = lgetxattr(path, "security.capability", NULL, 0) > 0
		       ? CHANGE_SETID
		       : 0;
	return 0;
}

/*
 * Limits of open descriptors: a run may nest more directories than a process
 * can open. Only the innermost OPEN_MAX directories stay open, and every
 * OPEN_EVERY-th above them; the others are opened again from the nearest open
 * one when their turn comes. SCAN_LEN_MAX is the longest path in bytes: deeper
 * directories count as unreadable.
 */
#define OPEN_MAX 32
#define OPEN_EVERY 64
#define TEMP_CHMOD_MAX 200

struct frame {
	bool has_upper, has_lower; /* sides that have the directory */
	int upper, lower; /* -1: absent, or closed temporarily */
	bool opaque; /* the upper directory hides the lower one's entries */
	bool is_setgid; /* new entries inherit the directory's group */
	/* the range begins or ends below this directory */
	bool has_from, has_until;
	unsigned int flags; /* flags of all entries of the directory */
	size_t len; /* length of its path */
	struct dirlist upper_names, lower_names;
	size_t u, l; /* next entries */
	struct temp_chmod opened;
};

struct scan {
	int upper_fd, lower_fd;
	const char *const *skip;
	const char *from, *until; /* scan_range.h */
	struct change_list list;
	struct frame *items;
	size_t count, capacity;
	size_t opened; /* directories with added mode bits */
	/* This process; geteuid(2) is a call for each entry. */
	uid_t uid;
	gid_t gid;
	struct buf path; /* path of the current entry */
};

static void frame_free(struct frame *f)
{
	fd_close(&f->upper);
	fd_close(&f->lower);
	dirlist_free(&f->upper_names);
	dirlist_free(&f->lower_names);
	temp_chmod_free(&f->opened);
}

static void scan_free(struct scan *s)
{
	while (s->count)
		frame_free(&s->items[--s->count]);
	free(s->items);
	buf_free(&s->path);
	change_list_free(&s->list);
}

static void set_scan_path(struct scan *s, size_t len, const char *name)
{
	s->path.len = len;
	if (len && *name)
		buf_add_char(&s->path, '/');
	buf_add_text(&s->path, name);
}

/* Opens name in dirfd, or dirfd itself for "". Read permission is needed only
 * when the directory is listed. */
static int open_lower_dir(int dirfd, const char *name, bool list,
			  struct err *err)
{
	int flags = (list ? O_RDONLY : O_PATH) | O_DIRECTORY, fd;

	if (*name)
		return beneath_open(dirfd, name, flags, 0, err);
	fd = fd_reopen(dirfd, flags);
	/* The directory exists, since dirfd is open: /proc is the missing
	 * part. */
	if (fd < 0 && errno == ENOENT)
		return fail(err, EIO,
			    "open the directory: /proc does not show this "
			    "process's descriptors");
	return fd < 0 ? fail_errno(err, "open the directory") : fd;
}

static int open_frame(struct scan *s, struct frame *f, int upper, int lower,
		      const char *name, struct err *err)
{
	int got;

	if (f->has_upper) {
		f->upper = upper_open(upper, name, O_RDONLY | O_DIRECTORY, 0500,
				      &f->opened, err);
		if (f->upper < 0)
			return f->upper;
		s->opened += f->opened.fd > 0;
		if (s->opened > TEMP_CHMOD_MAX)
			return fail(err, EACCES,
				    "too many directories are unreadable");
		if (!f->opaque && f->has_lower) {
			got = opaque_is_set(f->upper, err);
			if (got < 0)
				return got;
			f->opaque = got;
		}
		if (dirlist_read(f->upper, &f->upper_names, err) < 0)
			return -err->num;
	}
	if (f->has_lower) {
		/* In a merged directory only the names of the layer are looked
		 * up in the lower. */
		bool list = f->opaque || !f->has_upper;

		f->lower = open_lower_dir(lower, name, list, err);
		/* A file system is mounted there now, and the layer has no
		 * entry of the directory. */
		if (f->lower == -EXDEV && f->has_upper && !f->upper_names.count)
			return -ENOENT;
		/* The real directory was removed during the scan: all entries
		 * of the layer are new. */
		if (compare_is_gone(f->lower) && f->has_upper)
			f->has_lower = false;
		else if (f->lower < 0)
			return f->lower;
		else if (list &&
			 dirlist_read(f->lower, &f->lower_names, err) < 0)
			return -err->num;
	}
	return 0;
}

/* Opens the innermost directory again, from the nearest open one above it. */
static int reopen_frame_dir(struct scan *s, bool upper, int flags,
			    struct err *err)
{
	size_t i = s->count - 1, len;
	int above = -1;

	while (above < 0 && i-- > 0)
		above = upper ? s->items[i].upper : s->items[i].lower;
	if (above < 0)
		return beneath_open(upper ? s->upper_fd : s->lower_fd,
				    buf_text(&s->path), flags, 0, err);
	len = s->items[i].len;
	return beneath_open(above, buf_text(&s->path) + len + (len > 0), flags,
			    0, err);
}

static int resume_frame(struct scan *s, struct frame *f, struct err *err)
{
	set_scan_path(s, f->len, "");
	if (f->has_upper && f->upper < 0)
		f->upper =
			reopen_frame_dir(s, true, O_RDONLY | O_DIRECTORY, err);
	if (f->has_upper && f->upper < 0)
		return f->upper;
	if (f->has_lower && f->lower < 0)
		f->lower =
			reopen_frame_dir(s, false, O_PATH | O_DIRECTORY, err);
	if (f->has_upper && compare_is_gone(f->lower))
		f->has_lower = false;
	if (f->has_lower && f->lower < 0)
		return f->lower;
	return 0;
}

static void note_newest(struct scan *s, struct timestamp ctime)
{
	timestamp_raise(&s->list.newest, ctime);
	timestamp_raise(&s->list.newest_below, ctime);
}

/*
 * Enters the directory of the current path. upper, lower: its parent
 * directories (-1: this side does not have it). old, now: its metadata, for the
 * change of an unreadable directory.
 */
static int push_frame(struct scan *s, int upper, int lower, const char *name,
		      bool opaque, unsigned int flags, const struct meta *old,
		      const struct meta *now, struct err *err)
{
	const struct frame *parent = s->count ? &s->items[s->count - 1] : NULL;
	const char *path = buf_text(&s->path);
	struct frame f = {
		.has_upper = upper >= 0,
		.has_lower = lower >= 0,
		.upper = -1,
		.lower = -1,
		.opaque = opaque,
		.is_setgid = now && (now->mode & S_ISGID),
		.has_from = s->from && (!parent || parent->has_from) &&
			    path_below(s->from, path),
		.has_until = s->until && (!parent || parent->has_until) &&
			     path_below(s->until, path),
		.flags = flags,
		.len = s->path.len,
		.opened = {.fd = -1},
	};
	int got = s->path.len > SCAN_LEN_MAX
			  ? -ENAMETOOLONG
			  : open_frame(s, &f, upper, lower, name, err);

	if (got < 0) {
		s->opened -= f.opened.fd > 0;
		frame_free(&f);
		note_newest(s, (struct timestamp){.sec = INT64_MAX});
		if (err_is_exhaustion(-got))
			return got;
		if (!compare_is_gone(got))
			change_list_unreadable(&s->list, buf_text(&s->path),
					       flags, old, now);
		return 0;
	}
	*VEC_ADD(s) = f;
	if (s->count > OPEN_MAX &&
	    (s->count - OPEN_MAX - 1) % OPEN_EVERY != 0) {
		struct frame *above = &s->items[s->count - OPEN_MAX - 1];

		fd_close(&above->upper);
		fd_close(&above->lower);
	}
	return 0;
}

/* An entry on one side only, or with another file type on each side. */
static int scan_one_sided(struct scan *s, const struct frame *f,
			  const char *name, const struct meta *u,
			  const struct meta *l, unsigned int flags,
			  struct err *err)
{
	enum change_kind kind = u && l ? CHANGE_TYPE
				: u    ? CHANGE_ADDED
				       : CHANGE_DELETED;
	int upper = u && S_ISDIR(u->mode) ? f->upper : -1;
	int lower = l && S_ISDIR(l->mode) ? f->lower : -1;
	unsigned int own = 0;

	if (u && S_ISREG(u->mode) &&
	    compare_new_file(f->upper, name, &own, err) < 0)
		return -err->num;
	change_list_add(&s->list, buf_text(&s->path), kind, flags | own, l, u);
	if (upper < 0 && lower < 0)
		return 0;
	return push_frame(s, upper, lower, name, false,
			  flags | CHANGE_WITH_PARENT, l, u, err);
}

static void add_difference(struct scan *s, const struct pair *p,
			   const struct difference *d, unsigned int flags)
{
	if (d->unreadable)
		flags |= CHANGE_UNREADABLE;
	if (d->caps)
		flags |= CHANGE_SETID;
	if (d->attrs)
		flags |= CHANGE_ATTRS;
	if (d->acl)
		flags |= CHANGE_ACL;
	if (d->content)
		change_list_add(&s->list, buf_text(&s->path), CHANGE_MODIFIED,
				flags | (d->meta ? CHANGE_META_TOO : 0), &p->l,
				&p->u);
	else if (d->meta)
		change_list_add(&s->list, buf_text(&s->path), CHANGE_META,
				flags, &p->l, &p->u);
	else if (d->time || (S_ISREG(p->u.mode) && p->u.nlink > 1))
		change_list_touch(&s->list, buf_text(&s->path));
}

/*
 * Whether the entry is a plain user's copy of another user's entry
 * (pre_copy_up.h). Its owner differs only because of the copy: the difference
 * is no change of the run, and guard could not apply it. An opaque directory is
 * no copy: the run created it in place of the other user's directory.
 */
static int is_owner_copy(const struct pair *p, uid_t uid, struct err *err)
{
	AUTO(temp_chmod) struct temp_chmod opened = {.fd = -1};
	auto_close int fd = -1;
	int got;

	if (uid == 0 || p->l.uid == uid || p->u.uid != uid)
		return 0;
	if (!S_ISDIR(p->u.mode))
		return 1;
	fd = upper_open(p->upper, p->upper_name, O_RDONLY | O_DIRECTORY, 0500,
			&opened, err);
	got = fd < 0 ? fd : opaque_is_set(fd, err);
	return err_is_exhaustion(-got) ? got : got == 0;
}

/* An entry with the same file type on both sides. */
static int scan_both_sided(struct scan *s, const struct frame *f,
			   const char *name, const struct meta *u,
			   const struct meta *l, unsigned int flags,
			   struct err *err)
{
	struct pair p = {f->upper, f->lower, name, name, *u, *l};
	int only_owned = is_owner_copy(&p, s->uid, err);
	bool is_setgid_dir = S_ISDIR(l->mode) && (l->mode & S_ISGID);
	bool foreign_group = false;
	struct difference d;
	int got;

	if (only_owned < 0)
		return only_owned;
	/* The group may differ only because the layer cannot have the real
	 * group: pre_copy_up.h. A file that was written gets the layer's. */
	if (s->uid != 0 && u->gid == s->gid && l->gid != s->gid) {
		foreign_group = !group_member(l->gid);
		if (f->is_setgid || is_setgid_dir || foreign_group)
			p.u.gid = l->gid;
	}
	if (only_owned) {
		p.u.uid = l->uid;
		p.u.gid = l->gid;
	}
	got = compare_pair(&p, &d, err);
	if (err_is_exhaustion(-got))
		return got;
	/* One side disappeared during the scan. When the real entry
	 * disappeared, the run's entry is still a change. */
	if (got < 0 && meta_get(f->upper, name, &p.u) < 0)
		return compare_is_gone(-errno)
			       ? 0
			       : fail_errno(err, "stat %s",
					    text_quote(buf_text(&s->path)));
	if (got < 0)
		d = (struct difference){.content = !S_ISDIR(u->mode),
					.meta = true};
	if (only_owned || (foreign_group && !f->is_setgid && d.content)) {
		p.u = *u;
		d.meta = d.meta || d.content;
	}
	add_difference(s, &p, &d, flags);
	if (!S_ISDIR(u->mode))
		return 0;
	return push_frame(s, f->upper, f->lower, name, f->opaque, flags, l, u,
			  err);
}

/*
 * lstat(2) on one side: 1 exists, 0 absent or a whiteout (*ret_is_whiteout),
 * negative errno: unknown.
 */
static int lstat_side(int dirfd, const char *name, struct meta *ret,
		      bool *ret_is_whiteout)
{
	if (dirfd < 0)
		return 0;
	if (meta_get(dirfd, name, ret) < 0)
		return compare_is_gone(-errno) ? 0 : -errno;
	*ret_is_whiteout = whiteout_is(ret);
	return !*ret_is_whiteout;
}

/* The current path is before the range, and not a directory above its start. */
static bool is_before_range(struct scan *s, const struct frame *f)
{
	const char *path = buf_text(&s->path);

	return f->has_from && path_compare(path, s->from) < 0 &&
	       !path_below(s->from, path);
}

static bool is_after_range(struct scan *s, const struct frame *f)
{
	return f->has_until && path_compare(buf_text(&s->path), s->until) >= 0;
}

/* Scans one name that one of the sides of the innermost directory has. */
static int scan_layer_name(struct scan *s, const char *name, bool listed_upper,
			   struct err *err)
{
	struct frame f = s->items[s->count - 1];
	struct meta u, l;
	bool is_whiteout = false, lower_white = false;
	unsigned int flags = f.flags;
	int has_u, has_l;

	set_scan_path(s, f.len, name);
	if (is_before_range(s, &f) || is_after_range(s, &f) ||
	    mem_list_has(s->skip, buf_text(&s->path)))
		return 0;
	if (strcmp(name, ".git") == 0)
		flags |= CHANGE_GIT;
	has_u = listed_upper ? lstat_side(f.upper, name, &u, &is_whiteout) : 0;
	has_l = lstat_side(f.lower, name, &l, &lower_white);
	if (has_u < 0)
		return fail_num(err, -has_u, "stat %s",
				text_quote(buf_text(&s->path)));
	if (listed_upper && !has_u && !is_whiteout)
		return 0; /* removed by a running run during the scan */
	if (listed_upper)
		note_newest(s, u.ctime);
	/* A deleted entry of a directory without search permission is deleted
	 * together with the directory. Any other unknown entry is an error: it
	 * would be missing in the list. */
	if (has_l < 0 && !has_u && (is_whiteout || has_l != -EACCES))
		return fail_num(err, -has_l, "stat the original of %s",
				text_quote(buf_text(&s->path)));
	if (has_l < 0) {
		/* The real directory may have r without x for this user. */
		if (has_u)
			change_list_add(&s->list, buf_text(&s->path),
					CHANGE_MODIFIED,
					flags | CHANGE_UNREADABLE, NULL, &u);
		return 0;
	}
	if (!has_u && !has_l)
		return 0;
	if (has_u && has_l && (u.mode & S_IFMT) == (l.mode & S_IFMT))
		return scan_both_sided(s, &f, name, &u, &l, flags, err);
	return scan_one_sided(s, &f, name, has_u ? &u : NULL, has_l ? &l : NULL,
			      flags, err);
}

/* The next name of the innermost directory; NULL after the last one. */
static const char *next_frame_name(struct frame *f, bool *ret_upper)
{
	const char *u = f->u < f->upper_names.count
				? f->upper_names.items[f->u].name
				: NULL;
	const char *l = f->l < f->lower_names.count
				? f->lower_names.items[f->l].name
				: NULL;
	int order = u && l ? strcmp(u, l) : u ? -1 : 1;

	*ret_upper = u && order <= 0;
	if (u && order <= 0)
		f->u++;
	if (l && order >= 0)
		f->l++;
	return *ret_upper ? u : l;
}

static int scan_frames(struct scan *s, struct err *err)
{
	while (s->count) {
		struct frame *f = &s->items[s->count - 1];
		bool upper;
		const char *name = next_frame_name(f, &upper);
		int got = name ? resume_frame(s, f, err) : 0;

		if (!name || compare_is_gone(got)) {
			s->opened -= f->opened.fd > 0;
			frame_free(f);
			s->count--;
			continue;
		}
		if (got < 0)
			return err_context(err, "scan %s",
					   text_quote(buf_text(&s->path)));
		if (scan_layer_name(s, name, upper, err) < 0)
			return -err->num;
	}
	return 0;
}

static int start_scan(struct scan *s, struct err *err)
{
	struct pair p = {s->upper_fd, s->lower_fd, "", ""};
	struct difference d;

	if (meta_get(s->upper_fd, "", &p.u) < 0 ||
	    meta_get(s->lower_fd, "", &p.l) < 0)
		return fail_errno(err, "stat the layer");
	if (!S_ISDIR(p.u.mode) || !S_ISDIR(p.l.mode))
		return fail(err, ENOTDIR, "the layer is not a directory");
	timestamp_raise(&s->list.newest, p.u.ctime);
	/* All entries of a plain user's layer belong to this user. */
	if (s->uid != 0) {
		p.u.uid = p.l.uid;
		p.u.gid = p.l.gid;
	}
	set_scan_path(s, 0, "");
	if (compare_pair(&p, &d, err) < 0)
		return -err->num;
	add_difference(s, &p, &d, 0);
	if (push_frame(s, s->upper_fd, s->lower_fd, "", false, 0, &p.l, &p.u,
		       err) < 0)
		return -err->num;
	/* Without a frame the root itself is unreadable: push_frame() has set
	 * err. */
	return s->count ? 0 : -err->num;
}

/* The directories above the range's start belong to an earlier range. */
static void drop_before_range(struct change_list *list, const char *from)
{
	size_t n = 0, touched = 0;

	while (n < list->count && path_compare(list->items[n].path, from) < 0)
		n++;
	while (touched < list->touched_count &&
	       path_compare(list->touched[touched], from) < 0)
		touched++;
	list->count -= n;
	list->touched_count -= touched;
	if (n)
		memmove(list->items, list->items + n,
			list->count * sizeof(*list->items));
	if (touched)
		memmove(list->touched, list->touched + touched,
			list->touched_count * sizeof(*list->touched));
}

int scan_range(const struct scan_range *range, struct change_list *ret,
	       struct err *err)
{
	AUTO(scan)
	struct scan s = {.upper_fd = range->upper_fd,
			 .lower_fd = range->lower_fd,
			 .skip = range->skip,
			 .from = range->from,
			 .until = range->until,
			 .uid = geteuid(),
			 .gid = getegid()};

	if (start_scan(&s, err) < 0 || scan_frames(&s, err) < 0)
		return err_context(err, "scan the run's layer");
	if (s.from)
		drop_before_range(&s.list, s.from);
	/* The list already has the order of path_compare(): entries are read in
	 * the order of their names, and directories are entered at once. */
	*ret = s.list;
	s.list = (struct change_list){0};
	return 0;
}
