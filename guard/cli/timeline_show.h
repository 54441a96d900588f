/*
 * `guard log RUN`: the timeline of a run, in groups of a second under its marks
 * as headings, with a row for everything that is not held; or as one object of
 * JSON ("guard.log-run/1"), a member for each record.
 */
#ifndef GUARD_CLI_TIMELINE_SHOW_H
#define GUARD_CLI_TIMELINE_SHOW_H

#include "guard/history/run_timeline.h"

/* The records after `from` (0: all); of the lines of the text at most the last
 * count. */
void timeline_show_text(const struct run_timeline *run, uint64_t from,
			size_t count);
void timeline_show_json(const struct run_timeline *run, uint64_t from);

#endif
