/*
 * A process with as many open files as it may have gets EMFILE, and what it
 * makes of that is often no clear word. So guard has one: pid 1 looks when a
 * program ends with a failure (the filter that asks), guard now and then while
 * it runs.
 */
#ifndef GUARD_SANDBOX_FULL_H
#define GUARD_SANDBOX_FULL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define FULL_TEXT_LEN 80

struct full {
	char name[32]; /* of the program, as it calls itself */
	uint64_t most; /* files that it may have open; 0: nobody was full */
	uint64_t could; /* to which it may raise that by itself */
};

/*
 * Whether the process has its files all open. ending: or had nearly so many
 * once: its table never shrinks, and many a language closes its files before
 * the end. False too when nothing can be seen.
 */
bool full_look(pid_t pid, bool ending, struct full *ret);

/* For a note from pid 1 to guard. False: it is none. */
void full_print(const struct full *f, char text[FULL_TEXT_LEN]);
bool full_parse(const char *text, struct full *ret);

#endif
