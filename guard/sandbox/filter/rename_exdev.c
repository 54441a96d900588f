#include "guard/sandbox/filter/rename_exdev.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/text.h"
#include "base/dirtree.h"

static int rename_to_target(const struct exdev_rename *m, const char *from,
			    int from_fd)
{
	unsigned int flags = m->no_replace ? RENAME_NOREPLACE : 0;

	return renameat2(from_fd, from, m->to_fd, m->to, flags) < 0 ? -errno
								    : 0;
}

/* Checks that the kernel skips after overlayfs has refused; they save a useless
 * copy. */
static int check_rename_target(const struct exdev_rename *m)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int fd = -1;
	struct stat st;
	struct err err;

	if (fstatat(m->to_fd, m->to, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (m->no_replace)
		return -EEXIST;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	fd = beneath_open(m->to_fd, m->to, O_RDONLY | O_DIRECTORY, 0, &err);
	if (fd < 0 || dirlist_read(fd, &list, &err) < 0)
		return -EXDEV;
	return list.count ? -ENOTEMPTY : 0;
}

static int undo_copied_tree(const struct exdev_rename *m, int num)
{
	struct err ignored;

	(void)dirtree_remove(m->to_fd, m->temporary, &ignored);
	return num;
}

/* True if a file was written after it was copied: then the original is the
 * current version. A linked file has two names and needs no check. */
static bool was_written_since(int in, const char *name,
			      const struct timespec *began)
{
	struct stat st;

	return fstatat(in, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode) && st.st_nlink == 1 &&
	       (st.st_ctim.tv_sec > began->tv_sec ||
		(st.st_ctim.tv_sec == began->tv_sec &&
		 st.st_ctim.tv_nsec >= began->tv_nsec));
}

static int move_late_entry(int in, int out, const char *name,
			   const struct timespec *began)
{
	if (was_written_since(in, name, began))
		return renameat(in, name, out, name);
	if (linkat(in, name, out, name, 0) < 0 && errno != EEXIST)
		return -1;
	return unlinkat(in, name, 0);
}

/* Empties and removes the source tree. Entries that appeared after the copy
 * move to the target; entries that cannot move stay, so that nothing is
 * lost. */
static int remove_source_tree(int from_fd, const char *from, int to_fd,
			      const char *to, const struct timespec *began,
			      struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int in =
		beneath_open(from_fd, from, O_RDONLY | O_DIRECTORY, 0, err);
	auto_close int out = -1;
	size_t i;

	if (in < 0)
		return in;
	out = beneath_open(to_fd, to, O_RDONLY | O_DIRECTORY, 0, err);
	if (out < 0)
		return out;
	/* A directory without write permission for its owner. */
	if (faccessat(in, ".", W_OK, AT_EACCESS) < 0)
		(void)fchmod(in, 0700);
	if (dirlist_read(in, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;

		if (list.items[i].type == DT_DIR) {
			(void)mkdirat(out, name, 0700);
			if (remove_source_tree(in, name, out, name, began,
					       err) < 0)
				return -err->num;
		} else if (move_late_entry(in, out, name, began) < 0) {
			return fail_errno(err, "%s", text_quote(name));
		}
	}
	if (unlinkat(from_fd, from, AT_REMOVEDIR) < 0)
		return fail_errno(err, "%s", text_quote(from));
	return 0;
}

int rename_exdev(const struct exdev_rename *m)
{
	struct timespec began; /* same clock as the files' times */
	struct err err;
	int rc = rename_to_target(m, m->from, m->from_fd);

	if (rc != -EXDEV)
		return rc;
	rc = check_rename_target(m);
	if (rc < 0)
		return rc;
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &began);
	if (copytree(m->from_fd, m->from, m->to_fd, m->temporary, &m->how,
		     &err) < 0)
		return undo_copied_tree(m, err.num == EINTR ? -EINTR : -EXDEV);
	if (!m->how.keep_on(m->how.arg))
		return undo_copied_tree(m, -EINTR);
	rc = rename_to_target(m, m->temporary, m->to_fd);
	if (rc < 0)
		return undo_copied_tree(m, rc);
	/* The rename is complete and visible; the rest is cleanup. */
	(void)remove_source_tree(m->from_fd, m->from, m->to_fd, m->to, &began,
				 &err);
	return 0;
}
