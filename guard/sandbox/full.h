/*
 * A process with as many open files as it may have gets EMFILE, and what it
 * makes of that is often no clear word; so it is with inotify, of which a run
 * has half of the user's. So guard has one: pid 1 looks when a
 * program ends with a failure (the filter that asks), guard now and then while
 * it runs.
 */
#ifndef GUARD_SANDBOX_FULL_H
#define GUARD_SANDBOX_FULL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define FULL_TEXT_LEN 80

enum full_what {
	FULL_FILES,
	FULL_INSTANCES, /* of inotify */
	FULL_WATCHES, /* of inotify */
};

struct full {
	char name[32]; /* of the program, as it calls itself */
	enum full_what what;
	uint64_t most; /* that it may have; 0: nobody was full */
	uint64_t could; /* to which it may raise that by itself */
};

/*
 * Whether the process has its files all open. ending: or had nearly so many
 * once: its table never shrinks, and many a language closes its files before
 * the end. False too when nothing can be seen.
 */
bool full_look(pid_t pid, bool ending, struct full *ret);

/*
 * Whether the run has all that it may of inotify, while the process ends with
 * a failure: asked by taking one more, so by pid 1, whose limit is the same.
 * Watches are asked about where the process has an instance.
 */
bool full_look_watching(pid_t pid, struct full *ret);

/* For a note from pid 1 to guard. False: it is none. */
void full_print(const struct full *f, char text[FULL_TEXT_LEN]);
bool full_parse(const char *text, struct full *ret);

#endif
