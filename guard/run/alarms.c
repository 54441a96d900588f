#include "guard/run/alarms.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/rules/risk.h"
#include "guard/sandbox/freezer.h"
#include "guard/state/usage.h"
#include "guard/timeline/timeline.h"

#define WINDOW_MS 10000
#define SETTLE_MS 500
#define REPEAT_MS 30000
#define GROWTH_MS 60000
#define GROWTH_BYTES 1000000000u
/* Records that are read at once. */
#define READ_MAX (1u << 20)
/* A fifth of so many files, 100, is always many. */
#define FILES_MOST 500
#define FILES_SHARE 5
#define EVENTS_MOST 1000
/* An older file was moved, not written. */
#define OLD_S 60

/* --- files from before the run --- */

static int64_t counted;

static int count_file(const char *path, const struct stat *st, int type,
		      struct FTW *at)
{
	const char *name = path + at->base;

	(void)st;
	if (at->level && (risk_is_generated(name) || strcmp(name, ".git") == 0))
		return FTW_SKIP_SUBTREE;
	counted += type == FTW_F;
	return counted < FILES_MOST ? FTW_CONTINUE : FTW_STOP;
}

/* The files at a path and below it, up to FILES_MOST. */
static int64_t count_files(const char *path)
{
	counted = 0;
	(void)nftw(path, count_file, 16, FTW_PHYS | FTW_ACTIONRETVAL);
	return counted;
}

/* The path in a .git, "" for the directory itself; NULL: there is none. */
static const char *path_in_git(const char *path)
{
	const char *in = strstr(path, "/.git");

	return !in || (in[5] && in[5] != '/') ? NULL : in + 5 + (in[5] == '/');
}

/* git itself deletes refs, and packs after it has written another one. */
static bool is_git_core(const struct alarms *a, const char *in, bool gone,
			int64_t now)
{
	static const char *const core[] = {
		"", "HEAD", "index", "refs", "objects", "packed-refs", NULL};

	return mem_list_has(core, in) || (!gone && path_below(in, "refs")) ||
	       (path_below(in, "objects/pack") &&
		(!a->packed || now - a->packed > GROWTH_MS));
}

/* --- events --- */

static void drop_event(struct alarms *a, size_t i)
{
	free(a->events.items[i].path);
	a->events.items[i] = a->events.items[--a->events.count];
}

/* Drops the events of a path that has an entry again. Whether the path is below
 * a lost directory. */
static bool drop_path(struct alarms *a, const char *path)
{
	bool below = false;
	size_t i;

	for (i = a->events.count; i--;)
		if (strcmp(a->events.items[i].path, path) == 0)
			drop_event(a, i);
		else
			below |= path_below(path, a->events.items[i].path);
	return below;
}

static void take_record(struct alarms *a, const struct timeline_record *r,
			int64_t now)
{
	auto_free char *path = NULL;
	const char *in_git;
	struct alarm_event *last;
	struct stat st;
	bool gone = r->kind == TIMELINE_GONE || r->kind == TIMELINE_OPAQUE;
	bool emptied, below;
	enum alarm_kind kind;
	int64_t files;

	if (r->root >= a->session->root_count || !timeline_is_state(r) ||
	    risk_in_generated(r->path) || risk_is_generated(path_name(r->path)))
		return;
	path = path_join(a->session->roots[r->root].path, r->path);
	in_git = path_in_git(path);
	below = drop_path(a, path);
	emptied = S_ISREG(r->mode) && !r->size && lstat(path, &st) == 0 &&
		  st.st_size;
	kind = in_git ? ALARM_GIT : emptied ? ALARM_EMPTIED : ALARM_DELETED;
	if (in_git && S_ISREG(r->mode) && path_below(in_git, "objects/pack"))
		a->packed = now;
	if (in_git)
		files = (gone || emptied) && is_git_core(a, in_git, gone, now);
	else if (gone || emptied)
		files = gone ? count_files(path) : 1;
	else
		files = -(S_ISREG(r->mode) &&
			  (below || r->mtime.sec < r->time.sec - OLD_S));
	if (!files)
		return;
	/* Each event is compared with each later record. */
	last = a->events.count ? &a->events.items[a->events.count - 1] : NULL;
	if (last && last->kind == kind && last->time == now &&
	    (files < 0 || a->events.count > EVENTS_MOST))
		last->files += files;
	else
		*VEC_ADD(&a->events) = (struct alarm_event){
			TAKE(path), kind, now, r->time, files};
}

static void take_records(struct alarms *a, int64_t now)
{
	auto_close int fd = openat(a->session->fd, TIMELINE_DIR "/records",
				   O_RDONLY | O_CLOEXEC);
	AUTO(buf) struct buf bytes = {0};
	AUTO(timeline) struct timeline t = {0};
	ssize_t got = fd < 0 ? -1
			     : fd_pread(fd, buf_reserve(&bytes, READ_MAX),
					READ_MAX, a->offset);
	size_t i;

	bytes.len = got > 0 ? (size_t)got : 0;
	timeline_parse(&t, &bytes);
	for (i = 0; i < t.count; i++)
		take_record(a, &t.items[i], now);
	a->offset += t.valid;
}

/* --- the alarms --- */

/* The bytes by which the layer grew, once the disk has lost so many. Other
 * programs fill it, too. */
static int64_t count_growth(struct alarms *a, int64_t now)
{
	struct usage u = {.bytes = a->taken};
	uint64_t before = a->taken;
	struct statvfs fs;
	bool lost;

	if (fstatvfs(a->session->fd, &fs) < 0)
		return 0;
	/* More than the limit, for the blocks of others. */
	lost = fs.f_bavail * fs.f_frsize + GROWTH_BYTES / 16 * 17 < a->free;
	if (lost) {
		u.bytes = 0;
		usage_add(a->session->fd, "upper", &u);
	}
	if (lost || now - a->since > GROWTH_MS) {
		a->since = now;
		a->free = fs.f_bavail * fs.f_frsize;
		a->taken = u.bytes;
	}
	return (int64_t)(u.bytes - before);
}

char *alarms_tick(struct alarms *a, int64_t now, struct timestamp *ret_began)
{
	int64_t counts[ALARM_KINDS] = {0}, limits[] = {5, 5, 1, GROWTH_BYTES};
	const char *example[ALARM_KINDS] = {"", "", "", ""};
	enum alarm_kind kind;
	size_t i;

	if (!a->session)
		return NULL;
	take_records(a, now);
	*ret_began = timestamp_now();
	for (i = a->events.count; i--;) {
		const struct alarm_event *e = &a->events.items[i];

		if (now - e->time > WINDOW_MS) {
			drop_event(a, i);
			continue;
		}
		if (e->files < 0 || now - e->time >= SETTLE_MS)
			counts[e->kind] += e->files;
		if (e->files > 0)
			example[e->kind] = e->path;
		if (timestamp_compare(e->began, *ret_began) < 0)
			*ret_began = e->began;
	}
	if (counts[ALARM_DELETED] > 0 && !a->limit)
		a->limit = count_files(a->session->roots[0].path) / FILES_SHARE;
	if (a->limit > limits[ALARM_DELETED])
		limits[ALARM_DELETED] = a->limit;
	counts[ALARM_GROWTH] = count_growth(a, now);
	for (kind = 0; kind < ALARM_KINDS; kind++) {
		if (counts[kind] < limits[kind] ||
		    (a->said[kind] && now - a->said[kind] < REPEAT_MS))
			continue;
		a->said[kind] = now;
		if (kind == ALARM_GROWTH)
			return mem_printf(
				"its files grew by %s within a minute",
				text_size((uint64_t)counts[kind]));
		if (kind == ALARM_GIT)
			return mem_printf("%s deleted or emptied",
					  text_quote(example[kind]));
		return mem_printf("%s %s, %s among them",
				  text_count((uint64_t)counts[kind], "file"),
				  kind == ALARM_EMPTIED ? "emptied" : "deleted",
				  text_quote(example[kind]));
	}
	return NULL;
}

void alarms_begin(struct alarms *a, const struct session *s)
{
	struct usage u = {0};
	struct stat st;

	*a = (struct alarms){.session = s};
	if (!s)
		return;
	/* An earlier guard was killed while it was paused. */
	freezer_continue(s->fd);
	usage_add(s->fd, "upper", &u);
	a->taken = u.bytes;
	/* A continued run has records. */
	if (fstatat(s->fd, TIMELINE_DIR "/records", &st, 0) == 0)
		a->offset = (uint64_t)st.st_size;
}

void alarms_free(struct alarms *a)
{
	while (a->events.count)
		drop_event(a, 0);
	VEC_FREE(&a->events);
}
