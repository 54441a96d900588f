/*
 * Names of runs: the second since 2020 in six base-36 digits, "-", and the
 * part of that second in 1296ths in two more: "3mk9zq-4t". Ids sort by time,
 * also those of one second, and all have one length: no id is the beginning
 * of another.
 */
#ifndef GUARD_OVERLAY_SESSION_ID_H
#define GUARD_OVERLAY_SESSION_ID_H

#include <stdbool.h>

#include "base/meta.h"

#define SESSION_ID_LEN 9

void session_id_make(struct timestamp now, char ret[static SESSION_ID_LEN + 1]);
/* When it was made, rounded down; of an id in the form below. */
struct timestamp session_id_time(const char *id);
/* Such a one, or enough of its beginning that it has the "-": nothing else in
 * the form of a date, a number or a word is taken for it. */
bool session_id_begins(const char *text);
/* The form above, nothing before nor behind it. */
bool session_id_ok(const char *text);

#endif
