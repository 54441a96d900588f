/*
 * The flags of a file that chattr(1) sets and lsattr(1) shows. Only those that
 * somebody may set and a file system hands back (CHATTR_STORED); what the file
 * system says for itself (extents, indexed folder, inline data) is left out.
 *
 * Most file systems know a few of them, some none. Immutable and append-only
 * are root's to set; such a thing can be neither renamed nor replaced.
 */
#ifndef GUARD_BASE_CHATTR_H
#define GUARD_BASE_CHATTR_H

#include <linux/fs.h>
#include <stdbool.h>
#include <stdint.h>

/* Not in every linux/fs.h. */
#ifndef FS_DAX_FL
#define FS_DAX_FL 0x02000000
#endif

#define CHATTR_FIXED (FS_IMMUTABLE_FL | FS_APPEND_FL)
#define CHATTR_STORED                                                          \
	(CHATTR_FIXED | FS_SECRM_FL | FS_UNRM_FL | FS_COMPR_FL | FS_SYNC_FL |  \
	 FS_NODUMP_FL | FS_NOATIME_FL | FS_NOCOMP_FL | FS_JOURNAL_DATA_FL |    \
	 FS_NOTAIL_FL | FS_DIRSYNC_FL | FS_TOPDIR_FL | FS_NOCOW_FL |           \
	 FS_PROJINHERIT_FL | FS_DAX_FL)
/* Those that statx(2) tells, with the same bits: no open is needed. */
#define CHATTR_IN_STATX                                                        \
	(FS_COMPR_FL | FS_IMMUTABLE_FL | FS_APPEND_FL | FS_NODUMP_FL)

/* The longest text, with its NUL. */
#define CHATTR_TEXT_LEN 24

/* Of an open file or folder (not O_PATH): those of CHATTR_STORED. False where
 * the file system has none. */
bool chattr_read(int fd, uint32_t *ret);

/* Sets those in mask as `flags` has them, leaves all else. 0, or -1 and errno.
 */
int chattr_write(int fd, uint32_t mask, uint32_t flags);

/* As lsattr(1) writes them, without the dashes; "-" when there are none. */
const char *chattr_text(uint32_t flags, char to[CHATTR_TEXT_LEN]);

#endif
