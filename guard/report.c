#include "guard/report.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/auto.h"

static const struct report_sink *current_sink;

void report_to(const struct report_sink *sink)
{
	current_sink = sink;
}

__attribute__((format(printf, 2, 0))) static void
report_message(enum report_kind kind, const char *format, va_list ap)
{
	auto_free char *text = NULL;

	if (!current_sink)
		return;
	if (vasprintf(&text, format, ap) < 0) {
		text = NULL;
		return;
	}
	current_sink->message(kind, text);
}

void report_note(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	report_message(REPORT_NOTE, format, ap);
	va_end(ap);
}

void report_hint(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	report_message(REPORT_HINT, format, ap);
	va_end(ap);
}

void report_warning(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	report_message(REPORT_WARNING, format, ap);
	va_end(ap);
}

void report_error(const struct err *err)
{
	if (current_sink)
		current_sink->error(err);
}

bool report_confirm(bool yes, const char *format, ...)
{
	auto_free char *question = NULL;
	va_list ap;
	int len;

	if (!current_sink)
		return yes;
	va_start(ap, format);
	len = vasprintf(&question, format, ap);
	va_end(ap);
	if (len < 0) {
		question = NULL;
		return false;
	}
	return current_sink->confirm(yes, question);
}

void report_line(const char *format, ...)
{
	auto_free char *text = NULL;
	va_list ap;
	int len;

	if (!current_sink)
		return;
	va_start(ap, format);
	len = vasprintf(&text, format, ap);
	va_end(ap);
	if (len < 0)
		text = NULL;
	else
		current_sink->line(text);
}

bool report_is_quiet(void)
{
	return current_sink && current_sink->is_quiet();
}

void report_progress_start(const char *action)
{
	if (current_sink)
		current_sink->progress_start(action);
}

void report_progress(uint64_t done, uint64_t total)
{
	if (current_sink)
		current_sink->progress(done, total);
}

void report_progress_end(void)
{
	if (current_sink)
		current_sink->progress_end();
}
