#include "guard/cli/report_sink.h"

#include <stdio.h>

#include "guard/cli/output.h"
#include "guard/cli/progress.h"
#include "guard/state/report.h"

static void print_reported(enum report_kind kind, const char *text)
{
	if (kind == REPORT_LINE)
		(void)printf("%s\n", text);
	else
		output_message(kind, "%s", text);
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
		.progress_start = progress_start,
		.progress = progress_bytes,
		.progress_end = progress_end,
		.is_quiet = output_is_quiet,
	};

	report_to(&sink);
}
