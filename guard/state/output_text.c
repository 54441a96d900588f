#include "guard/state/output_text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"

#define RING 8
#define RING_LEN 40
#define CUT_COLUMNS 60

static char *next_output_buffer(void)
{
	static char ring[RING][RING_LEN];
	static unsigned int at;

	return ring[at++ % RING];
}

void output_name(struct buf *to, const char *name)
{
	text_escape(to, name, strlen(name), false);
}

void output_list(struct buf *to, char *const *texts)
{
	size_t i;

	for (i = 0; texts && texts[i]; i++) {
		buf_add_text(to, i ? ", " : "");
		output_name(to, texts[i]);
	}
}

void output_path(struct buf *to, const char *path, const char *here)
{
	const char *rest =
		path_below(path, here) ? path_rest(path, here) : path;

	output_name(to, *rest ? rest : ".");
}

void output_truncated(struct buf *to, const char *text)
{
	AUTO(buf) struct buf all = {0};
	size_t len;

	output_name(&all, text);
	len = text_fit(buf_text(&all), CUT_COLUMNS);
	buf_add(to, buf_text(&all), len);
	if (len < all.len)
		buf_add_text(to, "...");
}

const char *output_age(struct timestamp when)
{
	static const struct {
		int64_t below, unit;
		const char *name;
	} steps[] = {
		{120, 1, "s"},
		{2 * 3600, 60, "min"},
		{48 * 3600, 3600, "h"},
		{INT64_MAX, 86400, "d"},
	};
	int64_t age = timestamp_now().sec - when.sec;
	bool future = age < 0;
	char *out = next_output_buffer();
	size_t i = 0;

	if (future)
		age = -age;
	while (age >= steps[i].below)
		i++;
	(void)snprintf(out, RING_LEN, "%s%lld %s%s", future ? "in " : "",
		       (long long)(age / steps[i].unit), steps[i].name,
		       future ? "" : " ago");
	return out;
}

const char *output_time(struct timestamp when)
{
	char *out = next_output_buffer();
	time_t sec = (time_t)when.sec;
	struct tm tm;

	if (!localtime_r(&sec, &tm) ||
	    strftime(out, RING_LEN, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		(void)snprintf(out, RING_LEN, "@%lld", (long long)when.sec);
	return out;
}
