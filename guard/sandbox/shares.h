/*
 * What the kernel has only so much of for the machine or for a user as a whole,
 * and lets no namespace limit: open files, requests of aio, watches of epoll,
 * descriptors on their way from one process to another, ports. A run could
 * take all of it away from the programs outside.
 *
 * So guard looks now and then, as one of those programs: whether it still gets
 * some, or how much is left. Only when one of them is running out it counts
 * what the run holds; nobody else's greed ends a run.
 */
#ifndef GUARD_SANDBOX_SHARES_H
#define GUARD_SANDBOX_SHARES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum share {
	SHARE_NONE,
	SHARE_FILES,
	SHARE_REQUESTS,
	SHARE_WATCHES,
	SHARE_IN_FLIGHT,
	SHARE_PORTS,
	SHARE_KINDS,
};

struct shares {
	const char *proc; /* "/proc"; tests have their own figures */
	bool ports; /* the run has the machine's network */
	bool open; /* the descriptors below are: from the first look on */
	int files_fd, requests_fd; /* or -1 */
	int epoll_fd, watched_fd, pair[2]; /* or -1 */
};

#define SHARES_CLOSED                                                          \
	((struct shares){.proc = "/proc",                                      \
			 .files_fd = -1,                                       \
			 .requests_fd = -1,                                    \
			 .epoll_fd = -1,                                       \
			 .watched_fd = -1,                                     \
			 .pair = {-1, -1}})

void shares_close(struct shares *s);

/* The cheap look: what is running out; NONE: nothing is. */
enum share shares_look(struct shares *s);

/* Whether these processes hold so much of it that it is their doing. What they
 * hide is. */
bool shares_held(const struct shares *s, enum share share, const pid_t *pids,
		 size_t count);

/* "it had ...", for people. */
const char *shares_explain(enum share share);

#endif
