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
#include <stdint.h>

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
	/* How far a transaction has come, in bytes; total 0: unknown. */
	void (*progress_start)(const char *action);
	void (*progress)(uint64_t done, uint64_t total);
	void (*progress_end)(void);
	/* A line of the result, on stdout. */
	void (*line)(const char *text);
	bool (*is_quiet)(void);
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

/* A line of the verb's result: names in it are escaped. */
void report_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Whether --quiet drops notes. */
bool report_is_quiet(void);

/* One operation at a time. The end may be called twice. */
void report_progress_start(const char *action);
void report_progress(uint64_t done, uint64_t total);
void report_progress_end(void);

#endif
