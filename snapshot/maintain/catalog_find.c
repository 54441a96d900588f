#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "snapshot/maintain/purge.h"
#include "snapshot/tree/catalog.h"
#include "snapshot/tree/time_spec.h"

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

static void find_purge_note(struct snapshot_search *f, const struct snapshot *s)
{
	const char *note = purge_note(s, path_rest(f->path, s->root_path));

	if (!note || f->purge)
		return;
	f->purge = mem_strdup(note);
	f->purged = s->seq;
}

/* 1: the search ends with this snapshot; 0: it continues with older ones. */
static int examine_snapshot(struct snapshot_search *f, const struct snapshot *s,
			    struct err *err)
{
	int got;

	if (!path_below(f->path, s->root_path) || snapshot_of_run(s))
		return 0;
	got = snapshot_covers_path(f->store, s, f->path, err);
	if (got <= 0)
		return got;
	f->covering++;
	got = contains_path(f, s, err);
	if (got == 0)
		find_purge_note(f, s);
	if (got <= 0)
		return got;
	f->having++;
	f->oldest = s->seq;
	f->oldest_time = s->time;
	return f->time_spec.kind == TIME_SPEC_LATEST
		       ? f->having == f->time_spec.number + 1
		       : timestamp_compare(s->time, f->time_spec.time) <= 0;
}

static void format_local_time(struct timestamp m, char text[32])
{
	time_t clock = (time_t)m.sec;
	struct tm tm;

	if (!localtime_r(&clock, &tm) ||
	    !strftime(text, 32, "%Y-%m-%d %H:%M:%S", &tm))
		(void)snprintf(text, 32, "%" PRId64, m.sec);
}

static int fail_no_snapshot(const struct snapshot_search *f, struct err *err)
{
	char at[32];

	if (f->damaged && !f->having)
		return fail(err, EBADMSG, "%s", f->damage.text);
	if (!f->covering)
		return fail(err, ENOENT, "there is no snapshot of %s yet",
			    text_quote(f->path));
	if (!f->having && f->purge)
		return fail(err, ENODATA,
			    "%s of snapshot %" PRIu64
			    " was %s, and is in no other "
			    "snapshot",
			    text_quote(f->path), f->purged, f->purge);
	if (!f->having)
		return fail(err, ENOENT,
			    "%s is in none of its %s: `guard find NAME` "
			    "looks for a name in all of them",
			    text_quote(f->path),
			    text_count(f->covering, "snapshot"));
	format_local_time(f->oldest_time, at);
	if (f->time_spec.kind == TIME_SPEC_LATEST)
		return fail(err, ENOENT,
			    "%s has only %s, the oldest is snapshot %" PRIu64
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
	int got = catalog_load(f->store, f->time_spec.number, &s, err);
	const char *tombstones_;

	if (got < 0)
		return got;
	if (!path_below(f->path, s.root_path))
		return fail(err, ENOENT,
			    "snapshot %" PRIu64 " is one of %s, "
			    "%s is not in it",
			    s.seq, text_quote(s.root_path),
			    text_quote(f->path));
	got = contains_path(f, &s, err);
	if (got < 0)
		return got;
	tombstones_ = purge_note(&s, path_rest(f->path, s.root_path));
	if (!got && tombstones_)
		return fail(err, ENODATA, "%s of snapshot %" PRIu64 " was %s",
			    text_quote(f->path), s.seq, tombstones_);
	if (!got)
		return fail(err, ENOENT,
			    "%s was not there in snapshot %" PRIu64,
			    text_quote(f->path), s.seq);
	*ret = s;
	s = (struct snapshot){0};
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
			*ret = s;
			s = (struct snapshot){0};
			return 0;
		}
	}
	return fail_no_snapshot(&f, err);
}
