#include "base/chattr.h"

#include <sys/ioctl.h>

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

	for (i = 0; i < sizeof(letters) / sizeof(*letters); i++)
		if (flags & letters[i].flag)
			to[len++] = letters[i].letter;
	if (!len)
		to[len++] = '-';
	to[len] = '\0';
	return to;
}
