#include "restore/exchange.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/meta.h"

const char *exchange_aside(const char *staged, char to[EXCHANGE_NAME_LEN])
{
	(void)snprintf(to, EXCHANGE_NAME_LEN, "x%s", staged);
	return to;
}

int exchange_files(int staging_fd, const char *staged, int dir,
		   const char *name)
{
	char aside[EXCHANGE_NAME_LEN];

	if (renameat2(staging_fd, staged, dir, name, RENAME_EXCHANGE) == 0)
		return 0;
	if (!fd_lacks_rename_flags(errno))
		return -1;
	(void)exchange_aside(staged, aside);
	if (linkat(dir, name, staging_fd, aside, 0) == 0) {
		if (renameat(staging_fd, staged, dir, name) < 0)
			return -1;
	} else if (errno == ENOENT ||
		   renameat(dir, name, staging_fd, aside) < 0 ||
		   fd_rename_new(staging_fd, staged, dir, name) < 0) {
		return -1;
	}
	return renameat(staging_fd, aside, staging_fd, staged);
}

int exchange_finish(int staging_fd, const char *staged, int dir,
		    const char *name)
{
	char aside[EXCHANGE_NAME_LEN];
	struct meta old, is;

	(void)exchange_aside(staged, aside);
	if (!fd_exists(staging_fd, staged))
		return renameat(staging_fd, aside, staging_fd, staged);
	if (meta_get(staging_fd, aside, &old) < 0)
		return -1;
	if (meta_get(dir, name, &is) == 0 && is.ino == old.ino)
		return unlinkat(staging_fd, aside, 0);
	return fd_rename_new(staging_fd, aside, dir, name);
}
