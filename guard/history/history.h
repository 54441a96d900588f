/*
 * The rows of `guard log`: all snapshots, or the versions of one path with the
 * kind of change between them.
 *
 * 	struct history h = {.path = path};
 *
 * 	history_load(&h, store, &err)
 * 	history_runs_add(&h, context, &err)
 * 	history_free(&h)
 *
 * A snapshot has a new version of the path if the path differs from the
 *previous snapshot. The result of a run ("post-run") is a version too, but the
 *next snapshot is compared with the real files before it.
 */
#ifndef GUARD_HISTORY_HISTORY_H
#define GUARD_HISTORY_HISTORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "guard/retention/pins.h"
#include "guard/state/context.h"
#include "snapshot/tree/catalog.h"

enum history_change {
	HISTORY_FIRST, /* in the oldest snapshot: its age is unknown */
	HISTORY_ADDED,
	HISTORY_MODIFIED,
	HISTORY_TYPE,
	HISTORY_META, /* only mode, owner or attributes */
	HISTORY_DELETED,
	HISTORY_PURGED, /* removed from the store by purge */
	/* During a run: */
	HISTORY_WRITTEN,
	HISTORY_EMPTIED,
	HISTORY_BASE, /* as before the run again */
	HISTORY_GAP, /* not held, or not exactly: see note */
};

struct history_row {
	struct snapshot snapshot;
	struct entry entry; /* mode 0: the path does not exist there */
	enum history_change change;
	bool of_run; /* the result of a run, not the real files */
	char *renamed; /* absolute path it came from (added) or went to
			  (deleted), NULL: none was found */
	/* During a run, where the snapshot's seq is 0: RUN@TIME; the last such
	 * moment before a row that emptied or deleted the path; why a content
	 * is not held. Else NULL. */
	char *moment, *before, *note;
	/* The changes below a directory. */
	size_t added, modified, deleted;
};

struct history {
	const char *path; /* absolute; NULL: whole snapshots */
	const char *project; /* only snapshots of this root, or NULL */
	const char *from; /* directory of the backup, or NULL */
	struct pins pins; /* the user's pins, which are marked */
	/* Called after each snapshot; may be NULL. */
	void (*progress)(void *arg, const char *noun, uint64_t done,
			 uint64_t total);
	void *arg;

	struct history_row *rows; /* oldest first */
	size_t count, capacity;
	json_t *commands; /* object: run id -> command */
	char **timelines; /* ids of runs with a stored timeline */
};

/* Damaged snapshots are reported and skipped. */
int history_load(struct history *h, struct store *store, struct err *err);
/* After that: adds the versions of the path from the timelines of all runs that
 * have it. Damaged ones are reported and skipped. The store may be opened
 * again. */
int history_runs_add(struct history *h, struct context *c, struct err *err);
void history_free(struct history *h);

#endif
