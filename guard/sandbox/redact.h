/*
 * Settings without the secrets in them, for files that hold both: ini files,
 * properties, YAML, TOML, XML and git's own, told apart by their lines.
 *
 * Cut out are the values of keys and of XML elements whose names speak of
 * tokens, passwords or keys, and what stands before the @ in an URL. A value
 * that is a switch or a short number stays. It goes by names: a secret that
 * calls itself "colour" is not found.
 */
#ifndef GUARD_SANDBOX_REDACT_H
#define GUARD_SANDBOX_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

/* A key of that name has a secret for its value. */
bool redact_is_secret(const char *name);

/* Appends the text without them; whether there was any. */
bool redact_text(const void *data, size_t len, struct buf *to);

#endif
