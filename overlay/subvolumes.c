#include "overlay/subvolumes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"

/* Whether path is the root of a subvolume in the mount of dir_fd. */
static bool is_subvolume(int dir_fd, const char *path)
{
	struct statx above, st;

	return statx(dir_fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &above) == 0 &&
	       statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		     STATX_MNT_ID | STATX_INO | STATX_TYPE, &st) == 0 &&
	       S_ISDIR(st.stx_mode) &&
	       st.stx_ino == BTRFS_FIRST_FREE_OBJECTID &&
	       st.stx_mnt_id == above.stx_mnt_id;
}

/* id: of the subvolume; dirid: the directory that has its name. */
static void add_subvolume(int fd, const char *path, uint64_t id, uint64_t dirid,
			  char ***ret)
{
	struct btrfs_ioctl_ino_lookup_user_args name = {.dirid = dirid,
							.treeid = id};
	auto_free char *full = NULL;

	/* ENOENT: beside or above the directory. */
	if (ioctl(fd, BTRFS_IOC_INO_LOOKUP_USER, &name) < 0)
		return;
	full = mem_printf("%s/%s%s", strcmp(path, "/") == 0 ? "" : path,
			  name.path, name.name);
	if (!path_has_part(path_rest(full, path), ".git") &&
	    is_subvolume(fd, full))
		mem_list_add(ret, full);
}

void subvolumes_list_below(int dir_fd, const char *path, char ***ret)
{
	auto_close int fd = fd_reopen(dir_fd, O_RDONLY | O_DIRECTORY);
	struct btrfs_ioctl_get_subvol_rootref_args refs = {0};
	int got, i;

	if (fd < 0)
		return;
	do {
		got = ioctl(fd, BTRFS_IOC_GET_SUBVOL_ROOTREF, &refs);
		/* EOVERFLOW: more than one call returns; min_treeid is set. */
		if (got < 0 && errno != EOVERFLOW)
			return;
		for (i = 0; i < refs.num_items; i++)
			add_subvolume(fd, path, refs.rootref[i].treeid,
				      refs.rootref[i].dirid, ret);
	} while (got < 0);
}
