#include "overlay/pre_copy_up.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/copybytes.h"
#include "base/fd.h"
#include "base/meta.h"
#include "base/path.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "overlay/temp_chmod.h"
#include "overlay/whiteout.h"

/* Limits of inspected and copied entries: the start of a run must not take
 * long. */
#define ENTRIES_MAX 200000
#define FILES_MAX 4096
#define BYTES_MAX (64u << 20)
#define DEPTH_MAX 128

struct pre_copy_up {
	int upper_fd; /* -1: entries are counted, not copied */
	int lower_fd;
	uid_t uid;
	gid_t gid;
	uint64_t entries, files, bytes;
	uint64_t skipped_count; /* entries that were not copied */
	bool truncated; /* not all entries were inspected */
};

/*
 * The group of an entry's copy in the layer. A setgid directory gets the user's
 * primary group (-1: no change): with a group that the run's namespace does not
 * map, overlayfs cannot open a new file of mode 0444 for writing, and git
 * creates such files. The scan and the run's result restore the real group.
 */
static gid_t layer_group(const struct meta *m)
{
	return geteuid() != 0 && S_ISDIR(m->mode) && (m->mode & S_ISGID)
		       ? (gid_t)-1
		       : m->gid;
}

/* Times are set last: all other calls change them. */
int pre_copy_up_meta(int from, int to, const struct meta *m, struct err *err)
{
	AUTO(xattrs) struct xattrs x = {0};
	struct err inner_err;

	if (xattrs_get(from, "", &x, err) < 0)
		return -err->num;
	(void)xattrs_remove_prefix(&x, "trusted.");
	(void)xattrs_remove_prefix(&x, "security.");
	(void)xattrs_remove_prefix(&x, LAYER_XATTR_PREFIX);
	/* A copy of another user's entry belongs to the user instead. */
	if (fchown(to, m->uid, layer_group(m)) < 0 &&
	    (errno != EPERM ||
	     (fchown(to, (uid_t)-1, layer_group(m)) < 0 && errno != EPERM)))
		return fail_errno(err, "set owner");
	/* Setting xattrs needs write permission. Xattrs that the state's file
	 * system does not support are skipped. */
	if (fchmod(to, (m->mode & 07777) | 0700) < 0)
		return fail_errno(err, "set mode");
	if (xattrs_set(to, &x, &inner_err) < 0 && inner_err.num != EPERM &&
	    inner_err.num != ENOTSUP) {
		*err = inner_err;
		return -err->num;
	}
	if (fchmod(to, m->mode & 07777) < 0)
		return fail_errno(err, "set mode");
	if (meta_set_time(to, "", m->mtime) < 0)
		return fail_errno(err, "set times");
	return 0;
}

int pre_copy_up_root(int upper_fd, int lower_fd, struct err *err)
{
	auto_close int upper = fd_reopen(upper_fd, O_RDONLY | O_DIRECTORY);
	struct meta m;

	if (upper < 0 || meta_get(lower_fd, "", &m) < 0 ||
	    pre_copy_up_meta(lower_fd, upper, &m, err) < 0)
		return upper < 0 ? fail_errno(err, "prepare the layer")
				 : err_context(err, "prepare the layer");
	return 0;
}

/* Whether the user may write the entry, which the kernel cannot copy up. */
static bool needs_copy(const struct pre_copy_up *p, int dir, const char *name,
		       const struct meta *m)
{
	return meta_foreign(m, p->uid, p->gid) &&
	       (m->uid == p->uid ||
		faccessat(dir, name, W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) ==
			0);
}

/* The upper directory (O_PATH) of path, in which an entry is created; the copy
 * of a read-only directory is writable until then. */
struct writable_dir {
	const struct pre_copy_up *p;
	int fd;
	const char *path;
	struct temp_chmod opened;
};

static void writable_dir_begin(struct writable_dir *w)
{
	struct err ignored;
	int fd;

	w->opened.fd = -1;
	if (faccessat(w->fd, ".", W_OK | X_OK, AT_EACCESS) == 0)
		return;
	fd = temp_chmod_open(w->fd, O_RDONLY | O_DIRECTORY, 0700, &w->opened,
			     &ignored);
	fd_close(&fd);
}

/* The new entry has changed the directory's mtime. */
static void writable_dir_end(struct writable_dir *w)
{
	struct err ignored;
	auto_close int lower = beneath_open(w->p->lower_fd, w->path,
					    O_PATH | O_DIRECTORY, 0, &ignored);
	struct meta m;

	temp_chmod_free(&w->opened);
	if (lower >= 0 && meta_get(lower, "", &m) == 0)
		(void)meta_set_time(w->fd, "", m.mtime);
}

/* Opens the directory `path` in the upper. A missing directory is created, with
 * all missing parents, and gets the lower's metadata. */
static int make_upper_dir(struct pre_copy_up *p, const char *path,
			  struct err *err)
{
	auto_close int above = -1, made = -1, lower = -1;
	auto_free char *parent = NULL;
	struct writable_dir w = {.p = p};
	struct meta m;
	int got;
	int fd = beneath_open(p->upper_fd, path, O_PATH | O_DIRECTORY, 0, err);

	if (fd != -ENOENT || !*path)
		return fd;
	parent = path_parent(path);
	above = make_upper_dir(p, parent, err);
	if (above < 0)
		return above;
	lower = beneath_open(p->lower_fd, path, O_PATH | O_DIRECTORY, 0, err);
	if (lower < 0)
		return lower;
	if (meta_get(lower, "", &m) < 0)
		return fail_errno(err, "stat %s", text_quote(path));
	w.fd = above;
	w.path = parent;
	writable_dir_begin(&w);
	got = mkdirat(above, path_name(path), 0700) < 0
		      ? fail_errno(err, "create directory %s", text_quote(path))
		      : 0;
	writable_dir_end(&w);
	if (got < 0)
		return got;
	made = beneath_open(above, path_name(path), O_RDONLY | O_DIRECTORY, 0,
			    err);
	if (made < 0 || pre_copy_up_meta(lower, made, &m, err) < 0)
		return -err->num;
	return TAKE_FD(made);
}

/* The copy gets its name only when it is complete: O_TMPFILE, then
 * linkat(2). */
int pre_copy_up_file(int dir, int lower, const char *name, const struct meta *m,
		     struct err *err)
{
	auto_close int from =
		beneath_open(lower, name, O_RDONLY | O_NONBLOCK, 0, err);
	auto_close int to = -1;
	struct meta after;

	if (from < 0)
		return from;
	to = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (to < 0)
		return fail_errno(err, "copy");
	if (copybytes(from, to, (off_t)m->size, NULL, NULL, err) < 0 ||
	    pre_copy_up_meta(from, to, m, err) < 0)
		return -err->num;
	if (meta_get(from, "", &after) < 0 || !meta_same(m, &after))
		return fail(err, EAGAIN,
			    "it changed during the command: try again");
	if (linkat(AT_FDCWD, fd_proc_path(to).text, dir, name,
		   AT_SYMLINK_FOLLOW) < 0)
		return fail_errno(err, "copy");
	return 0;
}

int pre_copy_up_link(int dir, int lower, const char *name, const struct meta *m,
		     struct err *err)
{
	auto_free char *text = mem_alloc(m->size + 2);
	ssize_t len = readlinkat(lower, name, text, m->size + 1);

	if (len < 0)
		return fail_errno(err, "read link %s", text_quote(name));
	text[len] = '\0';
	if (symlinkat(text, dir, name) < 0)
		return fail_errno(err, "copy link %s", text_quote(name));
	(void)meta_set_time(dir, name, m->mtime);
	return 0;
}

static bool copy_foreign(struct pre_copy_up *p, int lower, const char *dir_path,
			 const char *name, const struct meta *m)
{
	/* Half of the limit is for files that the user can write now: the
	 * objects of a repository are read-only. */
	uint64_t files_max = m->mode & S_IWUSR ? FILES_MAX : FILES_MAX / 2;
	auto_close int dir = -1;
	struct writable_dir w = {.p = p, .path = dir_path};
	struct err inner_err;
	int got;

	if (p->files >= files_max || m->size > BYTES_MAX - p->bytes)
		return false;
	dir = make_upper_dir(p, dir_path, &inner_err);
	if (dir < 0)
		return false;
	w.fd = dir;
	writable_dir_begin(&w);
	got = (S_ISLNK(m->mode) ? pre_copy_up_link : pre_copy_up_file)(
		dir, lower, name, m, &inner_err);
	writable_dir_end(&w);
	if (got < 0)
		return false;
	p->files++;
	p->bytes += m->size;
	return true;
}

static void walk_foreign(struct pre_copy_up *p, int dir, const char *path,
			 int depth)
{
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	size_t i;

	if (depth > DEPTH_MAX) {
		p->truncated = true;
		return;
	}
	if (dirlist_read(dir, &list, &ignored) < 0)
		return;
	for (i = 0; i < list.count && !p->truncated; i++) {
		const char *name = list.items[i].name;
		auto_free char *below = path_join(path, name);
		auto_close int made = -1, fd = -1;
		bool foreign;
		struct meta m;

		p->truncated = p->entries++ >= ENTRIES_MAX;
		if (p->truncated || meta_get(dir, name, &m) < 0)
			continue;
		foreign = needs_copy(p, dir, name, &m);
		if (p->upper_fd < 0) {
			p->skipped_count += foreign && m.uid == p->uid &&
					    !group_member(m.gid);
			foreign = false;
		}
		if (foreign && (S_ISREG(m.mode) || S_ISLNK(m.mode)) &&
		    !copy_foreign(p, dir, path, name, &m))
			p->skipped_count++;
		if (!S_ISDIR(m.mode))
			continue;
		if (foreign) {
			made = make_upper_dir(p, below, &ignored);
			p->skipped_count += made < 0;
		}
		fd = beneath_open(dir, name, O_RDONLY | O_DIRECTORY, 0,
				  &ignored);
		if (fd >= 0)
			walk_foreign(p, fd, below, depth + 1);
	}
}

uint64_t pre_copy_up_count(int lower_fd)
{
	struct pre_copy_up p = {.upper_fd = -1,
				.lower_fd = lower_fd,
				.uid = geteuid(),
				.gid = getegid()};

	if (p.uid != 0)
		walk_foreign(&p, lower_fd, "", 0);
	return p.skipped_count;
}

int pre_copy_up_foreign(int upper_fd, int lower_fd, const char *path,
			struct buf *notes, struct err *err)
{
	struct pre_copy_up p = {.upper_fd = upper_fd,
				.lower_fd = lower_fd,
				.uid = geteuid(),
				.gid = getegid()};
	auto_close int dir = -1;

	if (p.uid == 0)
		return 0;
	dir = fd_reopen(lower_fd, O_RDONLY | O_DIRECTORY);
	if (dir < 0)
		return fail_errno(err, "list %s", text_quote(path));
	walk_foreign(&p, dir, "", 0);
	if (p.skipped_count || p.truncated)
		buf_printf(
			notes,
			"%s: %s%s of other groups or users cannot be written "
			"in the run (too many or too large to be copied); "
			"chgrp -R %u %s changes the group of your files\n",
			text_quote(path),
			p.truncated ? "probably more than " : "",
			text_count(p.skipped_count, "entry"), p.gid,
			text_quote(path));
	return 0;
}
