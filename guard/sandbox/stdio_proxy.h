/*
 * Processes that copy between a descriptor of the caller and a pipe of the run,
 * for files that cannot be reopened (stdio_fds.c): devices that open only once
 * (a virtio port, some serial lines), files that another user opened for this
 * one. The effect is that of `cat FILE | guard run` and `guard run | cat
 *>FILE`.
 *
 *	stdio_proxy_start()	before pid 1 exists
 *	stdio_proxy_stop()	after the run's last process: waits until all
 *				output has been copied
 */
#ifndef GUARD_SANDBOX_STDIO_PROXY_H
#define GUARD_SANDBOX_STDIO_PROXY_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct stdio_proxy {
	pid_t pid; /* 0: none */
	int original_fd; /* the caller's descriptor */
	bool is_output;
};

/* For descriptors 0, 1, 2; all zeros: none. */
struct stdio_proxies {
	struct stdio_proxy items[3];
};

/* Starts a proxy for each descriptor for which is_wanted() returns true. */
int stdio_proxy_start(struct stdio_proxies *f,
		      bool (*is_wanted)(void *arg, int fd), void *arg,
		      struct err *err);
/* Restores the caller's descriptors and reaps the proxies. May be called
 * again. */
void stdio_proxy_stop(struct stdio_proxies *f);

#endif
