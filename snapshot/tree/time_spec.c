#include "snapshot/tree/time_spec.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "snapshot/tree/catalog.h"

#define NS UINT64_C(1000000000)

/* Reads digits; false for no digits or too many. */
static bool parse_decimal(const char **at, uint64_t *ret)
{
	uint64_t v = 0;
	int count = 0;

	while (isdigit((unsigned char)**at) && count++ < 18)
		v = v * 10 + (uint64_t)(*(*at)++ - '0');
	*ret = v;
	return count > 0 && !isdigit((unsigned char)**at);
}

static bool parse_fixed_decimal(const char **at, int digits, int *ret)
{
	*ret = 0;
	for (; digits; digits--) {
		if (!isdigit((unsigned char)**at))
			return false;
		*ret = *ret * 10 + (*(*at)++ - '0');
	}
	return true;
}

static void skip_spaces(const char **at)
{
	while (**at == ' ')
		(*at)++;
}

static bool parse_latest(const char *text, struct time_spec *ret)
{
	*ret = (struct time_spec){.kind = TIME_SPEC_LATEST};
	if (strncmp(text, "latest", 6) != 0)
		return false;
	text += 6;
	if (!*text)
		return true;
	return *text++ == '~' && parse_decimal(&text, &ret->number) && !*text;
}

static bool parse_seq(const char *text, struct time_spec *ret)
{
	*ret = (struct time_spec){.kind = TIME_SPEC_SEQ};
	text += *text == 's';
	return parse_decimal(&text, &ret->number) && !*text && ret->number;
}

static int64_t unit_seconds(const char *name, size_t len)
{
	static const struct {
		const char *name;
		int64_t seconds;
	} units[] = {
		{"s", 1},     {"sec", 1},     {"second", 1}, {"m", 60},
		{"min", 60},  {"minute", 60}, {"h", 3600},   {"hour", 3600},
		{"d", 86400}, {"day", 86400}, {"w", 604800}, {"week", 604800},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(units); i++) {
		size_t n = strlen(units[i].name);

		if (strncmp(units[i].name, name, n) == 0 &&
		    (len == n || (len == n + 1 && name[n] == 's' && n > 1)))
			return units[i].seconds;
	}
	return 0;
}

/* ".412" after a whole number: *ret is set to the first ns of it. */
static bool parse_fraction(const char **at, uint64_t *unit, uint64_t *ret)
{
	*ret = 0;
	if (*unit != NS || **at != '.')
		return true;
	while (isdigit((unsigned char)*++*at) && *unit > 1) {
		*unit /= 10;
		*ret += *unit * (uint64_t)(**at - '0');
	}
	return *unit < NS;
}

static bool parse_ago(const char *text, struct timestamp now,
		      struct time_spec *ret)
{
	uint64_t count, unit = NS, fraction;
	int64_t seconds;
	size_t len = 0;

	*ret = (struct time_spec){.kind = TIME_SPEC_TIME, .time = now};
	if (!parse_decimal(&text, &count) ||
	    !parse_fraction(&text, &unit, &fraction))
		return false;
	skip_spaces(&text);
	while (isalpha((unsigned char)text[len]))
		len++;
	seconds = unit_seconds(text, len);
	text += len;
	skip_spaces(&text);
	if (!seconds || (*text && strcmp(text, "ago") != 0))
		return false;
	if (count > INT64_MAX / 2 / (uint64_t)seconds)
		return false;
	fraction = fraction * (uint64_t)seconds + NS - 1 - now.nsec;
	ret->time.sec -= (int64_t)(count * (uint64_t)seconds + fraction / NS);
	ret->time.nsec = (uint32_t)(NS - 1 - fraction % NS);
	ret->begin = ret->time;
	return true;
}

/* *unit: ns that the text leaves open. */
static bool parse_clock(const char **at, struct tm *tm, uint64_t *unit)
{
	tm->tm_sec = 59;
	*unit = 60 * NS;
	if (!parse_fixed_decimal(at, 2, &tm->tm_hour) || *(*at)++ != ':' ||
	    !parse_fixed_decimal(at, 2, &tm->tm_min))
		return false;
	if (**at == ':') {
		(*at)++;
		*unit = NS;
		if (!parse_fixed_decimal(at, 2, &tm->tm_sec))
			return false;
	}
	return tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec < 61;
}

static bool parse_date(const char **at, struct tm *tm)
{
	if (!parse_fixed_decimal(at, 4, &tm->tm_year) || *(*at)++ != '-' ||
	    !parse_fixed_decimal(at, 2, &tm->tm_mon) || *(*at)++ != '-' ||
	    !parse_fixed_decimal(at, 2, &tm->tm_mday))
		return false;
	tm->tm_year -= 1900;
	tm->tm_mon--;
	return tm->tm_mon >= 0 && tm->tm_mon < 12 && tm->tm_mday >= 1 &&
	       tm->tm_mday <= 31;
}

/* Parses "today" or "yesterday" and moves tm to that day; false for other
 * texts. */
static bool parse_day(const char **at, struct tm *tm)
{
	static const char *const names[] = {"today", "yesterday"};
	int i;

	for (i = 0; i < 2; i++) {
		size_t len = strlen(names[i]);

		if (strncmp(*at, names[i], len) != 0)
			continue;
		*at += len;
		tm->tm_mday -= i;
		/* mktime(3) normalizes: the day before the first of a month is
		 * valid. */
		tm->tm_isdst = -1;
		tm->tm_hour = 12;
		return mktime(tm) != (time_t)-1;
	}
	return false;
}

static bool parse_time(const char *text, struct timestamp now,
		       struct time_spec *ret)
{
	time_t clock = (time_t)now.sec;
	struct tm tm;
	bool dated = text[0] && text[1] && text[2] != ':';
	bool utc = false;
	uint64_t unit = 86400 * NS, fraction = 0;
	int day;

	if (!localtime_r(&clock, &tm))
		return false;
	if (dated && !parse_day(&text, &tm) && !parse_date(&text, &tm))
		return false;
	tm.tm_hour = 23;
	tm.tm_min = tm.tm_sec = 59;
	if (dated && *text) {
		if (*text != ' ' && *text != 'T')
			return false;
		text++;
		skip_spaces(&text);
		if (!parse_clock(&text, &tm, &unit) ||
		    !parse_fraction(&text, &unit, &fraction))
			return false;
		utc = *text == 'Z';
		text += utc;
	}
	if (!dated && (!parse_clock(&text, &tm, &unit) ||
		       !parse_fraction(&text, &unit, &fraction)))
		return false;
	tm.tm_isdst = -1;
	day = tm.tm_mday;
	clock = utc ? timegm(&tm) : mktime(&tm);
	/* mktime(3) would turn 2026-02-30 into March 2. */
	if (*text || clock == (time_t)-1 || tm.tm_mday != day)
		return false;
	*ret = (struct time_spec){
		.kind = TIME_SPEC_TIME,
		.time = {.sec = clock, .nsec = NS - 1},
		.begin = {.sec = clock, .nsec = (uint32_t)fraction},
	};
	if (unit < NS)
		ret->time.nsec = (uint32_t)(fraction + unit - 1);
	else
		ret->begin.sec -= (int64_t)(unit / NS) - 1;
	return true;
}

int time_spec_parse(const char *text, struct timestamp now,
		    struct time_spec *ret, struct err *err)
{
	struct time_spec time_spec = {.kind = TIME_SPEC_LATEST};

	if (text && !parse_latest(text, &time_spec) &&
	    !parse_seq(text, &time_spec) && !parse_ago(text, now, &time_spec) &&
	    !parse_time(text, now, &time_spec))
		return fail(err, EDOM,
			    "invalid time %s: write 12 (a snapshot's number), "
			    "'latest', 'latest~2', '2h ago', '14:30', "
			    "'yesterday', '2026-11-21' or '2026-11-21 14:30'",
			    text_quote(text));
	*ret = time_spec;
	return 0;
}

/* --- finding a snapshot --- */

/* State of a search, and facts for the message when the search finds
 * nothing. */
struct snapshot_search {
	struct store *store;
	struct time_spec time_spec;
	const char *path, *text;
	bool need_path;
	/* snapshots that know about the path, whether they contain it or not */
	uint64_t covering;
	uint64_t having; /* snapshots among them that contain the path */
	uint64_t oldest; /* number and time of the oldest of these */
	struct timestamp oldest_time;
	/* newest snapshot from which the path, or a directory above it, was
	 * purged; 0: none */
	uint64_t purged;
	char *purge; /* text of the purge note */
	uint64_t damaged;
	struct err damage; /* error of the last damaged snapshot */
};

static int contains_path(struct snapshot_search *f, const struct snapshot *s,
			 struct err *err)
{
	AUTO(entry) struct entry found = {0};

	if (!f->need_path)
		return 1;
	return tree_lookup(f->store, &s->root, path_rest(f->path, s->root_path),
			   &found, err);
}

static void snapshot_search_free(struct snapshot_search *f)
{
	free(f->purge);
}

/* 1: the search ends with this snapshot; 0: it continues with older ones. */
static int examine_snapshot(struct snapshot_search *f, const struct snapshot *s,
			    struct err *err)
{
	const char *note;
	int got;

	if (!path_below(f->path, s->root_path) || snapshot_of_run(s))
		return 0;
	got = snapshot_covers_path(f->store, s, f->path, err);
	if (got <= 0)
		return got;
	f->covering++;
	got = contains_path(f, s, err);
	if (got == 0 && !f->purge &&
	    (note = snapshot_purge_note(s, path_rest(f->path, s->root_path)))) {
		f->purge = mem_strdup(note);
		f->purged = s->seq;
	}
	if (got <= 0)
		return got;
	f->having++;
	f->oldest = s->seq;
	f->oldest_time = s->time;
	return f->time_spec.kind == TIME_SPEC_LATEST
		       ? f->having == f->time_spec.number + 1
		       : timestamp_compare(s->time, f->time_spec.time) <= 0;
}

static int fail_no_snapshot(const struct snapshot_search *f, struct err *err)
{
	const char *at = text_time(f->oldest_time);

	if (f->damaged && !f->having)
		return fail(err, EBADMSG, "%s", f->damage.text);
	if (!f->covering)
		return fail(err, ENOENT,
			    "no snapshot of %s exists yet: `guard snapshot` "
			    "creates one",
			    text_quote(f->path));
	if (!f->having && f->purge)
		return fail(err, ENODATA,
			    "%s of snapshot %" PRIu64
			    " was %s, and no other snapshot has it",
			    text_quote(f->path), f->purged, f->purge);
	if (!f->having)
		return fail(err, ENOENT,
			    "no such path: %s in %s; `guard find NAME` "
			    "searches all of them for a name",
			    text_quote(f->path),
			    text_count(f->covering, "snapshot"));
	if (f->time_spec.kind == TIME_SPEC_LATEST)
		return fail(err, ENOENT,
			    "%s has only %s; the oldest is snapshot %" PRIu64
			    " of %s",
			    text_quote(f->path),
			    text_count(f->having, "version"), f->oldest, at);
	return fail(err, ENOENT,
		    "%s has no version as old as %s: the oldest is snapshot "
		    "%" PRIu64 " of %s",
		    text_quote(f->path), text_quote(f->text), f->oldest, at);
}

/* A sequence number names one file: no other snapshot is loaded. */
static int find_by_seq(struct snapshot_search *f, struct snapshot *ret,
		       struct err *err)
{
	AUTO(snapshot) struct snapshot s = {0};
	int got = catalog_load_version(f->store, f->time_spec.number, &s, err);
	const char *note;

	if (got < 0)
		return got;
	if (!path_below(f->path, s.root_path))
		return fail(err, ENOENT,
			    "snapshot %" PRIu64
			    " is a snapshot of %s and does not cover %s",
			    s.seq, text_quote(s.root_path),
			    text_quote(f->path));
	got = contains_path(f, &s, err);
	if (got < 0)
		return got;
	note = snapshot_purge_note(&s, path_rest(f->path, s.root_path));
	if (!got && note)
		return fail(err, ENODATA, "%s of snapshot %" PRIu64 " was %s",
			    text_quote(f->path), s.seq, note);
	if (!got)
		return fail(err, ENOENT,
			    "no such path: %s in snapshot %" PRIu64
			    "; `guard find NAME` searches all snapshots for a "
			    "name",
			    text_quote(f->path), s.seq);
	*ret = TAKE(s);
	return 0;
}

int catalog_find(struct store *store, const char *time_spec, const char *path,
		 bool need_path, struct snapshot *ret, struct err *err)
{
	AUTO(snapshot_search)
	struct snapshot_search f = {.store = store,
				    .path = path,
				    .text = time_spec ? time_spec : "latest",
				    .need_path = need_path};
	auto_free uint64_t *seqs = NULL;
	size_t count;

	if (time_spec_parse(time_spec, timestamp_now(), &f.time_spec, err) < 0)
		return -err->num;
	if (f.time_spec.kind == TIME_SPEC_SEQ)
		return find_by_seq(&f, ret, err);
	if (catalog_list(store, &seqs, &count, err) < 0)
		return -err->num;
	while (count--) {
		AUTO(snapshot) struct snapshot s = {0};
		int got = catalog_load(store, seqs[count], &s, &f.damage);

		if (got < 0) {
			/* -ENOENT: pruned since the listing */
			f.damaged += got != -ENOENT;
			continue;
		}
		got = examine_snapshot(&f, &s, err);
		if (got < 0)
			return got;
		if (got) {
			*ret = TAKE(s);
			return 0;
		}
	}
	return fail_no_snapshot(&f, err);
}
