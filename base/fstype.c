#include "base/fstype.h"

#include <linux/magic.h>
#include <stddef.h>
#include <sys/vfs.h>

#include "base/mem.h"

/* Numbers that linux/magic.h lacks are taken from the sources of the file
 * systems. */
static const struct fstype types[] = {
	{EXT4_SUPER_MAGIC, "ext4", FSTYPE_KERNEL_TIMES},
	{XFS_SUPER_MAGIC, "xfs", FSTYPE_KERNEL_TIMES},
	{BTRFS_SUPER_MAGIC, "btrfs", FSTYPE_KERNEL_TIMES},
	{TMPFS_MAGIC, "tmpfs", FSTYPE_KERNEL_TIMES | FSTYPE_MEMORY},
	/* Timestamps are those of the upper directory's file system, which is
	 * one of the types above. */
	{OVERLAYFS_SUPER_MAGIC, "overlayfs (a container's own directory)",
	 FSTYPE_KERNEL_TIMES | FSTYPE_NO_UPPER | FSTYPE_OVERLAY},
	{NFS_SUPER_MAGIC, "NFS", FSTYPE_NO_UPPER},
	{FUSE_SUPER_MAGIC, "FUSE", FSTYPE_NO_UPPER},
	{0xff534d42, "CIFS", FSTYPE_NO_UPPER},
	{0xfe534d42, "SMB", FSTYPE_NO_UPPER},
	{V9FS_MAGIC, "9p", FSTYPE_NO_UPPER},
	{MSDOS_SUPER_MAGIC, "FAT", FSTYPE_NO_UPPER},
	{0x2011bab0, "exFAT", FSTYPE_NO_UPPER},
	{0x7366746e, "NTFS", FSTYPE_NO_UPPER},
	{0x00c36400, "Ceph", FSTYPE_NO_UPPER},
	{ECRYPTFS_SUPER_MAGIC, "eCryptfs", FSTYPE_NO_UPPER},
	{AFS_SUPER_MAGIC, "AFS", FSTYPE_NO_UPPER},
	{SQUASHFS_MAGIC, "squashfs", FSTYPE_NO_UPPER},
	{RAMFS_MAGIC, "ramfs", FSTYPE_NO_UPPER},
	{PROC_SUPER_MAGIC, "proc", FSTYPE_PSEUDO},
	{SYSFS_MAGIC, "sysfs", FSTYPE_PSEUDO},
	{DEVPTS_SUPER_MAGIC, "devpts", FSTYPE_PSEUDO},
	{CGROUP_SUPER_MAGIC, "cgroup", FSTYPE_PSEUDO},
	{CGROUP2_SUPER_MAGIC, "cgroup2", FSTYPE_PSEUDO},
	{SECURITYFS_MAGIC, "securityfs", FSTYPE_PSEUDO},
	{DEBUGFS_MAGIC, "debugfs", FSTYPE_PSEUDO},
	{TRACEFS_MAGIC, "tracefs", FSTYPE_PSEUDO},
	{BPF_FS_MAGIC, "bpf", FSTYPE_PSEUDO},
	{0x62656570, "configfs", FSTYPE_PSEUDO},
	{0x19800202, "mqueue", FSTYPE_PSEUDO},
};

const struct fstype *fstype_of_fd(int fd)
{
	static const struct fstype unknown, refused = {.traits = FSTYPE_PSEUDO};
	struct statfs fs;
	size_t i;

	if (fstatfs(fd, &fs) < 0)
		return &refused;
	for (i = 0; i < ARRAY_SIZE(types); i++)
		if (types[i].magic == (uint32_t)fs.f_type)
			return &types[i];
	return &unknown;
}
