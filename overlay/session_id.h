/*
 * Ids of runs: four random characters, "-", and the seconds since 2020 in six
 * base-36 digits: "kq7m-3mk9zq". The first character is a letter, so that no id
 * looks like a date or a number. Earlier versions made "3mk9zq-4t", seconds and
 * a fraction. The "-" is at another place: no id of one form is a prefix of an
 * id of the other.
 *
 * Names of runs, which the user gives: a letter, then at most 31 letters,
 * digits, ".", "_" or "-"; not "latest", and no id.
 */
#ifndef GUARD_OVERLAY_SESSION_ID_H
#define GUARD_OVERLAY_SESSION_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/timestamp.h"

#define SESSION_ID_LEN 11
#define SESSION_NAME_MAX 32

/* Writes a new id with its NUL. A time before 2020 counts as 2020. 0 or a
 * negative errno: no random number. */
int session_id_make(struct timestamp now, char ret[static SESSION_ID_LEN + 1],
		    struct err *err);
/* Whether text has exactly the form of an id. */
bool session_id_ok(const char *text);
/* The second of the run's creation. The id must satisfy session_id_ok(). */
int64_t session_id_time(const char *id);
/* Whether a user may call a run so. */
bool session_name_ok(const char *text);

#endif
