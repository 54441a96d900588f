/*
 * A second folder like the first, on the same mount: its files are linked
 * into it, so that they stay the same ones, with all that is said of them;
 * its folders are made with modes, owners, times, extended attributes. Large
 * files, which a layer would copy in one long step when they are linked, are
 * copied, and so are those that cannot be linked. What cannot be made alike
 * is an error, never left out.
 *
 * Errors: any; -EINTR: keep_on said no.
 */
#ifndef GUARD_SANDBOX_COPYTREE_H
#define GUARD_SANDBOX_COPYTREE_H

#include <stdbool.h>

#include "base/err.h"

/*
 * Makes to_name in to_fd, which must not exist, from the folder name in
 * from_fd. keep_on is asked before every entry and every
 * 8 MiB of a copy. What was made
 * until an error stays: the caller removes it.
 */
int copytree(int from_fd, const char *name, int to_fd, const char *to_name,
	     bool (*keep_on)(void *arg), void *arg, struct err *err);

#endif
