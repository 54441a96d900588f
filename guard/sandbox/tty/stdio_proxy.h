/*
 * What cannot be opened again (files.c) goes through a pipe: a device that
 * opens only once (a virtio port, some serial lines), a file that somebody else
 * opened for this user. As `cat FILE | guard run` does it, and of what is
 * written `guard run | cat >FILE`.
 *
 *	stdio_proxy_start()	before the run's first process is born
 *	stdio_proxy_stop()	when the last is gone: what was written has
 *arrived
 */
#ifndef GUARD_SANDBOX_TTY_STDIO_PROXY_H
#define GUARD_SANDBOX_TTY_STDIO_PROXY_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct stdio_proxy {
	pid_t pid; /* 0: there is none */
	int original_fd; /* what was there */
	bool is_output;
};

/* One for each of the descriptors 0, 1, 2; all zeros: none. */
struct stdio_proxies {
	struct stdio_proxy items[3];
};

/* is_wanted says whether a descriptor is to go through one. */
int stdio_proxy_start(struct stdio_proxies *f,
		      bool (*is_wanted)(void *arg, int fd), void *arg,
		      struct err *err);
/* Twice is fine. */
void stdio_proxy_stop(struct stdio_proxies *f);

#endif
