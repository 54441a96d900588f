#include "guard/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "guard/output.h"

static double seconds(void)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void progress_start(struct progress *p, const char *verb)
{
	*p = (struct progress){.verb = verb, .start = seconds()};
}

void progress_bytes(struct progress *p, uint64_t done, uint64_t total)
{
	double now = seconds(), rate;

	if (now - p->start < 1 || now - p->last < 0.2 || output_is_quiet() ||
	    !isatty(STDERR_FILENO))
		return;
	p->last = now;
	p->shown = true;
	rate = (double)done / (now - p->start);
	(void)fprintf(stderr, "\r\033[Kguard: %s: %s", p->verb,
		      text_size(done));
	if (total > done && rate > 0)
		(void)fprintf(stderr, " of %s, %s/s, %.0f s left",
			      text_size(total), text_size((uint64_t)rate),
			      (double)(total - done) / rate);
	(void)fflush(stderr);
}

void progress_end(struct progress *p)
{
	if (p->shown)
		(void)fprintf(stderr, "\r\033[K");
	p->shown = false;
}
