/*
 * The rows of guard/history/history.h on stdout, the newest first, `count` at
 * most: as a table or as one object of JSON ("guard.log/1").
 */
#ifndef GUARD_CLI_HISTORY_SHOW_H
#define GUARD_CLI_HISTORY_SHOW_H

#include "guard/cli/table.h"
#include "guard/history/history.h"

/* A row for one snapshot: number, time, reason, a note ("" for none), root and
 * message. */
void history_show_row(struct table *t, const struct snapshot *s,
		      const char *note);

/* The word for a change; a constant text. */
const char *history_show_change(enum history_change change);

/* Print the newest `count` rows, as a table or as JSON. */
void history_show_text(const struct history *h, size_t count);
void history_show_json(const struct history *h, size_t count);

#endif
