#include "overlay/submount_overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "overlay/whiteout.h"
#include "overlay/pre_copy_up.h"

#define LIST_MAX (64u << 20)
#define DEPTH_MAX 100

void submount_overlay_done(struct submount_overlay *p)
{
	mem_list_free(&p->dirs);
	mem_list_free(&p->skipped);
	buf_free(&p->copied);
}

static char *copied_list_name(const char *name)
{
	return mem_printf("placed-%s", name);
}

static bool holds_covered_point(const struct submount_overlay *p,
				const char *path)
{
	char *const *point;

	for (point = p->points; point && *point; point++)
		if (path_below(*point, path))
			return true;
	return false;
}

/* Copies an entry that is not a directory. Unreadable entries, and files above
 * the limits, are skipped. Returns 1 copied, 0 not, or a negative errno. */
static int copy_to_upper(struct submount_overlay *p, int upper, int lower,
			 const char *path, const struct meta *m,
			 struct err *err)
{
	bool fits =
		m->size <= p->file_max && m->size <= p->total_max - p->total;
	const char *name = path_name(path);
	struct err inner_err;
	int got = -EPERM;

	if (S_ISLNK(m->mode)) {
		got = pre_copy_up_link(upper, lower, name, m, &inner_err);
	} else if (S_ISREG(m->mode) && fits) {
		p->total += m->size;
		got = pre_copy_up_file(upper, lower, name, m, &inner_err);
	} else if (S_ISFIFO(m->mode)) {
		got = mkfifoat(upper, name, m->mode & 07777) < 0 ? -errno : 0;
	}
	if (got == -ENOSPC || got == -EDQUOT) {
		*err = inner_err;
		return got;
	}
	if (got < 0 && got != -ENOENT && !S_ISSOCK(m->mode))
		mem_list_add(&p->skipped, path);
	return got < 0 ? 0 : 1;
}

static int fill_upper_dir(struct submount_overlay *p, int upper, int lower,
			  const char *path, bool exists, int depth,
			  struct err *err);

/* A subdirectory: it gets an overlay, another mount covers it, or it is on the
 * way to such a mount. */
static int fill_subdir(struct submount_overlay *p, int upper, int lower,
		       const char *path, const struct meta *m, bool exists,
		       int depth, struct err *err)
{
	const char *name = path_name(path);
	auto_close int from = -1, to = -1;

	/* openat(2) enters a mount point: the run sees the root of the mount
	 * there. */
	from = fd_open_dir_path(lower, name);
	if (from < 0)
		return errno == ENOENT ? 0
				       : fail_errno(err, "open the directory");
	if (!exists && mkdirat(upper, name, 0700) < 0)
		return fail_errno(err, "create directory %s", text_quote(name));
	to = fd_open_dir(upper, name);
	/* In an earlier part of the run its command removed the permission, or
	 * replaced the directory. */
	if (to < 0)
		return exists ? 0
			      : fail_errno(err, "open %s", text_quote(name));
	if (!mem_list_has(p->points, path) && holds_covered_point(p, path))
		return fill_upper_dir(p, to, from, path, exists, depth + 1,
				      err);
	if (!exists && pre_copy_up_meta(from, to, m, err) < 0)
		return -err->num;
	if (!mem_list_has(p->points, path))
		mem_list_add(&p->dirs, path);
	return 0;
}

static int fill_upper_entry(struct submount_overlay *p, int upper, int lower,
			    const char *path, int depth, struct err *err)
{
	const char *name = path_name(path);
	struct meta l, u;
	bool exists;
	int got = 1;

	if (meta_get(lower, name, &l) < 0)
		return errno == ENOENT
			       ? 0
			       : fail_errno(err, "%s", text_quote(path));
	exists = meta_get(upper, name, &u) == 0;
	if (exists && whiteout_is(&u)) {
		/* A whiteout from an earlier part of the run:
		 * submount_overlay_add_whiteouts() creates it again. */
		if (unlinkat(upper, name, 0) < 0)
			return fail_errno(err, "%s", text_quote(path));
	} else if (S_ISDIR(l.mode)) {
		if (!exists || S_ISDIR(u.mode))
			got = fill_subdir(p, upper, lower, path, &l, exists,
					  depth, err);
		if (got == 0)
			got = 1;
	} else if (!exists) {
		got = copy_to_upper(p, upper, lower, path, &l, err);
	}
	if (got > 0)
		buf_add(&p->copied, path, strlen(path) + 1);
	return got < 0 ? err_context(err, "%s", text_quote(path)) : 0;
}

static int fill_upper_dir(struct submount_overlay *p, int upper, int lower,
			  const char *path, bool exists, int depth,
			  struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int dir = fd_reopen(lower, O_RDONLY | O_DIRECTORY);
	struct meta m;
	size_t i;

	if (depth > DEPTH_MAX)
		return fail(err, ENAMETOOLONG,
			    "it has a mount that is nested too deeply");
	if (dir < 0 || meta_get(dir, "", &m) < 0)
		return fail_errno(err, "list its entries");
	if (dirlist_read(dir, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		auto_free char *below = path_join(path, list.items[i].name);

		if (fill_upper_entry(p, upper, dir, below, depth, err) < 0)
			return -err->num;
	}
	/* A continued run keeps its changes to the directory. */
	return exists ? 0 : pre_copy_up_meta(dir, upper, &m, err);
}

int submount_overlay_fill(struct submount_overlay *p, struct err *err)
{
	auto_close int upper = fd_reopen(p->upper_fd, O_RDONLY | O_DIRECTORY);
	auto_free char *name = copied_list_name(p->name);

	if (upper < 0)
		return fail_errno(err, "open the layer");
	if (fill_upper_dir(p, upper, p->lower_fd, "", !p->first, 0, err) < 0)
		return -err->num;
	return atomic_write(p->session_fd, name, p->copied.data, p->copied.len,
			    0600, ATOMIC_NO_SYNC, err);
}

static int add_whiteout_if_deleted(int upper_fd, const char *path,
				   struct err *err)
{
	const char *name;
	auto_close int dir = beneath_parent(upper_fd, path, &name, err);
	struct meta m;

	/* A parent directory is deleted as well and has the whiteout. */
	if (dir == -ENOENT || dir == -ENOTDIR)
		return 0;
	if (dir < 0)
		return dir;
	if (meta_get(dir, name, &m) == 0)
		return 0;
	return whiteout_create(dir, name, err);
}

int submount_overlay_add_whiteouts(int session_fd, const char *name,
				   int upper_fd, struct err *err)
{
	auto_free char *list = copied_list_name(name);
	AUTO(buf) struct buf b = {0};
	const char *path, *end;
	int got = fd_slurp_at(session_fd, list, LIST_MAX, &b, err);

	if (got < 0)
		return got == -ENOENT ? 0 : got;
	path = (const char *)b.data;
	for (end = path + b.len; path < end; path += strlen(path) + 1)
		if (memchr(path, '\0', (size_t)(end - path)) &&
		    add_whiteout_if_deleted(upper_fd, path, err) < 0)
			return err_context(err, "%s", text_quote(path));
	if (unlinkat(session_fd, list, 0) < 0 && errno != ENOENT)
		return fail_errno(err, "%s", list);
	return 0;
}
