#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include "base/auto.h"
#include "base/text.h"

int lock_take(int dirfd, const char *name, bool exclusive, bool wait,
	      struct err *err)
{
	auto_close int fd = openat(
		dirfd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	int got;

	if (fd < 0 && errno == EROFS)
		return fail(err, EROFS,
			    "open lock %s: this file system is read-only; only "
			    "log, ls, show and diff work",
			    text_quote(name));
	if (fd < 0)
		return fail_errno(err, "open lock %s", text_quote(name));
	do {
		got = flock(fd, (exclusive ? LOCK_EX : LOCK_SH) |
					(wait ? 0 : LOCK_NB));
	} while (got < 0 && errno == EINTR);
	if (got < 0 &&
	    (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS))
		return fail(err, errno,
			    "lock %s: this file system does not support locks; "
			    "set GUARD_HOME to a directory on another one",
			    text_quote(name));
	if (got < 0)
		return fail_errno(err, "lock %s", text_quote(name));
	return TAKE_FD(fd);
}
