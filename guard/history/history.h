/*
 * What the store remembers, as rows for `guard log`: snapshots, or the
 * versions of one path with what happened to it each time.
 *
 *	struct history h = {.path = path};
 *
 *	history_load(&h, store, &err)
 *	history_free(&h)
 *
 * A version is what the path was in a snapshot, when it was something else in
 * the one before. What a run left ("post-run") is a version too, but the next
 * one is compared with the files as they really were before it.
 */
#ifndef GUARD_HISTORY_HISTORY_H
#define GUARD_HISTORY_HISTORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "guard/retention/pins.h"
#include "snapshot/tree/catalog.h"

enum history_change {
	HISTORY_FIRST, /* in the oldest snapshot: nobody knows since when */
	HISTORY_ADDED,
	HISTORY_MODIFIED,
	HISTORY_TYPE,
	HISTORY_META, /* mode, owner or attributes alone */
	HISTORY_DELETED,
	HISTORY_PURGED, /* it was removed from the store */
};

struct history_row {
	struct snapshot snapshot;
	struct entry entry; /* mode 0: the path is gone there */
	enum history_change change;
	bool of_run; /* what a run left, never the files themselves */
	char *renamed; /* absolute path it came from (added) or went to
			  (deleted), NULL: none was found */
	/* Of a folder: what changed below it. */
	size_t added, modified, deleted;
};

struct history {
	const char *path; /* absolute; NULL: whole snapshots */
	const char *project; /* of snapshots: of this root only, or NULL */
	struct pins pins; /* of the user: marked */
	/* So many snapshots were looked at; may be NULL. */
	void (*progress)(void *arg, size_t done, size_t count);
	void *arg;

	struct history_row *rows; /* oldest first */
	size_t count, capacity;
	json_t *commands; /* run id: its command */
};

/* A snapshot that is damaged is named on stderr and left out. */
int history_load(struct history *h, struct store *store, struct err *err);
void history_free(struct history *h);

#endif
