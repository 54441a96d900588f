/*
 * What cannot be opened again (files.c) goes through a pipe: a device that
 * opens only once (a virtio port, some serial lines), a file that somebody else
 * opened for this user. As `cat FILE | guard run` does it, and of what is
 * written `guard run | cat >FILE`.
 *
 *	ferries_begin()	before the run's first process is born
 *	ferries_end()	when the last is gone: what was written has arrived
 */
#ifndef GUARD_SANDBOX_FERRY_H
#define GUARD_SANDBOX_FERRY_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct ferry {
	pid_t pid; /* 0: there is none */
	int real; /* what was there */
	bool to_real;
};

/* One for each of the descriptors 0, 1, 2; all zeros: none. */
struct ferries {
	struct ferry of[3];
};

/* is_wanted says whether a descriptor is to go through one. */
int ferries_begin(struct ferries *f, bool (*is_wanted)(void *arg, int fd),
		  void *arg, struct err *err);
/* Twice is fine. */
void ferries_end(struct ferries *f);

#endif
