/*
 * JSON for programs, by jansson (whose own names begin with json_). JSON cannot
 * represent a path or text that is not UTF-8: KEY_b64 has its bytes in base64
 * then, and KEY is null.
 */
#ifndef GUARD_CLI_JSONOUT_H
#define GUARD_CLI_JSONOUT_H

#include <jansson.h>
#include <stdint.h>

#include "guard/change/changes.h"
#include "overlay/session.h"

/* A new object {"schema": SCHEMA}. */
json_t *jsonout_document(const char *schema);
/* Adds a text as KEY, or as KEY_b64 with KEY null when it is not UTF-8; null
 * for NULL. */
void jsonout_text(json_t *object, const char *key, const char *text);
/* The same for bytes, of which a NUL is no text, either. */
void jsonout_bytes(json_t *object, const char *key, const void *data,
		   size_t len);
/* Adds a value of any type; the object takes it. */
void jsonout_set(json_t *object, const char *key, json_t *value);
/* Appends a value; the array takes it. */
void jsonout_add(json_t *array, json_t *value);
/* Adds true or false. */
void jsonout_bool(json_t *object, const char *key, bool value);
/* Adds the permissions of a mode as "mode": "0644". */
void jsonout_mode(json_t *object, uint32_t mode);
/* Adds a number. */
void jsonout_number(json_t *object, const char *key, uint64_t number);
/* Adds the time in RFC 3339, UTC; null for {0}. */
void jsonout_time(json_t *object, const char *key, struct timestamp when);
/* Adds "time" with thousandths of a second, which name a moment of a run. */
void jsonout_moment(json_t *object, struct timestamp when);
/* Adds "origin", in hex digits, and "host"; null where the snapshot has none.
 */
void jsonout_origin(json_t *object, const struct snapshot *s);
/* Adds "snapshot": null for the state of a run (0). With the snapshot also its
 * name in "moment" then. */
void jsonout_seq(json_t *object, uint64_t seq);
void jsonout_snapshot(json_t *object, const struct snapshot *s);
/* Returns {"path", "op", "old", "new", "git", ...}, with "moved_to" or
 * "moved_from" and "similarity" when the change is half of a move. */
json_t *jsonout_change(const struct change_list *list, const struct change *c);
/* Returns {"from", "to", "type", "similarity", ...}; "files" for a
 * directory. */
json_t *jsonout_move(const struct change_move *m);
/* Returns {"deleted": 1, ...} with the count of each kind. */
json_t *jsonout_counts(const struct change_counts *n);
/* Returns a run's id, state, project, command, times and status. */
json_t *jsonout_run(const struct session *s);
/* The file type of a mode as JSON has it, e.g. "file"; a constant text. */
const char *jsonout_type(uint32_t mode);
/* The same for people: a directory is called so. */
const char *jsonout_type_text(uint32_t mode);

/* Adds the NULL-terminated texts as a list; NULL: an empty list. */
void jsonout_texts(json_t *object, const char *key, char *const *texts);

#endif
