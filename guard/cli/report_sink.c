#include "guard/cli/report_sink.h"

#include <stdio.h>

#include "guard/cli/output.h"
#include "guard/cli/progress.h"
#include "guard/report.h"

static void print_reported(enum report_kind kind, const char *text)
{
	if (kind == REPORT_NOTE)
		output_print("%s", text);
	else if (kind == REPORT_HINT)
		output_hint("%s", text);
	else
		output_warn("%s", text);
}

static void print_reported_line(const char *text)
{
	(void)printf("%s\n", text);
}

static struct progress reported_progress;

static void start_reported_progress(const char *action)
{
	progress_start(&reported_progress, action);
}

static void show_reported_progress(uint64_t done, uint64_t total)
{
	progress_bytes(&reported_progress, done, total);
}

static void end_reported_progress(void)
{
	progress_end(&reported_progress);
}

static bool confirm_reported(bool yes, const char *question)
{
	return output_confirm(yes, "%s", question);
}

void report_sink_install(void)
{
	static const struct report_sink sink = {
		.message = print_reported,
		.error = output_error,
		.confirm = confirm_reported,
		.progress_start = start_reported_progress,
		.progress = show_reported_progress,
		.progress_end = end_reported_progress,
		.line = print_reported_line,
		.is_quiet = output_is_quiet,
	};

	report_to(&sink);
}
