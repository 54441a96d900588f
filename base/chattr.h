/*
 * File flags that chattr(1) sets and lsattr(1) prints. CHATTR_STORED has the
 * flags that a user can set and a file system returns; flags that the file
 * system sets itself (extents, indexed directory, inline data) are excluded.
 *
 * Most file systems support some of them, others none. Only root sets immutable
 * and append-only; a file with one of them can be neither renamed nor replaced.
 */
#ifndef GUARD_BASE_CHATTR_H
#define GUARD_BASE_CHATTR_H

#include <linux/fs.h>
#include <stdbool.h>
#include <stdint.h>

/* Missing in older versions of linux/fs.h. */
#ifndef FS_DAX_FL
#define FS_DAX_FL 0x02000000
#endif

#define CHATTR_FIXED (FS_IMMUTABLE_FL | FS_APPEND_FL)
#define CHATTR_STORED                                                          \
	(CHATTR_FIXED | FS_SECRM_FL | FS_UNRM_FL | FS_COMPR_FL | FS_SYNC_FL |  \
	 FS_NODUMP_FL | FS_NOATIME_FL | FS_NOCOMP_FL | FS_JOURNAL_DATA_FL |    \
	 FS_NOTAIL_FL | FS_DIRSYNC_FL | FS_TOPDIR_FL | FS_NOCOW_FL |           \
	 FS_PROJINHERIT_FL | FS_DAX_FL)
/* Flags that statx(2) reports with the same bits, without an open. */
#define CHATTR_IN_STATX                                                        \
	(FS_COMPR_FL | FS_IMMUTABLE_FL | FS_APPEND_FL | FS_NODUMP_FL)

/* Length of the longest text, with its NUL. */
#define CHATTR_TEXT_LEN 24

/* Sets the flags in mask as `flags` has them and leaves all others unchanged.
 * Returns 0, or -1 with errno. */
int chattr_write(int fd, uint32_t mask, uint32_t flags);

/* Whether a regular file has flags that statx(2) does not report, as far as
 * file_getattr(2) tells: not all of them, and none before Linux 6.17. */
bool chattr_may_have(int dirfd, const char *name);

/* Writes the flags as lsattr(1) prints them, without dashes; "-" for none.
 * Returns `to`. */
const char *chattr_text(uint32_t flags, char to[CHATTR_TEXT_LEN]);

#endif
