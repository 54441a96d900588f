#include "guard/cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/output.h"

#define AFTER 1.0 /* seconds before anything is shown */
#define EVERY 0.2

static bool json;

/* Only one operation at a time shows its progress. */
static struct {
	const char *verb;
	const char *noun; /* the counted noun, NULL: bytes */
	uint64_t done, total;
	double start, last; /* seconds */
	bool shown;
} current;

void progress_as_json(void)
{
	json = true;
}

static double monotonic_seconds(void)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double progress_rate(void)
{
	double passed = current.last - current.start;

	return passed > 0 ? (double)current.done / passed : 0;
}

static void write_json(bool ended)
{
	double rate = progress_rate();
	AUTO(buf) struct buf b = {0};

	buf_printf(&b,
		   "{\"progress\": \"%s\", \"unit\": \"%s%s\", "
		   "\"done\": %llu, \"total\": ",
		   current.verb, current.noun ?: "bytes",
		   current.noun ? "s" : "", (unsigned long long)current.done);
	if (current.total)
		buf_printf(&b, "%llu", (unsigned long long)current.total);
	else
		buf_add_text(&b, "null");
	buf_printf(&b, ", \"seconds\": %.1f, \"rate\": %.1f, \"eta\": ",
		   current.last - current.start, rate);
	if (current.total && rate > 0)
		buf_printf(&b, "%.1f",
			   current.total > current.done
				   ? (double)(current.total - current.done) /
					     rate
				   : 0.0);
	else
		buf_add_text(&b, "null");
	(void)fprintf(output_stderr(), "%s, \"ended\": %s}\n", buf_text(&b),
		      ended ? "true" : "false");
}

static void write_line(void)
{
	AUTO(buf) struct buf b = {0};
	double rate = progress_rate(), left;
	bool bytes = !current.noun;
	struct winsize size;
	size_t columns = 79;

	/* A line that wraps cannot be erased. */
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 2)
		columns = size.ws_col - 1U;
	buf_printf(&b, "guard: %s: ", current.verb);
	buf_add_text(&b, bytes ? text_size(current.done)
			       : text_count(current.done, current.noun));
	if (current.total >= current.done && current.total) {
		if (bytes)
			buf_printf(&b, " of %s", text_size(current.total));
		else
			buf_printf(&b, " of %llu",
				   (unsigned long long)current.total);
		buf_printf(&b, " (%.0f %%)",
			   100.0 * (double)current.done /
				   (double)current.total);
	}
	if (bytes)
		buf_printf(&b, ", %s/s", text_size((uint64_t)rate));
	else
		buf_printf(&b, ", %.0f/s", rate);
	if (current.total > current.done && rate > 0) {
		left = (double)(current.total - current.done) / rate;
		if (left >= 5400)
			buf_printf(&b, ", %.1f h left", left / 3600);
		else if (left >= 90)
			buf_printf(&b, ", %.0f min left", left / 60);
		else
			buf_printf(&b, ", %.0f s left", left);
	}
	current.shown = true;
	(void)fprintf(output_stderr(), "\r\033[K%.*s",
		      (int)text_fit(buf_text(&b), columns), buf_text(&b));
}

void progress_start(const char *verb)
{
	memset(&current, 0, sizeof(current));
	current.verb = verb;
	current.start = monotonic_seconds();
}

void progress_show(void *unused, const char *noun, uint64_t done,
		   uint64_t total)
{
	double now = monotonic_seconds();

	(void)unused;
	current.noun = noun;
	current.done = done;
	current.total = total;
	if (now - current.last < EVERY ||
	    (!json && now - current.start < AFTER))
		return;
	if (!json && (output_is_quiet() || !isatty(STDERR_FILENO) ||
		      !output_term_is_capable()))
		return;
	current.last = now;
	if (json)
		write_json(false);
	else
		write_line();
}

void progress_bytes(uint64_t done, uint64_t total)
{
	progress_show(NULL, NULL, done, total);
}

void progress_show_bytes(void *unused, uint64_t done, uint64_t total)
{
	progress_show(unused, NULL, done, total);
}

void progress_wait(void *unused, const char *who)
{
	(void)unused;
	progress_pause();
	output_warn("the store is in use by %s: waiting", who);
}

void progress_pause(void)
{
	if (current.shown)
		(void)fprintf(output_stderr(), "\r\033[K");
	current.shown = false;
}

void progress_end(void)
{
	progress_pause();
	if (json && current.verb) {
		current.last = monotonic_seconds();
		write_json(true);
	}
	memset(&current, 0, sizeof(current));
}
