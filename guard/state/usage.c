#include "guard/state/usage.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/dirtree.h"
#include "base/fd.h"

/* Greatest depth; deeper directories are counted as unread. */
#define DEPTH_MAX 500

bool usage_is_above(const struct usage *u)
{
	return (u->most_bytes && u->bytes > u->most_bytes) ||
	       (u->most_entries && u->entries > u->most_entries) || u->changed;
}

static void add_entry_usage(int fd, const char *name, unsigned int depth,
			    dev_t dev, struct usage *u)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int sub = -1;
	struct err ignored;
	struct stat st;
	size_t i;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (depth && st.st_dev != dev)
		return;
	u->entries++;
	u->changed = u->since &&
		     timestamp_compare(
			     (struct timestamp){st.st_ctim.tv_sec,
						(uint32_t)st.st_ctim.tv_nsec},
			     *u->since) >= 0;
	/* Each hard link of a file counts with its share, so the sum has the
	 * file once. */
	u->bytes += S_ISDIR(st.st_mode)
			    ? (uint64_t)st.st_blocks * 512
			    : (uint64_t)st.st_blocks * 512 / st.st_nlink;
	if (!S_ISDIR(st.st_mode))
		return;
	sub = depth < DEPTH_MAX ? fd_open_dir(fd, name) : -1;
	/* Overlayfs creates an inaccessible directory in a layer's work
	 * directory. It is empty when the layer is not mounted, and its size
	 * does not matter before. */
	if (sub < 0)
		u->unread += (st.st_mode & 07777) || strcmp(name, "work") != 0;
	else if (dirlist_read(sub, &list, &ignored) < 0)
		u->unread++;
	for (i = 0; i < list.count && !usage_is_above(u); i++)
		add_entry_usage(sub, list.items[i].name, depth + 1, st.st_dev,
				u);
}

void usage_add(int dirfd, const char *name, struct usage *u)
{
	add_entry_usage(dirfd, name, 0, 0, u);
}
