/*
 * Detects programs that ran out of descriptors (EMFILE), or of inotify, of
 * which a run has half of the user's: their own messages are often unclear, so
 * guard reports the cause. pid 1 checks a program that ends with a failure (the
 * notifying filter), guard checks the processes periodically.
 */
#ifndef GUARD_SANDBOX_LIMITS_FD_EXHAUSTION_H
#define GUARD_SANDBOX_LIMITS_FD_EXHAUSTION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define FD_EXHAUSTION_TEXT_LEN 80

enum fd_exhaustion_kind {
	FD_EXHAUSTION_FILES,
	FD_EXHAUSTION_INSTANCES, /* inotify instances */
	FD_EXHAUSTION_WATCHES, /* inotify watches */
};

struct fd_exhaustion {
	char name[32]; /* of the program, from /proc/PID/status */
	enum fd_exhaustion_kind kind;
	uint64_t max_count; /* its limit; 0: not exhausted */
	uint64_t hard_limit; /* the program may raise max_count to this */
};

/* True if the process has no descriptors left. ending: or once had nearly none:
 * its table never shrinks, and many language runtimes close files before the
 * exit. False as well if /proc is unreadable. */
bool fd_exhaustion_check(pid_t pid, bool ending, struct fd_exhaustion *ret);

/* True if the run has no inotify instances or watches left. Called in pid 1,
 * which has the same limits, while the process ends with a failure: the check
 * takes one more. Watches are checked only if the process has an instance. */
bool fd_exhaustion_check_inotify(pid_t pid, struct fd_exhaustion *ret);

/* Convert to and from the text of MESSAGE_FD_EXHAUSTION. Parsing returns false
 * for any other text. */
void fd_exhaustion_format(const struct fd_exhaustion *f,
			  char text[FD_EXHAUSTION_TEXT_LEN]);
bool fd_exhaustion_parse(const char *text, struct fd_exhaustion *ret);

#endif
