#include "guard/sandbox/ns/mount.h"
#include "guard/sandbox/ns/ns_private.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"

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

static int add_dev_links(int dev, struct err *err)
{
	static const char *const links[][2] = {
		{"/proc/self/fd", "fd"},       {"/proc/self/fd/0", "stdin"},
		{"/proc/self/fd/1", "stdout"}, {"/proc/self/fd/2", "stderr"},
		{"pts/ptmx", "ptmx"},
	};
	size_t i;

	for (i = 0; i < sizeof(links) / sizeof(*links); i++)
		if (symlinkat(links[i][0], dev, links[i][1]) < 0)
			return fail_errno(err, "/dev/%s", links[i][1]);
	if (mkdirat(dev, "pts", 0755) < 0 || mkdirat(dev, "shm", 01777) < 0)
		return fail_errno(err, "private /dev");
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
	int rc;

	/* The root user of a namespace may lack the id of the terminals'
	 * group. */
	if (mnt == -EINVAL && s->root)
		mnt = mount_new_fs("devpts", pts, attrs, err);
	if (mnt < 0)
		return mnt;
	rc = mount_place(s->root_fd, "/dev/pts", mnt, err);
	if (rc < 0)
		return rc;
	shm_mnt = mount_new_fs("tmpfs", shm,
			       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
	if (shm_mnt < 0)
		return shm_mnt;
	return mount_place(s->root_fd, "/dev/shm", shm_mnt, err);
}

int devices_place(struct setup *s, int old_dev, struct err *err)
{
	static const char *const nodes[] = {"null",   "zero",	 "full",
					    "random", "urandom", "tty"};
	static const char *const options[] = {"mode", "0755", "size", "1m",
					      NULL};
	auto_close int dev = mount_new_fs(
		"tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
	size_t i;
	int rc;

	if (dev < 0)
		return dev;
	rc = mount_place(s->root_fd, "/dev", dev, err);
	if (rc == 0)
		rc = add_dev_links(dev, err);
	for (i = 0; rc == 0 && i < sizeof(nodes) / sizeof(*nodes); i++)
		rc = add_node(old_dev, dev, nodes[i], err);
	if (rc == 0)
		rc = add_dev_mounts(s, err);
	if (rc < 0)
		return rc;
	if (mount_set_attrs(dev, MOUNT_ATTR_RDONLY) < 0)
		return fail_errno(err, "close /dev");
	return 0;
}
