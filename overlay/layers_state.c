#include <errno.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include "overlay/layers.h"

/* Names of file systems that cannot hold an upper, by statfs(2)'s number. */
static const char *unfit(long type)
{
	static const struct {
		long type;
		const char *name;
	} systems[] = {
		{OVERLAYFS_SUPER_MAGIC, "overlayfs (a container's own folder)"},
		{NFS_SUPER_MAGIC, "NFS"},
		{FUSE_SUPER_MAGIC, "FUSE"},
		{0xff534d42, "CIFS"},
		{0xfe534d42, "SMB"},
		{V9FS_MAGIC, "9p"},
		{MSDOS_SUPER_MAGIC, "FAT"},
		{0x2011bab0, "exFAT"},
		{0x7366746e, "NTFS"},
		{0x00c36400, "Ceph"},
		{ECRYPTFS_SUPER_MAGIC, "eCryptfs"},
		{AFS_SUPER_MAGIC, "AFS"},
		{SQUASHFS_MAGIC, "squashfs"},
		{RAMFS_MAGIC, "ramfs"},
	};
	size_t i;

	for (i = 0; i < sizeof(systems) / sizeof(*systems); i++)
		if ((uint32_t)systems[i].type == (uint32_t)type)
			return systems[i].name;
	return NULL;
}

int layers_check_state(int runs_fd, struct err *err)
{
	struct statfs fs;
	const char *name;
	char path[64];

	if (fstatfs(runs_fd, &fs) < 0)
		return fail_errno(err, "file system of guard's state");
	name = unfit((long)fs.f_type);
	/* tmpfs has user xattrs since Linux 6.6 only, others by mount
	 * option: asking for one tells. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", runs_fd);
	if (!name && getxattr(path, "user.guard", NULL, 0) < 0 &&
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
