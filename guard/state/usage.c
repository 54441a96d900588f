#include "guard/state/usage.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/dirtree.h"

/* Greatest depth; deeper directories are counted as unread. */
#define DEPTH_MAX 500

static void add_dir_usage(int fd, unsigned int depth, struct usage *u);

/* Whether the entry is the inaccessible directory that overlayfs creates in a
 * layer's work directory. It is empty when the layer is not mounted, and its
 * size does not matter before. */
static bool is_overlay_scratch(const char *name, mode_t mode)
{
	return (mode & 07777) == 0 && strcmp(name, "work") == 0;
}

static void add_entry_usage(int fd, const char *name, unsigned int depth,
			    struct usage *u)
{
	auto_close int sub = -1;
	struct stat st;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	u->entries++;
	/* Each hard link of a file counts with its share, so the sum has the
	 * file once. */
	u->bytes += S_ISDIR(st.st_mode)
			    ? (uint64_t)st.st_blocks * 512
			    : (uint64_t)st.st_blocks * 512 / st.st_nlink;
	if (!S_ISDIR(st.st_mode))
		return;
	sub = depth < DEPTH_MAX
		      ? openat(fd, name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
		      : -1;
	if (sub < 0)
		u->unread += !is_overlay_scratch(name, st.st_mode);
	else
		add_dir_usage(sub, depth + 1, u);
}

static void add_dir_usage(int fd, unsigned int depth, struct usage *u)
{
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	size_t i;

	if (dirlist_read(fd, &list, &ignored) < 0)
		u->unread++;
	for (i = 0; i < list.count; i++)
		add_entry_usage(fd, list.items[i].name, depth, u);
}

void usage_add(int dirfd, const char *name, struct usage *u)
{
	add_entry_usage(dirfd, name, 0, u);
}
