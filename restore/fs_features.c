#include "restore/fs_features.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fstype.h"
#include "base/text.h"

#define ALTERNATIVES                                                           \
	"`guard patch` prints a run's changes, `guard restore --to DIR` "      \
	"writes any version elsewhere"

int fs_features_explain(int num, const char *path, struct err *err)
{
	if (num == EROFS)
		return fail(err, num,
			    "%s is on a read-only file system and cannot be "
			    "changed; " ALTERNATIVES,
			    text_quote(path));
	if (num == EACCES || num == EPERM)
		return fail(
			err, num,
			"you have no permission to write in %s; " ALTERNATIVES,
			text_quote(path));
	if (num == ENOSYS || num == EOPNOTSUPP)
		return fail(err, num,
			    "the file system of %s cannot create "
			    "directories; " ALTERNATIVES,
			    text_quote(path));
	return fail_num(err, num, "create the staging directory in %s",
			text_quote(path));
}

static bool make_probe_file(int dirfd, const char *name)
{
	auto_close int fd = openat(
		dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return fd >= 0;
}

int fs_features_check(int staging_fd, const char *path, struct err *err)
{
	bool capable;

	if (fstype_of_fd(staging_fd)->traits & FSTYPE_EXCHANGE)
		return 0;
	/* Only when both files exist does the kernel pass the call to the file
	 * system. */
	capable = make_probe_file(staging_fd, "a") &&
		  make_probe_file(staging_fd, "b") &&
		  renameat2(staging_fd, "a", staging_fd, "b",
			    RENAME_EXCHANGE) == 0 &&
		  renameat2(staging_fd, "a", staging_fd, "c",
			    RENAME_NOREPLACE) == 0;
	(void)unlinkat(staging_fd, "a", 0);
	(void)unlinkat(staging_fd, "b", 0);
	(void)unlinkat(staging_fd, "c", 0);
	if (capable)
		return 0;
	return fail(
		err, EOPNOTSUPP,
		"the file system of %s cannot exchange two files atomically, "
		"so a crash could not be rolled back; " ALTERNATIVES,
		text_quote(path));
}
