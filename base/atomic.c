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
		 mode_t mode, enum atomic_how how, struct err *err)
{
	auto_free char *temp = mem_printf(".%s.%d.tmp", name, (int)getpid());
	auto_close int fd = -1;
	int num;

	(void)unlinkat(dirfd, temp, 0);
	fd = openat(dirfd, temp,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return fail_errno(err, "create %s", text_quote(name));
	if (fd_write(fd, data, len) < 0 ||
	    (how != ATOMIC_LOOSE && fdatasync(fd) < 0) ||
	    renameat(dirfd, temp, dirfd, name) < 0) {
		num = errno;
		(void)unlinkat(dirfd, temp, 0);
		return fail_num(err, num, "write %s", text_quote(name));
	}
	return how == ATOMIC_DURABLE ? atomic_sync_dir(dirfd, err) : 0;
}

int atomic_begin(int dirfd, const char *name, mode_t mode,
		 struct atomic_file *ret, struct err *err)
{
	auto_free char *temp = NULL;
	int fd = openat(dirfd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);

	/* Old file systems make none without a name. */
	if (fd < 0 &&
	    (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
		temp = mem_printf(".%s.%d.tmp", name, (int)getpid());
		(void)unlinkat(dirfd, temp, 0);
		fd = openat(dirfd, temp,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
				    O_CLOEXEC,
			    mode);
	}
	if (fd < 0)
		return fail_errno(err, "create %s", text_quote(name));
	*ret = (struct atomic_file){dirfd, fd, TAKE(temp)};
	return 0;
}

static int give_name(const struct atomic_file *f, const char *name)
{
	char link[sizeof("/proc/self/fd/") + 12];

	if (f->temp)
		return renameat2(f->dirfd, f->temp, f->dirfd, name,
				 RENAME_NOREPLACE);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", f->fd);
	return linkat(AT_FDCWD, link, f->dirfd, name, AT_SYMLINK_FOLLOW);
}

int atomic_publish(struct atomic_file *f, const char *name, struct err *err)
{
	if (fsync(f->fd) < 0 || give_name(f, name) < 0)
		return fail_errno(err, "write %s", text_quote(name));
	free(TAKE(f->temp));
	return atomic_sync_dir(f->dirfd, err);
}

void atomic_file_free(struct atomic_file *f)
{
	if (f->temp)
		(void)unlinkat(f->dirfd, f->temp, 0);
	free(f->temp);
	if (f->fd >= 0)
		(void)close(f->fd);
	*f = (struct atomic_file)ATOMIC_FILE_NONE;
}
