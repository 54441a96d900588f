/*
 * rename(2) of a directory that the lower layer contains: overlayfs returns
 * EXDEV. The rename is done in three steps instead: a second tree beside the
 * target, its rename to the target's name, the removal of the
 * source. Before the second step nothing has changed; after it the target is
 * complete.
 *
 * Runs in a process with the permissions of the run. Paths are relative to open
 * directories, so that no other process can redirect them.
 */
#ifndef GUARD_SANDBOX_RENAME_EXDEV_H
#define GUARD_SANDBOX_RENAME_EXDEV_H

#include <stdbool.h>
#include <time.h>

/*
 * Builds a second tree like the first, on the same mount. Files are hard links
 * where possible, so that they keep their identity and all metadata;
 * directories are created with mode, owner, times and extended attributes.
 * Copied are large files, which overlayfs would copy up in one long step when
 * they are linked; files that cannot be linked; and files that no process can
 * have open for writing, because overlayfs syncs each file that it copies up.
 * Metadata that cannot be reproduced is an error, never dropped.
 */
struct copytree_options {
	/* Called before each entry and every 8 MiB of a copy; false ends the
	 * copy. */
	bool (*keep_on)(void *arg);
	void *arg;
	/* In seconds: no process has a file with an older ctime open for
	 * writing. 0: unknown for all files. */
	time_t unwritten_before;
};

struct exdev_rename {
	int from_fd, to_fd; /* parent directories of the two names, O_PATH */
	const char *from, *to;
	const char *temporary; /* an unused name in to_fd */
	bool no_replace;
	struct copytree_options how; /* keep_on false: undo, -EINTR */
};

/* Called after a plain rename returned EXDEV. Returns 0 or the negative errno
 * of rename(2); -EXDEV if the three steps are impossible as well; -EINTR if
 * keep_on returned false. */
int rename_exdev(const struct exdev_rename *m);

#endif
