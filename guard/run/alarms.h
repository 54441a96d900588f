/*
 * Alarms: a run destroys much in a short time. Only counts decide, of the
 * records that the version worker has written (guard/timeline/timeline.h):
 *
 *	deleted		a fifth of the project's files from before the run, at
 *			least 5 and at most 100, within 10 s; no files of
 *			generated directories, and less those that were moved
 *	emptied		5 of such files within 10 s, which stay empty
 *	git		HEAD, the index, refs or packs of a repository, or the
 *			repository, deleted or emptied
 *	growth		1 GB within a minute
 *
 * An entry that is back a moment later does not count: many programs replace a
 * file so. The files from before the run are the real ones, which the run
 * cannot change.
 */
#ifndef GUARD_RUN_ALARMS_H
#define GUARD_RUN_ALARMS_H

#include "base/vec.h"
#include "overlay/session.h"

enum alarm_kind {
	ALARM_DELETED,
	ALARM_EMPTIED,
	ALARM_GIT,
	ALARM_GROWTH,
	ALARM_KINDS,
};

struct alarm_event {
	char *path; /* absolute, in the real tree; later ones may count in it */
	enum alarm_kind kind;
	int64_t time; /* monotonic ms */
	struct timestamp began; /* time of the record */
	int64_t files; /* negative: found again under another name */
};

struct alarms {
	const struct session *session; /* borrowed; NULL: no alarms */
	VEC(struct alarm_event) events;
	uint64_t offset; /* in the records: bytes that are counted */
	int64_t limit; /* for deleted files; 0: not known yet */
	int64_t packed; /* when the run wrote a pack */
	int64_t said[ALARM_KINDS]; /* when the alarm was last given */
	/* Growth: begin of the minute; free and taken bytes at that time. */
	int64_t since;
	uint64_t free, taken;
};

/* s: NULL: there are no alarms. Ends the pause of a killed guard. */
void alarms_begin(struct alarms *a, const struct session *s);
/* Counts the new records. Returns a sentence to free, or NULL: no alarm, or one
 * of its kind in the last 30 s. now: monotonic ms; *ret_began: time of the
 * first record that is counted. */
char *alarms_tick(struct alarms *a, int64_t now, struct timestamp *ret_began);
void alarms_free(struct alarms *a);

#endif
