/*
 * JSON for programs, by jansson (whose own names begin with json_). A path or
 * text that is not UTF-8 cannot stand in JSON as it is: it comes as KEY_b64,
 * the raw bytes in base64, and KEY is null then.
 */
#ifndef GUARD_JSONOUT_H
#define GUARD_JSONOUT_H

#include <jansson.h>
#include <stdint.h>

#include "base/meta.h"
#include "guard/changes.h"
#include "overlay/scan.h"
#include "overlay/session.h"

void jsonout_text(json_t *object, const char *key, const char *text);
void jsonout_number(json_t *object, const char *key, uint64_t number);
/* RFC 3339 in UTC; null for {0}. */
void jsonout_time(json_t *object, const char *key, struct timestamp when);
/* {"path", "op", "old", "new", "git", ...}; with "moved_to" or "moved_from" and
 * "similarity" where it is one half of a move. */
json_t *jsonout_change(const struct change_list *list, const struct change *c);
/* {"from", "to", "type", "similarity", ...}; "files" of a folder. */
json_t *jsonout_move(const struct change_move *m);
/* {"deleted": 1, ...}: of each kind. */
json_t *jsonout_counts(const struct change_counts *n);
/* What is known of a run: id, state, project, command, times, status. */
json_t *jsonout_run(const struct session *s);
const char *jsonout_type(uint32_t mode);

/* A list of texts ended by NULL (NULL: none). */
json_t *jsonout_texts(char *const *texts);

#endif
