#include "overlay/patchwork.h"

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

void patchwork_done(struct patchwork *p)
{
	mem_list_free(&p->folders);
	mem_list_free(&p->left);
	buf_free(&p->placed);
}

static char *list_name(const char *name)
{
	return mem_printf("placed-%s", name);
}

static bool is_point(const struct patchwork *p, const char *path)
{
	char *const *point;

	for (point = p->points; point && *point; point++)
		if (strcmp(*point, path) == 0)
			return true;
	return false;
}

static bool holds_point(const struct patchwork *p, const char *path)
{
	char *const *point;

	for (point = p->points; point && *point; point++)
		if (path_below(*point, path))
			return true;
	return false;
}

static bool fits(struct patchwork *p, const struct meta *m)
{
	if (m->size > p->file_max || m->size > p->total_max - p->total)
		return false;
	p->total += m->size;
	return true;
}

/* Anything but a folder. What cannot be read or does not fit is left out. */
static int place_other(struct patchwork *p, int upper, int lower,
		       const char *path, const struct meta *m, struct err *err)
{
	const char *name = path_name(path);
	struct err odd;
	int got = -EPERM;

	if (S_ISLNK(m->mode))
		got = pre_copy_up_link(upper, lower, name, m, &odd);
	else if (S_ISREG(m->mode) && fits(p, m))
		got = pre_copy_up_file(upper, lower, name, m, &odd);
	else if (S_ISFIFO(m->mode))
		got = mkfifoat(upper, name, m->mode & 07777) < 0 ? -errno : 0;
	if (got == -ENOSPC || got == -EDQUOT) {
		*err = odd;
		return got;
	}
	if (got < 0 && got != -ENOENT && !S_ISSOCK(m->mode))
		mem_list_add(&p->left, path);
	return got < 0 ? 0 : 1;
}

static int place_folder(struct patchwork *p, int upper, int lower,
			const char *path, bool there, int depth,
			struct err *err);

/* A folder below: its own overlay, somebody else's, or on the way to one. */
static int enter(struct patchwork *p, int upper, int lower, const char *path,
		 const struct meta *m, bool there, int depth, struct err *err)
{
	const char *name = path_name(path);
	auto_close int from = -1, to = -1;

	/* Through a mount point, too: its root is what is seen there. */
	from = openat(lower, name,
		      O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (from < 0)
		return errno == ENOENT ? 0 : fail_errno(err, "open it");
	if (!there && mkdirat(upper, name, 0700) < 0)
		return fail_errno(err, "make folder %s", text_quote(name));
	to = openat(upper, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* The run has taken the right away, or put something else there. */
	if (to < 0)
		return there ? 0 : fail_errno(err, "open %s", text_quote(name));
	if (!is_point(p, path) && holds_point(p, path))
		return place_folder(p, to, from, path, there, depth + 1, err);
	if (!there && pre_copy_up_meta(from, to, m, err) < 0)
		return -err->num;
	if (!is_point(p, path))
		mem_list_add(&p->folders, path);
	return 0;
}

static int place_one(struct patchwork *p, int upper, int lower,
		     const char *path, int depth, struct err *err)
{
	const char *name = path_name(path);
	struct meta l, u;
	bool there;
	int got = 1;

	if (meta_get(lower, name, &l) < 0)
		return errno == ENOENT
			       ? 0
			       : fail_errno(err, "%s", text_quote(path));
	there = meta_get(upper, name, &u) == 0;
	if (there && whiteout_is(&u)) {
		/* Deleted earlier: settled anew in the end. */
		if (unlinkat(upper, name, 0) < 0)
			return fail_errno(err, "%s", text_quote(path));
	} else if (S_ISDIR(l.mode)) {
		if (!there || S_ISDIR(u.mode))
			got = enter(p, upper, lower, path, &l, there, depth,
				    err);
		if (got == 0)
			got = 1;
	} else if (!there) {
		got = place_other(p, upper, lower, path, &l, err);
	}
	if (got > 0)
		buf_add(&p->placed, path, strlen(path) + 1);
	return got < 0 ? err_context(err, "%s", text_quote(path)) : 0;
}

static int place_folder(struct patchwork *p, int upper, int lower,
			const char *path, bool there, int depth,
			struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int dir = fd_reopen(lower, O_RDONLY | O_DIRECTORY);
	struct meta m;
	size_t i;

	if (depth > DEPTH_MAX)
		return fail(err, ENAMETOOLONG, "a mount too deep in it");
	if (dir < 0 || meta_get(dir, "", &m) < 0)
		return fail_errno(err, "list it");
	if (dirlist_read(dir, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		auto_free char *below = path_join(path, list.items[i].name);

		if (place_one(p, upper, dir, below, depth, err) < 0)
			return -err->num;
	}
	/* One that goes on keeps what the run did to it. */
	return there ? 0 : pre_copy_up_meta(dir, upper, &m, err);
}

int patchwork_place(struct patchwork *p, struct err *err)
{
	auto_close int upper = fd_reopen(p->upper_fd, O_RDONLY | O_DIRECTORY);
	auto_free char *name = list_name(p->name);

	if (upper < 0)
		return fail_errno(err, "open the layer");
	if (place_folder(p, upper, p->lower_fd, "", !p->first, 0, err) < 0)
		return -err->num;
	return atomic_write(p->session_fd, name, p->placed.data, p->placed.len,
			    0600, ATOMIC_NO_SYNC, err);
}

static int settle_one(int upper_fd, const char *path, struct err *err)
{
	const char *name;
	auto_close int dir = beneath_parent(upper_fd, path, &name, err);
	struct meta m;

	/* Gone with a folder above it, which has the mark. */
	if (dir == -ENOENT || dir == -ENOTDIR)
		return 0;
	if (dir < 0)
		return dir;
	if (meta_get(dir, name, &m) == 0)
		return 0;
	return whiteout_create(dir, name, err);
}

int patchwork_settle(int session_fd, const char *name, int upper_fd,
		     struct err *err)
{
	auto_free char *list = list_name(name);
	AUTO(buf) struct buf b = {0};
	const char *path, *end;
	int got = fd_slurp_at(session_fd, list, LIST_MAX, &b, err);

	if (got < 0)
		return got == -ENOENT ? 0 : got;
	path = (const char *)b.data;
	for (end = path + b.len; path < end; path += strlen(path) + 1)
		if (memchr(path, '\0', (size_t)(end - path)) &&
		    settle_one(upper_fd, path, err) < 0)
			return err_context(err, "%s", text_quote(path));
	if (unlinkat(session_fd, list, 0) < 0 && errno != ENOENT)
		return fail_errno(err, "%s", list);
	return 0;
}
