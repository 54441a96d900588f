/*
 * How far something long has come: on one line of stderr that is written anew,
 * on a terminal only, after a second, not when quiet. With --progress=json as
 * lines of JSON on stderr instead, wherever that goes, and one at the end:
 *
 *	{"progress": "verify", "unit": "bytes", "done": 1, "total": 9,
 *	 "seconds": 1.2, "rate": 0.8, "eta": 9.6, "ended": false}
 *
 * total and eta are null where they are not known.
 */
#ifndef GUARD_CLI_PROGRESS_H
#define GUARD_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "guard/cli/options.h"

struct progress {
	const char *verb; /* the verb, "verify" */
	const char *noun; /* the counted noun, NULL: bytes */
	uint64_t done, total;
	double start, last; /* seconds */
	bool shown;
};

void progress_start(struct progress *p, const char *verb);
/* done of total; total 0: not known. Cheap; call it often. */
void progress_bytes(struct progress *p, uint64_t done, uint64_t total);
/* The same for things that are counted: "file". */
void progress_count(struct progress *p, uint64_t done, uint64_t total,
		    const char *noun);
/* Clears the line, so that something else can be said. */
void progress_pause(struct progress *p);
/* The same, and it is over. */
void progress_end(struct progress *p);

/* Reader of a slot for --progress. */
bool progress_read(const struct verb *verb, int id, const char *value,
		   void *to);

#endif
