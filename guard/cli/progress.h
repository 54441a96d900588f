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

/* One at a time: begins the progress of a verb. */
void progress_start(const char *verb);
/* done of total; total 0: not known. Cheap; call it often. */
void progress_bytes(uint64_t done, uint64_t total);
/* The same for nouns that are counted ("file"), NULL: bytes; a callback of the
 * layers below. */
void progress_show(void *unused, const char *noun, uint64_t done,
		   uint64_t total);
/* progress_bytes() as such a callback. */
void progress_show_bytes(void *unused, uint64_t done, uint64_t total);
/* Another such callback: says that the store is in use by another process. */
void progress_wait(void *unused, const char *who);
/* Clears the line, so that something else can be said. */
void progress_pause(void);
/* The same, and it is over. */
void progress_end(void);

/* --progress=json: from now on. */
void progress_as_json(void);

#endif
