#include "overlay/untouched.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/walk.h"

/* Open folders at a time; deeper layers are read again. */
#define DEPTH_MAX 64

static bool older(int dirfd, const char *name, struct moment since,
		  struct meta *ret)
{
	return meta_get(dirfd, name, ret) == 0 &&
	       moment_compare(ret->ctime, since) < 0;
}

static bool all_older(int dir_fd, struct moment since, unsigned int depth)
{
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	struct meta m;
	size_t i;

	if (depth > DEPTH_MAX || dirlist_read(dir_fd, &list, &ignored) < 0)
		return false;
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;
		auto_close int fd = -1;

		if (!older(dir_fd, name, since, &m))
			return false;
		if (!S_ISDIR(m.mode))
			continue;
		fd = openat(dir_fd, name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 || !all_older(fd, since, depth + 1))
			return false;
	}
	/* A name that came or went while they were looked at. */
	return older(dir_fd, "", since, &m);
}

int untouched_since(int upper_fd, struct moment since)
{
	auto_close int fd = fd_reopen(upper_fd, O_RDONLY | O_DIRECTORY);

	return fd >= 0 && all_older(fd, since, 0);
}
