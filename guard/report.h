/*
 * Messages and questions of the code below guard/cli. That code never prints
 * and never reads the terminal: it hands its texts to the sink that guard/cli
 * sets at the start of the program. Without a sink (in unit tests) messages
 * are dropped and questions are answered no.
 *
 * Names of files in a text are quoted by text_quote() or escaped by the caller.
 * Not for use in several threads.
 */
#ifndef GUARD_REPORT_H
#define GUARD_REPORT_H

#include <stdbool.h>

#include "base/err.h"

enum report_kind {
	REPORT_NOTE, /* dropped by --quiet */
	REPORT_HINT, /* a next step below a note; dropped by --quiet */
	REPORT_WARNING,
};

struct report_sink {
	void (*message)(enum report_kind kind, const char *text);
	/* An error that ends the verb or a part of its work. */
	void (*error)(const struct err *err);
	/* yes: the user has agreed already. Whether to do what is asked. */
	bool (*confirm)(bool yes, const char *question);
};

/* sink is borrowed, and holds until the next call. */
void report_to(const struct report_sink *sink);

void report_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void report_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));
void report_warning(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
void report_error(const struct err *err);

/* Asks before something is done; the sink says so when the answer is no. */
bool report_confirm(bool yes, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
