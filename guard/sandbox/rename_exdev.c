#include "guard/sandbox/rename_exdev.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/copybytes.h"
#include "base/dirtree.h"
#include "base/meta.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"

#define DEPTH_MAX 150
#define BUCKETS 4096
/* link(2) makes overlayfs copy a lower file up, which cannot be interrupted. */
#define LINK_MAX_BYTES ((off_t)64 << 20)

/* The first copied name of a file with hard links. */
struct link {
	dev_t dev;
	ino_t ino;
	char *path; /* relative to the copy's root */
	size_t next; /* index of the next one in the bucket, plus 1 */
};

struct copytree_state {
	const struct copytree_options *options;
	int root_fd; /* the copy's root directory */
	VEC(struct link) links;
	size_t heads[BUCKETS];
};

static int copytree_dir(struct copytree_state *c, int from, int to,
			const char *path, unsigned int depth, struct err *err);

/* ---- metadata ---- */

/* to_fd is open for reading, not O_PATH. The times come last, since all other
 * calls change them. */
static int copytree_meta(int from_fd, const struct stat *st, int to_fd,
			 struct err *err)
{
	struct timespec times[2] = {st->st_atim, st->st_mtim};
	AUTO(xattrs) struct xattrs x = {0};
	struct stat now;

	if (fstat(to_fd, &now) < 0)
		return fail_errno(err, "copy");
	if ((now.st_uid != st->st_uid || now.st_gid != st->st_gid) &&
	    fchown(to_fd, st->st_uid, st->st_gid) < 0)
		return fail(err, EXDEV, "an owner that cannot be set");
	if (xattrs_get(from_fd, "", &x, err) < 0 ||
	    xattrs_set(to_fd, &x, err) < 0)
		return -err->num;
	if (fchmod(to_fd, st->st_mode & 07777) < 0 || fstat(to_fd, &now) < 0)
		return fail_errno(err, "copy the mode");
	/* The kernel silently drops setuid and setgid bits that this user may
	 * not set. */
	if (now.st_mode != st->st_mode)
		return fail(err, EXDEV, "a mode that cannot be set");
	if (futimens(to_fd, times) < 0)
		return fail_errno(err, "copy the times");
	return 0;
}

/* ---- contents ---- */

static int copytree_file(struct copytree_state *c, int from, const char *name,
			 int to, struct err *err)
{
	auto_close int in =
		beneath_open(from, name, O_RDONLY | O_NONBLOCK, 0, err);
	auto_close int out = -1;
	struct stat st;

	if (in < 0)
		return in;
	if (fstat(in, &st) < 0 || !S_ISREG(st.st_mode))
		return fail(err, EXDEV, "%s was replaced", text_quote(name));
	out = openat(to, name,
		     O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out < 0)
		return fail_errno(err, "create %s", text_quote(name));
	if (copybytes(in, out, st.st_size, c->options->keep_on, c->options->arg,
		      err) < 0)
		return -err->num;
	return copytree_meta(in, &st, out, err);
}

/* ---- hard links ---- */

static size_t *link_bucket(struct copytree_state *c, const struct stat *st)
{
	return &c->heads[(st->st_ino ^ st->st_dev) % BUCKETS];
}

static const char *find_link(struct copytree_state *c, const struct stat *st)
{
	size_t i;

	for (i = *link_bucket(c, st); i; i = c->links.items[i - 1].next)
		if (c->links.items[i - 1].ino == st->st_ino &&
		    c->links.items[i - 1].dev == st->st_dev)
			return c->links.items[i - 1].path;
	return NULL;
}

static void add_link(struct copytree_state *c, const struct stat *st,
		     const char *path)
{
	size_t *head = link_bucket(c, st);

	*VEC_ADD(&c->links) = (struct link){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.path = mem_strdup(path),
		.next = *head,
	};
	*head = c->links.count;
}

/* ---- entries other than directories ---- */

static int link_or_copy(struct copytree_state *c, int from, const char *name,
			const struct stat *st, int to, struct err *err)
{
	bool file = S_ISREG(st->st_mode), single = file && st->st_nlink == 1;
	int rc;

	if (single && st->st_size > LINK_MAX_BYTES)
		return copytree_file(c, from, name, to, err);
	/* A copy instead of a link: a link makes overlayfs copy the file up and
	 * sync it. Without a writer the two cannot be told apart. */
	if (single && st->st_ctim.tv_sec < c->options->unwritten_before) {
		rc = copytree_file(c, from, name, to, err);
		if (rc == 0 || rc == -EINTR)
			return rc;
		(void)unlinkat(to, name, 0);
	}
	if (linkat(from, name, to, name, 0) == 0)
		return 0;
	if (!file)
		return fail_errno(err, "link %s", text_quote(name));
	return copytree_file(c, from, name, to, err);
}

/* Hard links of a lower file stay one file in the copy. overlayfs itself would
 * break them into separate files. */
static int link_or_copy_hardlink(struct copytree_state *c, int from,
				 const char *name, const struct stat *st,
				 int to, const char *path, struct err *err)
{
	const char *first = find_link(c, st);
	int rc;

	if (first)
		return linkat(c->root_fd, first, to, name, 0) < 0
			       ? fail_errno(err, "link %s", text_quote(name))
			       : 0;
	rc = link_or_copy(c, from, name, st, to, err);
	if (rc == 0)
		add_link(c, st, path);
	return rc;
}

/* ---- directories ---- */

static int copytree_entry(struct copytree_state *c, int from, const char *name,
			  int to, const char *parent, unsigned int depth,
			  struct err *err)
{
	auto_free char *path = path_join(parent, name);
	auto_close int in = -1, out = -1;
	struct stat st;

	if (!c->options->keep_on(c->options->arg))
		return fail(err, EINTR, "interrupted");
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail_errno(err, "%s", text_quote(name));
	if (!S_ISDIR(st.st_mode) && st.st_nlink > 1)
		return link_or_copy_hardlink(c, from, name, &st, to, path, err);
	if (!S_ISDIR(st.st_mode))
		return link_or_copy(c, from, name, &st, to, err);
	in = beneath_open(from, name, O_RDONLY | O_DIRECTORY, 0, err);
	if (in < 0)
		return in;
	if (mkdirat(to, name, 0700) < 0)
		return fail_errno(err, "create %s", text_quote(name));
	out = beneath_open(to, name, O_RDONLY | O_DIRECTORY, 0, err);
	if (out < 0)
		return out;
	return copytree_dir(c, in, out, path, depth + 1, err);
}

static int copytree_dir(struct copytree_state *c, int from, int to,
			const char *path, unsigned int depth, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	struct stat st;
	size_t i;

	if (depth > DEPTH_MAX)
		return fail(err, EXDEV, "nested too deeply");
	if (fstat(from, &st) < 0 || dirlist_read(from, &list, err) < 0)
		return fail_errno(err, "read a directory");
	/* The source is emptied later, by its owner or a user with write
	 * permission. */
	if (st.st_uid != geteuid() &&
	    faccessat(from, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return fail(err, EXDEV, "a directory that cannot be emptied");
	for (i = 0; i < list.count; i++)
		if (copytree_entry(c, from, list.items[i].name, to, path, depth,
				   err) < 0)
			return err_context(err, "%s",
					   text_quote(list.items[i].name));
	return copytree_meta(from, &st, to, err);
}

/* Creates the tree to_name in to_fd, which must not exist, from the directory
 * name in from_fd. On error the incomplete tree stays and the caller removes
 * it. Errors: any; -EINTR: keep_on returned false. */
static int copytree(int from_fd, const char *name, int to_fd,
		    const char *to_name, const struct copytree_options *options,
		    struct err *err)
{
	auto_close int from =
		beneath_open(from_fd, name, O_RDONLY | O_DIRECTORY, 0, err);
	auto_close int to = -1;
	struct copytree_state c = {.options = options};
	size_t i;
	int rc;

	if (from < 0)
		return from;
	if (mkdirat(to_fd, to_name, 0700) < 0)
		return fail_errno(err, "create %s", text_quote(to_name));
	to = beneath_open(to_fd, to_name, O_RDONLY | O_DIRECTORY, 0, err);
	if (to < 0)
		return to;
	c.root_fd = to;
	rc = copytree_dir(&c, from, to, "", 0, err);
	for (i = 0; i < c.links.count; i++)
		free(c.links.items[i].path);
	VEC_FREE(&c.links);
	return rc;
}

static int rename_to_target(const struct exdev_rename *m)
{
	unsigned int flags = m->no_replace ? RENAME_NOREPLACE : 0;

	return renameat2(m->to_fd, m->temporary, m->to_fd, m->to, flags) < 0
		       ? -errno
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

/* A file that was written after it was copied replaces the copy: the original
 * is the current version. A linked file has two names and needs no check. */
static int move_late_entry(int in, int out, const char *name,
			   const struct timespec *began)
{
	struct stat st;

	if (fstatat(in, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(st.st_mode) && st.st_nlink == 1 &&
	    (st.st_ctim.tv_sec > began->tv_sec ||
	     (st.st_ctim.tv_sec == began->tv_sec &&
	      st.st_ctim.tv_nsec >= began->tv_nsec)))
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
	int rc = check_rename_target(m);

	if (rc < 0)
		return rc;
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &began);
	if (copytree(m->from_fd, m->from, m->to_fd, m->temporary, &m->how,
		     &err) < 0)
		return undo_copied_tree(m, err.num == EINTR ? -EINTR : -EXDEV);
	if (!m->how.keep_on(m->how.arg))
		return undo_copied_tree(m, -EINTR);
	rc = rename_to_target(m);
	if (rc < 0)
		return undo_copied_tree(m, rc);
	/* The rename is complete and visible; the rest is cleanup. */
	(void)remove_source_tree(m->from_fd, m->from, m->to_fd, m->to, &began,
				 &err);
	return 0;
}
