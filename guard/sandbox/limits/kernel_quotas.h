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
#ifndef GUARD_SANDBOX_LIMITS_KERNEL_QUOTAS_H
#define GUARD_SANDBOX_LIMITS_KERNEL_QUOTAS_H

#include <stdbool.h>
#include <sys/types.h>

enum quota {
	QUOTA_NONE,
	QUOTA_FILES,
	QUOTA_REQUESTS,
	QUOTA_WATCHES,
	QUOTA_IN_FLIGHT,
	QUOTA_PORTS,
	QUOTA_KINDS,
};

struct kernel_quotas {
	const char *proc; /* "/proc"; tests have their own figures */
	bool ports; /* the run has the machine's network */
	pid_t init; /* the run's pid 1, where all of its commands have one
		     * filter for calls more than that; or 0 */
	bool open; /* the descriptors below are: from the first look on */
	unsigned int external; /* a bit each: it was short before the run */
	int files_fd, requests_fd; /* or -1 */
	int epoll_fd, watched_fd, pair[2]; /* or -1 */
};

#define KERNEL_QUOTAS_CLOSED                                                   \
	((struct kernel_quotas){.proc = "/proc",                               \
				.files_fd = -1,                                \
				.requests_fd = -1,                             \
				.epoll_fd = -1,                                \
				.watched_fd = -1,                              \
				.pair = {-1, -1}})

void kernel_quotas_close(struct kernel_quotas *s);

/*
 * The cheap look: what is running out, the first after that one (QUOTA_NONE:
 * of all); QUOTA_NONE: nothing is. What was short at the first look already is
 * others' doing, until it is not short any more.
 */
enum quota kernel_quotas_check(struct kernel_quotas *s, enum quota after);

/* Whether these processes hold so much of it that it is their doing. What they
 * hide is; guard's own among them, which moves folders for the run, hides and
 * holds nothing. */
bool kernel_quotas_held(const struct kernel_quotas *s, enum quota quota,
			const pid_t *pids, size_t count);

/* "it had ...", for people. */
const char *kernel_quotas_explain(enum quota quota);

#endif
