/*
 * A second folder like the first, on the same mount: its files are linked
 * into it, so that they stay the same ones, with all that is said of them;
 * its folders are made with modes, owners, times, extended attributes. Copied
 * are large files, which a layer would copy in one long step when they are
 * linked; those that cannot be linked; and those that nobody can have open for
 * writing, because a layer syncs each one that it copies. What cannot be made
 * alike is an error, never left out.
 *
 * Errors: any; -EINTR: keep_on said no.
 */
#ifndef GUARD_SANDBOX_FILTER_COPYTREE_H
#define GUARD_SANDBOX_FILTER_COPYTREE_H

#include <stdbool.h>
#include <time.h>

#include "base/err.h"

struct copytree_options {
	/* Asked before every entry and every 8 MiB of a copy. */
	bool (*keep_on)(void *arg);
	void *arg;
	/* Seconds of the clock: nobody has a file open for writing whose time
	 * of change is before that. 0: that is not known of any. */
	time_t unwritten_before;
};

/*
 * Makes to_name in to_fd, which must not exist, from the folder name in
 * from_fd. What was made until an error stays: the caller removes it.
 */
int copytree(int from_fd, const char *name, int to_fd, const char *to_name,
	     const struct copytree_options *how, struct err *err);

#endif
