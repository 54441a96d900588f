/*
 * Ids of runs: the seconds since 2020 in six base-36 digits, "-", and the
 * fraction of the second in units of 1/1296 in two more digits: "3mk9zq-4t".
 * Ids sort by time, also within one second. All have the same length, so no id
 * is a prefix of another.
 */
#ifndef GUARD_OVERLAY_SESSION_ID_H
#define GUARD_OVERLAY_SESSION_ID_H

#include <stdbool.h>

#include "base/meta.h"

#define SESSION_ID_LEN 9

/* Writes the id of a time, with its NUL. A time before 2020 counts as 2020. */
void session_id_make(struct timestamp now, char ret[static SESSION_ID_LEN + 1]);
/* The time of an id's creation, rounded down. The id must satisfy
 * session_id_ok(). */
struct timestamp session_id_time(const char *id);
/* Whether text is an id, or a prefix of an id that includes the "-". The "-"
 * keeps dates, numbers and words from being taken for ids. */
bool session_id_begins(const char *text);
/* Whether text has exactly the form of an id. */
bool session_id_ok(const char *text);

#endif
