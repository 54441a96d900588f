#include "base/atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"

int atomic_sync_dir(int dirfd, struct err *err)
{
	auto_close int fd =
		openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* EINVAL: a file system that has nothing to sync (fsync(2)). */
	if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL))
		return fail_errno(err, "sync folder");
	return 0;
}

int atomic_write(int dirfd, const char *name, const void *data, size_t len,
		 mode_t mode, bool durable, struct err *err)
{
	auto_free char *temp = mem_printf(".%s.%d.tmp", name, (int)getpid());
	auto_close int fd = -1;
	int num;

	(void)unlinkat(dirfd, temp, 0);
	fd = openat(dirfd, temp,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return fail_errno(err, "create %s", text_quote(name));
	if (fd_write(fd, data, len) < 0 || (durable && fdatasync(fd) < 0) ||
	    renameat(dirfd, temp, dirfd, name) < 0) {
		num = errno;
		(void)unlinkat(dirfd, temp, 0);
		return fail_num(err, num, "write %s", text_quote(name));
	}
	return durable ? atomic_sync_dir(dirfd, err) : 0;
}
