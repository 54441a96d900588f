/*
 * A process with as many open files as it may have gets EMFILE, and what it
 * makes of that is often no clear word; so it is with inotify, of which a run
 * has half of the user's. So guard has one: pid 1 looks when a
 * program ends with a failure (the filter that asks), guard now and then while
 * it runs.
 */
#ifndef GUARD_SANDBOX_LIMITS_FD_EXHAUSTION_H
#define GUARD_SANDBOX_LIMITS_FD_EXHAUSTION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define FD_EXHAUSTION_TEXT_LEN 80

enum fd_exhaustion_kind {
	FD_EXHAUSTION_FILES,
	FD_EXHAUSTION_INSTANCES, /* of inotify */
	FD_EXHAUSTION_WATCHES, /* of inotify */
};

struct fd_exhaustion {
	char name[32]; /* of the program, as it calls itself */
	enum fd_exhaustion_kind kind;
	uint64_t max_count; /* that it may have; 0: nobody was full */
	uint64_t hard_limit; /* to which it may raise that by itself */
};

/*
 * Whether the process has its files all open. ending: or had nearly so many
 * once: its table never shrinks, and many a language closes its files before
 * the end. False too when nothing can be seen.
 */
bool fd_exhaustion_check(pid_t pid, bool ending, struct fd_exhaustion *ret);

/*
 * Whether the run has all that it may of inotify, while the process ends with
 * a failure: asked by taking one more, so by pid 1, whose limit is the same.
 * Watches are asked about where the process has an instance.
 */
bool fd_exhaustion_check_inotify(pid_t pid, struct fd_exhaustion *ret);

/* For a note from pid 1 to guard. False: it is none. */
void fd_exhaustion_format(const struct fd_exhaustion *f,
			  char text[FD_EXHAUSTION_TEXT_LEN]);
bool fd_exhaustion_parse(const char *text, struct fd_exhaustion *ret);

#endif
