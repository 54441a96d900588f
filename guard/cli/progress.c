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

bool progress_read(const struct verb *verb, int id, const char *value, void *to)
{
	(void)id;
	(void)to;
	if (strcmp(value, "json") == 0 || strcmp(value, "auto") == 0) {
		json = *value == 'j';
		return true;
	}
	options_usage_error(verb, "--progress: auto or json, not %s",
			    text_quote(value));
	return false;
}

static double monotonic_seconds(void)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void progress_start(struct progress *p, const char *verb)
{
	*p = (struct progress){.verb = verb, .start = monotonic_seconds()};
}

static void write_json(const struct progress *p, double rate, bool ended)
{
	AUTO(buf) struct buf b = {0};

	buf_printf(&b,
		   "{\"progress\": \"%s\", \"unit\": \"%s%s\", "
		   "\"done\": %llu, \"total\": ",
		   p->verb, p->noun ? p->noun : "bytes", p->noun ? "s" : "",
		   (unsigned long long)p->done);
	if (p->total)
		buf_printf(&b, "%llu", (unsigned long long)p->total);
	else
		buf_add_text(&b, "null");
	buf_printf(&b, ", \"seconds\": %.1f, \"rate\": %.1f, \"eta\": ",
		   p->last - p->start, rate);
	if (p->total && rate > 0)
		buf_printf(&b, "%.1f",
			   p->total > p->done
				   ? (double)(p->total - p->done) / rate
				   : 0.0);
	else
		buf_add_text(&b, "null");
	(void)fprintf(stderr, "%s, \"ended\": %s}\n", buf_text(&b),
		      ended ? "true" : "false");
}

static void add_time_left(struct buf *to, double left)
{
	if (left >= 5400)
		buf_printf(to, ", %.1f h left", left / 3600);
	else if (left >= 90)
		buf_printf(to, ", %.0f min left", left / 60);
	else
		buf_printf(to, ", %.0f s left", left);
}

/* A line that wraps cannot be erased. */
static size_t line_columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 2)
		return 79;
	return size.ws_col - 1U;
}

static void write_line(struct progress *p, double rate)
{
	AUTO(buf) struct buf b = {0};
	bool bytes = !p->noun;
	size_t columns = line_columns();

	buf_printf(&b, "guard: %s: ", p->verb);
	buf_add_text(&b,
		     bytes ? text_size(p->done) : text_count(p->done, p->noun));
	if (p->total >= p->done && p->total) {
		if (bytes)
			buf_printf(&b, " of %s", text_size(p->total));
		else
			buf_printf(&b, " of %llu",
				   (unsigned long long)p->total);
		buf_printf(&b, " (%.0f %%)",
			   100.0 * (double)p->done / (double)p->total);
	}
	if (bytes)
		buf_printf(&b, ", %s/s", text_size((uint64_t)rate));
	else
		buf_printf(&b, ", %.0f/s", rate);
	if (p->total > p->done && rate > 0)
		add_time_left(&b, (double)(p->total - p->done) / rate);
	p->shown = true;
	(void)fprintf(stderr, "\r\033[K%.*s",
		      (int)text_fit(buf_text(&b), columns), buf_text(&b));
	(void)fflush(stderr);
}

static double rate_of(const struct progress *p)
{
	double passed = p->last - p->start;

	return passed > 0 ? (double)p->done / passed : 0;
}

static void update_progress(struct progress *p)
{
	double now = monotonic_seconds();

	if (now - p->last < EVERY || (!json && now - p->start < AFTER))
		return;
	if (!json && (output_is_quiet() || !isatty(STDERR_FILENO) ||
		      !output_term_is_capable()))
		return;
	p->last = now;
	if (json)
		write_json(p, rate_of(p), false);
	else
		write_line(p, rate_of(p));
}

void progress_bytes(struct progress *p, uint64_t done, uint64_t total)
{
	p->noun = NULL;
	p->done = done;
	p->total = total;
	update_progress(p);
}

void progress_count(struct progress *p, uint64_t done, uint64_t total,
		    const char *noun)
{
	p->noun = noun;
	p->done = done;
	p->total = total;
	update_progress(p);
}

void progress_pause(struct progress *p)
{
	if (p->shown)
		(void)fprintf(stderr, "\r\033[K");
	p->shown = false;
}

void progress_end(struct progress *p)
{
	progress_pause(p);
	if (json && p->verb) {
		p->last = monotonic_seconds();
		write_json(p, rate_of(p), true);
	}
	*p = (struct progress){0};
}
