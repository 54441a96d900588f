/*
 * Messages and questions of the code below guard/cli. That code never prints
 * and never reads the terminal: it passes its texts to the sink that guard/cli
 * sets at the start of the program. Without a sink (in unit tests) messages are
 * dropped and questions are answered with their argument `yes`.
 *
 * The caller quotes file names in a text with text_quote() or escapes them. Not
 * thread-safe.
 */
#ifndef GUARD_STATE_REPORT_H
#define GUARD_STATE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum report_kind {
	REPORT_NOTE, /* dropped by --quiet */
	REPORT_HINT, /* the next step, below a note; dropped by --quiet */
	REPORT_WARNING,
	REPORT_LINE, /* a line of the result, on stdout; names are escaped */
};

/* A sink may leave out the functions behind error (NULL): a question is then
 * answered with `yes`, and progress is dropped. */
struct report_sink {
	void (*message)(enum report_kind kind, const char *text);
	/* An error that ends the verb or a part of its work. */
	void (*error)(const struct err *err);
	/* yes: the user has already agreed. Returns whether to continue. */
	bool (*confirm)(bool yes, const char *question);
	/* Progress of a transaction, in bytes; total 0: unknown. */
	void (*progress_start)(const char *action);
	void (*progress)(uint64_t done, uint64_t total);
	void (*progress_end)(void);
	bool (*is_quiet)(void);
};

/* Sets the sink, which must stay valid until the next call. */
void report_to(const struct report_sink *sink);

/* Sends a formatted text to the sink. */
void report_message(enum report_kind kind, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
#define report_note(...) report_message(REPORT_NOTE, __VA_ARGS__)
#define report_hint(...) report_message(REPORT_HINT, __VA_ARGS__)
#define report_warning(...) report_message(REPORT_WARNING, __VA_ARGS__)
#define report_line(...) report_message(REPORT_LINE, __VA_ARGS__)
/* Sends an error that ends the verb or a part of its work. */
void report_error(const struct err *err);

/* Asks the question before an action. When the answer is no, the sink prints
 * so. */
bool report_confirm(bool yes, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Whether --quiet drops notes. */
bool report_is_quiet(void);

/* Progress of one operation at a time. The end may be reported twice. */
void report_progress_start(const char *action);
void report_progress(uint64_t done, uint64_t total);
void report_progress_end(void);

#endif
