#include "guard/sandbox/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/sandbox/namespaces_private.h"

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

/* Mounts the run's own /dev. old_dev: the machine's. */
static int place_devices(struct setup *s, int old_dev, struct err *err)
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
	if (mount_place(s->root_fd, "/dev", dev, err) < 0)
		return -err->num;
	for (i = 0; i < sizeof(links) / sizeof(*links); i++)
		if (symlinkat(links[i][0], dev, links[i][1]) < 0)
			return fail_errno(err, "/dev/%s", links[i][1]);
	if (mkdirat(dev, "pts", 0755) < 0 || mkdirat(dev, "shm", 01777) < 0)
		return fail_errno(err, "private /dev");
	for (i = 0; i < sizeof(nodes) / sizeof(*nodes); i++)
		if (add_node(old_dev, dev, nodes[i], err) < 0)
			return -err->num;
	if (add_dev_mounts(s, err) < 0)
		return -err->num;
	if (mount_set_attrs(dev, MOUNT_ATTR_RDONLY) < 0)
		return fail_errno(err, "close /dev");
	return 0;
}

#define PLAIN_ATTRS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

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

/* Without the file behind /etc/resolv.conf no host name resolves. On many
 * machines the file is below /run, which is private in the run. */
static void find_resolv(struct setup *s)
{
	static const char *const hidden[] = {"/run", "/tmp", "/var/tmp"};
	struct err ignored;
	size_t i;

	if (s->policy->net == SANDBOX_NET_NONE)
		return;
	s->resolv_path = path_resolve("/etc/resolv.conf", &ignored);
	if (!s->resolv_path || s->policy->net == SANDBOX_NET_PRIVATE)
		return;
	for (i = 0; i < 3; i++)
		if (path_below(s->resolv_path, hidden[i]))
			s->resolv_fd = open(s->resolv_path, O_PATH | O_CLOEXEC);
}

int mounts_open(struct setup *s, struct err *err)
{
	if (reopen_private_dir(s->tmp_path, s->policy->tmp_fd, &s->tmp_fd,
			       err) < 0 ||
	    reopen_private_dir(s->var_tmp_path, s->policy->var_tmp_fd,
			       &s->var_tmp_fd, err) < 0)
		return -err->num;
	find_resolv(s);
	return masks_open(s, err);
}

/* ---- the parts of the new root ---- */

const char *mounts_private_dir(const char *path)
{
	static const char *const dirs[] = {"/tmp",     "/var/tmp", "/run",
					   "/var/run", "/dev",	   "/proc"};
	size_t i;

	for (i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		if (path_below(path, dirs[i]))
			return dirs[i];
	return NULL;
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

/* One tmpfs for /tmp and /var/tmp, so that both share the size. */
static int place_sized_tmp(struct setup *s, struct err *err)
{
	char size[32];
	const char *const options[] = {"mode", "1777", "size", size, NULL};
	auto_close int mnt = -1, target = -1, copy = -1;
	int rc;

	(void)snprintf(size, sizeof(size), "%llu",
		       (unsigned long long)s->policy->tmp_size);
	mnt = mount_new_fs("tmpfs", options, PLAIN_ATTRS, err);
	rc = mnt < 0 ? mnt : mount_place(s->root_fd, "/tmp", mnt, err);
	if (rc < 0)
		return err_context(err, "mount a /tmp with a size limit");
	target = mount_point(s->root_fd, "/var/tmp");
	if (target < 0)
		return 0;
	copy = mount_copy(mnt, false, PLAIN_ATTRS, err);
	return copy < 0 ? copy : mount_place(s->root_fd, "/var/tmp", copy, err);
}

/* fd -1: a tmpfs. Without the directory on the machine there is no mount. */
static int place_private(struct setup *s, const char *path, int fd,
			 struct err *err)
{
	static const char *const options[] = {"mode", "1777", NULL};
	auto_close int target = mount_point(s->root_fd, path);
	auto_close int mnt = -1;

	if (target < 0)
		return 0;
	if (fd >= 0) {
		/* The parent directory is closed to other users. */
		if (fchmodat(fd, ".", 01777, 0) < 0)
			return fail_errno(err, "open the private %s", path);
		mnt = mount_copy(fd, false, PLAIN_ATTRS, err);
	} else {
		mnt = mount_new_fs("tmpfs", options, PLAIN_ATTRS, err);
	}
	if (mnt < 0)
		return err_context(err, "private %s", path);
	return mount_place(s->root_fd, path, mnt, err);
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
static int place_run(struct setup *s, struct err *err)
{
	static const char *const options[] = {"mode", "0755", "size", "64m",
					      NULL};
	const struct sandbox_policy *p = s->policy;
	char name[32];
	auto_close int mnt = mount_new_fs("tmpfs", options, PLAIN_ATTRS, err);
	auto_close int target = mount_point(s->root_fd, "/run");

	if (mnt < 0)
		return mnt;
	if (target < 0)
		return 0;
	(void)snprintf(name, sizeof(name), "user/%u",
		       p->has_user ? p->user : s->uid);
	if (mkdirat(mnt, "user", 0755) < 0 || mkdirat(mnt, name, 0700) < 0 ||
	    (p->has_user && fchownat(mnt, name, p->user, p->group, 0) < 0) ||
	    mkdirat(mnt, "lock", 01777) < 0)
		return fail_errno(err, "private /run");
	copy_run_links(mnt);
	return mount_place(s->root_fd, "/run", mnt, err);
}

/* Old machines have a directory instead of a link to /run. */
static int place_var_run(struct setup *s, struct err *err)
{
	static const char *const options[] = {"mode", "0755", "size", "64m",
					      NULL};
	auto_close int var = mount_point(s->root_fd, "/var");
	auto_close int mnt = -1;
	struct stat st;

	if (var < 0 || fstatat(var, "run", &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(st.st_mode))
		return 0;
	mnt = mount_new_fs("tmpfs", options, PLAIN_ATTRS, err);
	if (mnt < 0)
		return mnt;
	return mount_place(s->root_fd, "/var/run", mnt, err);
}

static int place_resolv(struct setup *s, int scratch, struct err *err)
{
	const struct buf *text = &s->network.resolv;
	auto_close int mnt = -1, file = -1;

	/* The content names the name servers of the private network. */
	if (s->policy->net == SANDBOX_NET_PRIVATE && s->resolv_path) {
		file = openat(scratch, "resolv.conf",
			      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		s->resolv_fd =
			openat(scratch, "resolv.conf", O_PATH | O_CLOEXEC);
		if (file < 0 || s->resolv_fd < 0 ||
		    fd_write(file, text->data, text->len) < 0)
			return fail_errno(err, "create the run's resolv.conf");
	}
	if (s->resolv_fd < 0)
		return 0;
	if (mount_make_point(s->root_fd, s->resolv_path, false, err) < 0)
		return -err->num;
	mnt = mount_copy(s->resolv_fd, false, MOUNT_ATTR_RDONLY | PLAIN_ATTRS,
			 err);
	if (mnt < 0)
		return err_context(err, "%s", text_quote(s->resolv_path));
	return mount_place(s->root_fd, s->resolv_path, mnt, err);
}

/* ---- the complete root ---- */

static int place_home(struct setup *s, struct err *err)
{
	char size[24];
	const char *const options[] = {"mode", "0700", "size",
				       mount_size(s->policy->memory, size),
				       NULL};
	const char *home = s->policy->home;
	auto_close int mnt = -1;
	int rc;

	if (home && !s->policy->strict)
		return 0;
	if (home) {
		/* The run's own /tmp lacks a home that lies there. */
		if (mounts_private_dir(home) &&
		    mount_make_point(s->root_fd, home, true, err) < 0)
			return -err->num;
		mnt = mount_new_fs("tmpfs", options, PLAIN_ATTRS, err);
		rc = mnt < 0 ? mnt : mount_place(s->root_fd, home, mnt, err);
		return rc < 0 ? err_context(err,
					    "mount an empty home directory")
			      : 0;
	}
	/* sandbox_environ() uses the same path. */
	return mount_make_point(s->root_fd, "/tmp/home", true, err);
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

int mounts_build(struct setup *s, struct err *err)
{
	static const char *const options[] = {"mode", "0700", "size", "1m",
					      NULL};
	const struct sandbox_policy *p = s->policy;
	auto_close int old_dev = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int scratch = -1;

	if (old_dev < 0)
		return fail_errno(err, "open /dev");
	/* The masks are copies of files in this tmpfs. Only an attached mount
	 * can be copied, so it is attached below the old root and goes away
	 * with it. */
	scratch = mount_new_fs("tmpfs", options, PLAIN_ATTRS, err);
	if (scratch < 0)
		return scratch;
	if (mount_attach(scratch, old_dev) < 0)
		return fail_errno(err, "mount the masks' source");
	if (p->tmp_size) {
		if (place_sized_tmp(s, err) < 0)
			return -err->num;
	} else if (place_private(s, "/tmp", s->tmp_fd, err) < 0 ||
		   place_private(s, "/var/tmp", s->var_tmp_fd, err) < 0) {
		return -err->num;
	}
	if (place_run(s, err) < 0 || place_var_run(s, err) < 0 ||
	    place_resolv(s, scratch, err) < 0 ||
	    place_devices(s, old_dev, err) < 0 || proc_place(s, err) < 0 ||
	    place_home(s, err) < 0 ||
	    (p->mount_layers &&
	     p->mount_layers(p->layers_arg, s->root_fd, err) < 0) ||
	    masks_place(s, scratch, err) < 0 ||
	    (proc_must_restrict(s) && proc_restrict(s, scratch, err) < 0))
		return -err->num;
	return enter_root(s, err);
}
