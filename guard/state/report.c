#include "guard/state/report.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/mem.h"

static const struct report_sink *current_sink;

void report_to(const struct report_sink *sink)
{
	current_sink = sink;
}

void report_message(enum report_kind kind, const char *format, ...)
{
	auto_free char *text = NULL;
	va_list ap;

	if (!current_sink)
		return;
	va_start(ap, format);
	text = mem_vprintf(format, ap);
	va_end(ap);
	current_sink->message(kind, text);
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

	if (!current_sink || !current_sink->confirm)
		return yes;
	va_start(ap, format);
	question = mem_vprintf(format, ap);
	va_end(ap);
	return current_sink->confirm(yes, question);
}

bool report_is_quiet(void)
{
	return current_sink && current_sink->is_quiet &&
	       current_sink->is_quiet();
}

void report_progress_start(const char *action)
{
	if (current_sink && current_sink->progress_start)
		current_sink->progress_start(action);
}

void report_progress(uint64_t done, uint64_t total)
{
	if (current_sink && current_sink->progress)
		current_sink->progress(done, total);
}

void report_progress_end(void)
{
	if (current_sink && current_sink->progress_end)
		current_sink->progress_end();
}
