/*
 * Builds a second tree like the first, on the same mount. Files are hard links
 * where possible, so that they keep their identity and all metadata;
 * directories are created with mode, owner, times and extended attributes.
 * Copied are large files, which overlayfs would copy up in one long step when
 * they are linked; files that cannot be linked; and files that no process can
 * have open for writing, because overlayfs syncs each file that it copies up.
 * Metadata that cannot be reproduced is an error, never dropped.
 */
#ifndef GUARD_SANDBOX_FILTER_COPYTREE_H
#define GUARD_SANDBOX_FILTER_COPYTREE_H

#include <stdbool.h>
#include <time.h>

#include "base/err.h"

struct copytree_options {
	/* Called before each entry and every 8 MiB of a copy; false ends the
	 * copy. */
	bool (*keep_on)(void *arg);
	void *arg;
	/* In seconds: no process has a file with an older ctime open for
	 * writing. 0: unknown for all files. */
	time_t unwritten_before;
};

/* Creates the tree to_name in to_fd, which must not exist, from the directory
 * name in from_fd. On error the incomplete tree stays and the caller removes
 * it. Errors: any; -EINTR: keep_on returned false. */
int copytree(int from_fd, const char *name, int to_fd, const char *to_name,
	     const struct copytree_options *how, struct err *err);

#endif
