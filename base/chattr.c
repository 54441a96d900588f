#include "base/chattr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"

/* file_getattr(2) is in Linux 6.17; older headers lack its number. */
#ifndef SYS_file_getattr
#define SYS_file_getattr 468
#endif

int chattr_write(int fd, uint32_t mask, uint32_t flags)
{
	unsigned int all = 0;

	if (ioctl(fd, FS_IOC_GETFLAGS, &all) < 0)
		return -1;
	if ((all & mask) == (flags & mask))
		return 0;
	all = (all & ~mask) | (flags & mask);
	return ioctl(fd, FS_IOC_SETFLAGS, &all);
}

bool chattr_may_have(int dirfd, const char *name)
{
	static atomic_bool missing;
	/* struct file_attr of linux/fs.h */
	struct {
		uint64_t xflags;
		uint32_t rest[4];
	} a = {0};

	if (atomic_load_explicit(&missing, memory_order_relaxed))
		return false;
	if (syscall(SYS_file_getattr, dirfd, name, &a, sizeof(a),
		    AT_SYMLINK_NOFOLLOW) == 0)
		return a.xflags & (FS_XFLAG_SYNC | FS_XFLAG_NOATIME |
				   FS_XFLAG_PROJINHERIT | FS_XFLAG_DAX);
	if (errno == ENOSYS || errno == EPERM)
		atomic_store_explicit(&missing, true, memory_order_relaxed);
	return false;
}

const char *chattr_text(uint32_t flags, char to[CHATTR_TEXT_LEN])
{
	static const struct {
		uint32_t flag;
		char letter;
	} letters[] = {
		{FS_SECRM_FL, 's'},	  {FS_UNRM_FL, 'u'},
		{FS_SYNC_FL, 'S'},	  {FS_DIRSYNC_FL, 'D'},
		{FS_IMMUTABLE_FL, 'i'},	  {FS_APPEND_FL, 'a'},
		{FS_NODUMP_FL, 'd'},	  {FS_NOATIME_FL, 'A'},
		{FS_COMPR_FL, 'c'},	  {FS_JOURNAL_DATA_FL, 'j'},
		{FS_NOTAIL_FL, 't'},	  {FS_TOPDIR_FL, 'T'},
		{FS_NOCOW_FL, 'C'},	  {FS_DAX_FL, 'x'},
		{FS_PROJINHERIT_FL, 'P'}, {FS_NOCOMP_FL, 'm'},
	};
	unsigned int i, len = 0;

	for (i = 0; i < ARRAY_SIZE(letters); i++)
		if (flags & letters[i].flag)
			to[len++] = letters[i].letter;
	if (!len)
		to[len++] = '-';
	to[len] = '\0';
	return to;
}
