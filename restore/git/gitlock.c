#include "restore/git/gitlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"

int gitlock_check(const char *git_dir, const char *name, struct err *err)
{
	/* Directories of libgit2 end with a slash. */
	auto_free char *lock =
		mem_printf("%s%s%s.lock", git_dir,
			   path_ends(git_dir, "/") ? "" : "/", name);
	auto_free char *dir = path_parent(lock);
	struct stat st;

	if (lstat(lock, &st) == 0)
		return fail(err, EBUSY,
			    "%s exists, so git is at work in the "
			    "repository: try again (if git was killed, remove "
			    "the file)",
			    text_quote(lock));
	if (errno != ENOENT && errno != ENOTDIR)
		return fail_errno(err, "look for %s", text_quote(lock));
	/* A new branch may have a directory of its own. */
	while (lstat(dir, &st) < 0 && errno == ENOENT) {
		char *above = path_parent(dir);

		free(dir);
		dir = above;
	}
	return faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) < 0
		       ? fail_errno(err, "git cannot change %s in %s",
				    text_quote(name), text_quote(dir))
		       : 0;
}
