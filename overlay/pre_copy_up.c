#include "overlay/pre_copy_up.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
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
#include "overlay/whiteout.h"

/* Limits of inspected and copied entries: the start of a run must not take
 * long. */
#define ENTRIES_MAX 200000
#define FILES_MAX 4096
#define BYTES_MAX (64u << 20)
#define DEPTH_MAX 128

struct pre_copy_up {
	int upper_fd, lower_fd;
	gid_t *groups;
	int group_count;
	uint64_t entries, files, bytes;
	/* entries of another group that were not copied */
	uint64_t skipped_count;
	bool truncated; /* not all entries were inspected */
};

static void pre_copy_up_free(struct pre_copy_up *p)
{
	free(p->groups);
}

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

/* Whether the entry has a group of the user other than the run's group. An
 * entry of another user counts only when its group may write it. */
static bool is_other_group(const struct pre_copy_up *p, const struct meta *m)
{
	int i;

	if (m->gid == getegid() ||
	    (m->uid != geteuid() && !(m->mode & S_IWGRP)))
		return false;
	for (i = 0; i < p->group_count; i++)
		if (p->groups[i] == m->gid)
			return true;
	return false;
}

/* Opens the directory `path` in the upper. A missing directory is created, with
 * all missing parents, and gets the lower's metadata. */
static int make_upper_dir(struct pre_copy_up *p, const char *path,
			  struct err *err)
{
	auto_close int above = -1, made = -1, lower = -1;
	auto_free char *parent = NULL;
	struct meta m;
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
	if (meta_get(lower, "", &m) < 0 ||
	    mkdirat(above, path_name(path), 0700) < 0)
		return fail_errno(err, "create directory %s", text_quote(path));
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

static bool copy_group_file(struct pre_copy_up *p, int lower,
			    const char *dir_path, const char *name,
			    const struct meta *m)
{
	auto_close int dir = -1, lower_dir = -1;
	struct err inner_err;
	struct meta above;

	if (p->files >= FILES_MAX || m->size > BYTES_MAX - p->bytes)
		return false;
	dir = make_upper_dir(p, dir_path, &inner_err);
	if (dir < 0 || pre_copy_up_file(dir, lower, name, m, &inner_err) < 0)
		return false;
	/* The new link changed the directory's mtime. */
	lower_dir = beneath_open(p->lower_fd, dir_path, O_PATH | O_DIRECTORY, 0,
				 &inner_err);
	if (lower_dir >= 0 && meta_get(lower_dir, "", &above) == 0)
		(void)meta_set_time(dir, "", above.mtime);
	p->files++;
	p->bytes += m->size;
	return true;
}

static void walk_group_dir(struct pre_copy_up *p, int dir, const char *path,
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
		struct meta m;

		p->truncated = p->entries++ >= ENTRIES_MAX;
		if (p->truncated || meta_get(dir, name, &m) < 0)
			continue;
		if (S_ISREG(m.mode) && is_other_group(p, &m) &&
		    !copy_group_file(p, dir, path, name, &m))
			p->skipped_count++;
		if (!S_ISDIR(m.mode))
			continue;
		if (is_other_group(p, &m)) {
			made = make_upper_dir(p, below, &ignored);
			p->skipped_count += made < 0;
		}
		fd = beneath_open(dir, name, O_RDONLY | O_DIRECTORY, 0,
				  &ignored);
		if (fd >= 0)
			walk_group_dir(p, fd, below, depth + 1);
	}
}

bool pre_copy_up_list_groups(gid_t **ret, int *ret_count)
{
	int i, count = getgroups(0, NULL);
	bool other = false;

	*ret = NULL;
	*ret_count = 0;
	if (count <= 0 || geteuid() == 0)
		return false;
	*ret = mem_alloc((size_t)count * sizeof(**ret));
	*ret_count = count = getgroups(count, *ret);
	for (i = 0; i < count; i++)
		other = other || (*ret)[i] != getegid();
	return other;
}

int pre_copy_up_groups(int upper_fd, int lower_fd, const char *path,
		       struct buf *notes, struct err *err)
{
	AUTO(pre_copy_up)
	struct pre_copy_up p = {.upper_fd = upper_fd, .lower_fd = lower_fd};
	auto_close int dir = -1;

	if (!pre_copy_up_list_groups(&p.groups, &p.group_count))
		return 0;
	dir = fd_reopen(lower_fd, O_RDONLY | O_DIRECTORY);
	if (dir < 0)
		return fail_errno(err, "list %s", text_quote(path));
	walk_group_dir(&p, dir, "", 0);
	if (p.skipped_count)
		buf_printf(notes,
			   "%s: %s of another group cannot be written in the "
			   "run (too many or too large to be copied)\n",
			   text_quote(path),
			   text_count(p.skipped_count, "entry"));
	if (p.truncated)
		buf_printf(notes,
			   "%s: too many entries to inspect: files of another "
			   "group may not be writable in the run\n",
			   text_quote(path));
	return 0;
}
