/*
 * The age of the newest backup in a destination, as `guard status` and `guard
 * doctor` print it.
 */
#ifndef GUARD_CLI_BACKUP_AGE_H
#define GUARD_CLI_BACKUP_AGE_H

#include <jansson.h>

#include "guard/state/backups.h"

/* "3 h ago in '/mnt/usb'", with the failure of a later one. Buffers as in
 * text_quote(). */
const char *backup_age_text(const struct backup *b);
/* Whether it is older than a day, or of the future, or a later one has failed.
 */
bool backup_age_is_late(const struct backup *b);
/* As backups_load(), with those directories of the settings where no backup was
 * made: they have a path alone. An error of the settings is a failure of each.
 */
int backup_age_load(const struct state *state, struct backups *ret,
		    struct err *err);
/* All of them as a list of objects, and of their paths. */
json_t *backup_age_json(const struct backups *known);
json_t *backup_age_paths(const struct backups *known);

#endif
