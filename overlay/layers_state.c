#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/fstype.h"
#include "base/text.h"
#include "overlay/layers.h"
#include "overlay/mount.h"

int layers_check_state(int runs_fd, struct err *err)
{
	const struct fstype *type = fstype_of_fd(runs_fd);
	const char *name = type->traits & FSTYPE_NO_UPPER ? type->name : NULL;

	/* tmpfs has user xattrs only since Linux 6.6, other file systems only
	 * with a mount option: reading an xattr shows whether they are
	 * supported. */
	if (!name &&
	    getxattr(fd_proc_path(runs_fd).text, "user.guard", NULL, 0) < 0 &&
	    errno == ENOTSUP)
		name = "a file system without user xattrs";
	if (name)
		return fail(err, EOPNOTSUPP,
			    "guard's state lies on %s, which cannot hold the "
			    "layer of a run: put it elsewhere, e.g. on ext4, "
			    "btrfs or xfs, with GUARD_HOME=/some/path",
			    name);
	return 0;
}

static int make_probe_layer_dir(int dir, const char *name, const char *dir_path,
				struct err *err)
{
	int fd = -1;

	if (mkdirat(dir, name, 0700) == 0)
		fd = fd_open_dir_path(dir, name);
	return fd < 0 ? fail_errno(err, "make %s in %s", name,
				   text_quote(dir_path))
		      : fd;
}

int layers_probe(const char *dir_path, struct err *err)
{
	auto_close int dir = open(dir_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int lower = -1, upper = -1, work = -1, file = -1;
	int rc;

	if (dir < 0)
		return fail_errno(err, "open %s", text_quote(dir_path));
	lower = make_probe_layer_dir(dir, "lower", dir_path, err);
	upper = lower < 0 ? lower
			  : make_probe_layer_dir(dir, "upper", dir_path, err);
	work = upper < 0 ? upper
			 : make_probe_layer_dir(dir, "work", dir_path, err);
	if (work < 0)
		return work;
	rc = mount_overlay(lower, upper, work, lower, dir_path, err);
	if (rc < 0)
		return rc;
	file = openat(dir, "lower/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return file < 0 ? fail_errno(err, "write through a layer") : 0;
}
