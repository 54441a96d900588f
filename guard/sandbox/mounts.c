#include "guard/sandbox/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/sandbox/mount_list.h"
#include "guard/sandbox/namespaces_private.h"

#define PLAIN_ATTRS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define MASK_ATTRS (PLAIN_ATTRS | MOUNT_ATTR_NOEXEC)
/* An empty file of the scratch directory. */
#define EMPTY "empty"
#define SCRATCH_LEAST (1u << 20)
#define PAGE_MAX 65536u

/* ---- /dev ---- */

static int add_node(int old_dev, int dev, const char *name, struct err *err)
{
	auto_close int node =
		openat(old_dev, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	auto_close int point = -1, mnt = -1;

	if (node < 0)
		return errno == ENOENT ? 0 : fail_errno(err, "/dev/%s", name);
	point = openat(dev, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		       0444);
	if (point < 0)
		return fail_errno(err, "/dev/%s", name);
	/* The node belongs to the machine and to root. On a read-only mount
	 * it is still writable as a device, but mode, owner and times are
	 * fixed. */
	mnt = mount_copy(
		node, false,
		MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
	if (mnt < 0)
		return err_context(err, "/dev/%s", name);
	if (mount_attach(mnt, point) < 0)
		return fail_errno(err, "mount /dev/%s", name);
	return 0;
}

static int add_dev_mounts(struct setup *s, struct err *err)
{
	char size[24];
	const char *const shm[] = {"mode", "1777", "size",
				   mount_size(s->policy->memory, size), NULL};
	/* All runs together get at most three quarters of the machine's
	 * terminals. */
	static const char *const pts[] = {"ptmxmode", "0666", "mode", "0620",
					  "max",      "1024", NULL};
	static const char *const root_pts[] = {"ptmxmode", "0666", "mode",
					       "0620",	   "gid",  "5",
					       "max",	   "1024", NULL};
	const unsigned int attrs = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
	auto_close int mnt =
		mount_new_fs("devpts", s->root ? root_pts : pts, attrs, err);
	auto_close int shm_mnt = -1;

	/* The root user of a namespace may lack the id of the terminals'
	 * group. */
	if (mnt == -EINVAL && s->root)
		mnt = mount_new_fs("devpts", pts, attrs, err);
	if (mnt < 0)
		return mnt;
	if (mount_place(s->root_fd, "/dev/pts", mnt, err) < 0)
		return -err->num;
	shm_mnt = mount_new_fs("tmpfs", shm,
			       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
	if (shm_mnt < 0)
		return shm_mnt;
	return mount_place(s->root_fd, "/dev/shm", shm_mnt, err);
}

/* Mounts the run's own /dev. */
static int place_devices(struct setup *s, const char *path, struct err *err)
{
	static const char *const nodes[] = {"null",   "zero",	 "full",
					    "random", "urandom", "tty"};
	static const char *const links[][2] = {
		{"/proc/self/fd", "fd"},       {"/proc/self/fd/0", "stdin"},
		{"/proc/self/fd/1", "stdout"}, {"/proc/self/fd/2", "stderr"},
		{"pts/ptmx", "ptmx"},
	};
	static const char *const options[] = {"mode", "0755", "size", "1m",
					      NULL};
	auto_close int dev = mount_new_fs(
		"tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
	size_t i;

	if (dev < 0)
		return dev;
	if (mount_place(s->root_fd, path, dev, err) < 0)
		return -err->num;
	for (i = 0; i < ARRAY_SIZE(links); i++)
		if (symlinkat(links[i][0], dev, links[i][1]) < 0)
			return fail_errno(err, "/dev/%s", links[i][1]);
	if (mkdirat(dev, "pts", 0755) < 0 || mkdirat(dev, "shm", 01777) < 0)
		return fail_errno(err, "private /dev");
	for (i = 0; i < ARRAY_SIZE(nodes); i++)
		if (add_node(s->old_dev, dev, nodes[i], err) < 0)
			return -err->num;
	if (add_dev_mounts(s, err) < 0)
		return -err->num;
	if (mount_set_attrs(dev, MOUNT_ATTR_RDONLY) < 0)
		return fail_errno(err, "close /dev");
	return 0;
}

/* ---- opened before a mount covers it ---- */

/* Reopens guard's directory by its path: guard's descriptor belongs to another
 * mount namespace and cannot be mounted in this one. */
static int reopen_private_dir(const char *path, int original, int *ret_fd,
			      struct err *err)
{
	auto_close int fd = path ? fd_open_dir_path(AT_FDCWD, path) : -1;
	struct stat a, b;

	if (!path)
		return 0;
	if (fd < 0 || fstat(fd, &a) < 0 || fstat(original, &b) < 0)
		return fail_errno(err, "reopen %s", text_quote(path));
	if (a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		return fail(
			err, ESTALE,
			"%s was replaced while the sandbox started: try again",
			text_quote(path));
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int mounts_open(struct setup *s, struct err *err)
{
	if (reopen_private_dir(s->tmp_path, s->policy->tmp_fd, &s->tmp_fd,
			       err) < 0 ||
	    reopen_private_dir(s->var_tmp_path, s->policy->var_tmp_fd,
			       &s->var_tmp_fd, err) < 0)
		return -err->num;
	return mount_list_make(s, err);
}

/* Mounts a copy of the machine's root, read-only and recursive, on top of the
 * old root. Until enter_root() absolute paths still mean the old root. */
int mounts_begin(struct setup *s, struct err *err)
{
	auto_close int old = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (old < 0)
		return fail_errno(err, "open /");
	s->root_fd =
		mount_copy(old, true, MOUNT_ATTR_RDONLY | PLAIN_ATTRS, err);
	if (s->root_fd < 0)
		return err_context(err, "read-only view of the machine");
	if (mount_attach(s->root_fd, old) < 0)
		return fail_errno(err, "mount the new root");
	return 0;
}

/* ---- the run's own directories ---- */

/* /tmp and /var/tmp: directories of guard's on disk; with a size limit one
 * tmpfs, so that both share it. Without the directory on the machine there is
 * no mount. */
static int place_tmp(struct setup *s, const char *path, struct err *err)
{
	const uint64_t limit = s->policy->tmp_size;
	const bool first = strcmp(path, "/tmp") == 0;
	const int fd = first ? s->tmp_fd : s->var_tmp_fd;
	char size[24];
	const char *const options[] = {"mode", "1777", limit ? "size" : NULL,
				       mount_size(limit, size), NULL};
	auto_close int target = mount_point(s->root_fd, path);
	auto_close int mnt = -1;

	if (target < 0)
		return 0;
	if (limit ? first : fd < 0) {
		mnt = mount_new_fs("tmpfs", options, PLAIN_ATTRS, err);
	} else {
		/* The parent directory is closed to other users. */
		if (!limit && fchmodat(fd, ".", 01777, 0) < 0)
			return fail_errno(err, "open the private %s", path);
		mnt = mount_copy(fd, false, PLAIN_ATTRS, err);
	}
	if (mnt < 0)
		return err_context(err, "private %s", path);
	if (mount_attach(mnt, target) < 0)
		return fail_errno(err, "mount on %s", path);
	if (limit && first)
		s->var_tmp_fd = TAKE_FD(mnt);
	return 0;
}

/* NixOS has links in /run without which no program of PATH is found. */
static void copy_run_links(int run_fd)
{
	static const char *const names[] = {"current-system", "booted-system",
					    "opengl-driver"};
	char target[4096], path[64];
	size_t i;

	for (i = 0; i < 3; i++) {
		ssize_t n;

		(void)snprintf(path, sizeof(path), "/run/%s", names[i]);
		n = readlink(path, target, sizeof(target) - 1);
		if (n <= 0)
			continue;
		target[n] = '\0';
		(void)!symlinkat(target, run_fd, names[i]);
	}
}

/* The machine keeps its sockets in /run. The run's own is empty except for the
 * user's directory. */
static int fill_run(const struct setup *s, int mnt, struct err *err)
{
	const struct sandbox_policy *p = s->policy;
	char name[32];

	(void)snprintf(name, sizeof(name), "user/%u",
		       p->has_user ? p->user : s->uid);
	if (mkdirat(mnt, "user", 0755) < 0 || mkdirat(mnt, name, 0700) < 0 ||
	    (p->has_user && fchownat(mnt, name, p->user, p->group, 0) < 0) ||
	    mkdirat(mnt, "lock", 01777) < 0)
		return fail_errno(err, "private /run");
	copy_run_links(mnt);
	return 0;
}

/* Also /var/run: old machines have a directory instead of a link to /run. */
static int place_run(struct setup *s, const char *path, struct err *err)
{
	static const char *const options[] = {"mode", "0755", "size", "64m",
					      NULL};
	const bool var = strcmp(path, "/run") != 0;
	auto_close int target = mount_point(s->root_fd, path);
	auto_close int above = var ? mount_point(s->root_fd, "/var") : -1;
	auto_close int mnt = -1;
	struct stat st;

	if (target < 0 ||
	    (var && (fstatat(above, "run", &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		     !S_ISDIR(st.st_mode))))
		return 0;
	mnt = mount_new_fs("tmpfs", options, PLAIN_ATTRS, err);
	if (mnt < 0 || (!var && fill_run(s, mnt, err) < 0))
		return -err->num;
	return mount_place(s->root_fd, path, mnt, err);
}

/* Without a home an empty directory in the run's /tmp. */
static int place_home(struct setup *s, const char *path, struct err *err)
{
	char size[24];
	const char *const options[] = {"mode", "0700", "size",
				       mount_size(s->policy->memory, size),
				       NULL};
	auto_close int mnt = -1;

	/* The run's own /tmp lacks a home that lies there. */
	if (mount_list_private_dir(path) &&
	    mount_make_point(s->root_fd, path, true, err) < 0)
		return -err->num;
	if (!s->policy->home)
		return 0;
	mnt = mount_new_fs("tmpfs", options, PLAIN_ATTRS, err);
	if (mnt < 0 || mount_place(s->root_fd, path, mnt, err) < 0)
		return err_context(err, "mount an empty home directory");
	return 0;
}

static int place_private(struct setup *s, const char *path, struct err *err)
{
	static const struct {
		const char *path;
		int (*place)(struct setup *s, const char *path,
			     struct err *err);
	} own[] = {
		{"/tmp", place_tmp},	 {"/var/tmp", place_tmp},
		{"/run", place_run},	 {"/var/run", place_run},
		{"/dev", place_devices}, {"/proc", proc_place},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(own); i++)
		if (strcmp(path, own[i].path) == 0)
			return own[i].place(s, path, err);
	return place_home(s, path, err);
}

/* ---- masks and grants ---- */

/* Makes a file in the scratch directory. */
static int make_scratch_file(const struct setup *s, const char *name,
			     const struct buf *text, struct err *err)
{
	auto_close int fd =
		openat(s->scratch_fd, name,
		       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);

	if (fd < 0 || (text && fd_write(fd, text->data, text->len) < 0))
		return fail_errno(err, "create a file of the run's mounts");
	return 0;
}

/* Makes the source of a mask or a text: a mount of the entry's own file, of a
 * file with the entry's text, of the empty file, or of an empty directory of
 * the entry's own: a grant below one mask adds its mount point there, and the
 * other masks stay empty. */
static int make_source(const struct setup *s, size_t index, struct err *err)
{
	const struct mount_entry *e = &s->mounts.items[index];
	auto_close int fd = -1;
	char name[32] = EMPTY;

	if (e->fd >= 0)
		return mount_copy(e->fd, false, MASK_ATTRS | MOUNT_ATTR_RDONLY,
				  err);
	if (e->dir || e->text)
		(void)snprintf(name, sizeof(name), "%zu", index);
	if (e->dir && mkdirat(s->scratch_fd, name, 0555) < 0)
		return fail_errno(err, "create a mask");
	if (e->text && make_scratch_file(s, name, e->text, err) < 0)
		return -err->num;
	fd = openat(s->scratch_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fail_errno(err, "open a mask");
	return mount_copy(fd, false,
			  MASK_ATTRS | (e->dir ? 0U : MOUNT_ATTR_RDONLY), err);
}

/* Mounts a copy of the entry's own path over it, without the mounts below. An
 * entry of /proc that is gone needs no mount. */
static int place_in_place(const struct setup *s, const char *path,
			  struct err *err)
{
	auto_close int target = mount_point(s->root_fd, path);
	auto_close int mnt = -1;

	if (target < 0 && errno == ENOENT)
		return 0;
	if (target < 0)
		return fail_errno(err, "open %s", path);
	mnt = mount_copy(target, false, MOUNT_ATTR_RDONLY | PLAIN_ATTRS, err);
	if (mnt < 0)
		return err_context(err, "%s", path);
	if (mount_attach(mnt, target) < 0)
		return fail_errno(err, "make %s read-only", path);
	return 0;
}

/* Mounts a granted file or directory, the run's resolv.conf, or a read-only
 * part of /proc. */
static int place_source(struct setup *s, size_t index, struct err *err)
{
	const struct mount_entry *e = &s->mounts.items[index];
	const bool writable = e->sight == VISIBILITY_READ_WRITE;
	auto_close int mnt = -1;

	if (e->in_place)
		return place_in_place(s, e->path, err);
	if (mount_make_point(s->root_fd, e->path, e->dir, err) < 0)
		return -err->num;
	mnt = e->fd < 0 ? make_source(s, index, err)
			: mount_copy(e->fd, true,
				     writable ? PLAIN_ATTRS
					      : PLAIN_ATTRS | MOUNT_ATTR_RDONLY,
				     err);
	if (mnt < 0)
		return err_context(err, "expose %s", text_quote(e->path));
	return mount_place(s->root_fd, e->path, mnt, err);
}

static bool is_granted(const struct setup *s, size_t i)
{
	const char *path = s->mounts.items[i].path;

	for (i++; i < s->mounts.count; i++) {
		if (path_compare(path, s->mounts.items[i].path) != 0)
			return false;
		if (s->mounts.items[i].granted)
			return true;
	}
	return false;
}

static int place_mask(struct setup *s, size_t index, struct err *err)
{
	struct mount_entry *e = &s->mounts.items[index];
	auto_close int target = -1, mnt = -1;
	struct stat st;

	if (is_granted(s, index))
		return 0;
	/* In a layer a socket's path may be another file, without a
	 * listener. */
	if (e->socket &&
	    (fstatat(s->root_fd, e->path + 1, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	     st.st_dev != e->dev || st.st_ino != e->ino))
		return 0;
	target = mount_point(s->root_fd, e->path);
	/* Masked by a directory above it, or deleted in the run's layer. */
	if (target < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (target < 0)
		return fail_errno(err, "mask %s", text_quote(e->path));
	mnt = make_source(s, index, err);
	if (mnt < 0)
		return err_context(err, "mask %s", text_quote(e->path));
	if (mount_attach(mnt, target) < 0)
		return fail_errno(err, "mask %s", text_quote(e->path));
	if (e->dir)
		e->mount_fd = TAKE_FD(mnt);
	return 0;
}

/* ---- the complete root ---- */

/* Mounts the entries of the list from `first` on. */
static int place_entries(struct setup *s, size_t first, struct err *err)
{
	const struct sandbox_policy *p = s->policy;
	size_t i;
	int rc = 0;

	for (i = first; rc == 0 && i < s->mounts.count; i++) {
		const struct mount_entry *e = &s->mounts.items[i];

		switch (e->sight) {
		case VISIBILITY_PRIVATE:
			rc = place_private(s, e->path, err);
			break;
		case VISIBILITY_LAYER:
			rc = p->mount_layer(p->layers_arg, e->layer, s->root_fd,
					    err);
			break;
		case VISIBILITY_READ_ONLY:
		case VISIBILITY_READ_WRITE:
			rc = place_source(s, i, err);
			break;
		case VISIBILITY_HIDDEN:
			rc = place_mask(s, i, err);
			break;
		}
	}
	return rc < 0 ? rc : 0;
}

/* Only now: grants below a mask have made their mount points in it. */
static int close_masks(struct setup *s, struct err *err)
{
	size_t i;

	for (i = 0; i < s->mounts.count; i++) {
		const struct mount_entry *e = &s->mounts.items[i];

		if (e->mount_fd >= 0 &&
		    mount_set_attrs(e->mount_fd, MOUNT_ATTR_RDONLY) < 0)
			return fail_errno(err, "make the mask of %s read-only",
					  text_quote(e->path));
	}
	return 0;
}

/* pivot_root(2) instead of chroot(2): a process in a chroot cannot create user
 * namespaces, and a second chroot leads out of the first. */
static int enter_root(struct setup *s, struct err *err)
{
	if (fchdir(s->root_fd) < 0)
		return fail_errno(err, "enter the new root");
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return fail_errno(err, "pivot_root");
	/* After pivot_root(2) the old root is mounted on top of the new one. */
	if (umount2(".", MNT_DETACH) < 0)
		return fail_errno(err, "leave the old root");
	if (chdir("/") < 0)
		return fail_errno(err, "enter /");
	return 0;
}

/* The bytes of the scratch directory: each text takes complete pages. */
static uint64_t scratch_size(const struct setup *s)
{
	uint64_t size = SCRATCH_LEAST;
	size_t i;

	for (i = 0; i < s->mounts.count; i++)
		if (s->mounts.items[i].text)
			size += s->mounts.items[i].text->len + PAGE_MAX;
	return size;
}

int mounts_build(struct setup *s, struct err *err)
{
	char size[24];
	const char *const options[] = {"mode", "0700", "size",
				       mount_size(scratch_size(s), size), NULL};
	size_t count = s->mounts.count;

	s->old_dev = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->old_dev < 0)
		return fail_errno(err, "open /dev");
	/* The masks are copies of files in this tmpfs. Only an attached mount
	 * can be copied, so it is attached below the old root and goes away
	 * with it. */
	s->scratch_fd = mount_new_fs("tmpfs", options, PLAIN_ATTRS, err);
	if (s->scratch_fd < 0)
		return s->scratch_fd;
	if (mount_attach(s->scratch_fd, s->old_dev) < 0)
		return fail_errno(err, "mount the masks' source");
	if (make_scratch_file(s, EMPTY, NULL, err) < 0 ||
	    place_entries(s, 0, err) < 0 || proc_restrict(s, err) < 0 ||
	    place_entries(s, count, err) < 0 || close_masks(s, err) < 0)
		return -err->num;
	return enter_root(s, err);
}
