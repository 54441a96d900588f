/*
 * Settings without the secrets in them, for files that hold both: ini files,
 * properties, YAML, TOML, XML and git's own, told apart by their lines.
 *
 * Cut out are the values of keys and of XML elements whose names speak of
 * tokens, passwords or keys, and what stands before the @ in an URL. A value
 * that is a switch or a short number stays. One that has such a name within,
 * {token = "x"} or ["--token", "x"], goes as a whole, and one in which a token
 * stands whose beginning is known, such as ghp_. An empty one of its kind
 * takes its place. It goes by names: a secret that calls itself "colour" is
 * not found.
 *
 * In prose and programs (redact_prose.c) only the secret itself goes, and less
 * is taken for one: what follows NAME_TOKEN= or stands in quotes, or what has
 * letters and digits in it behind "token: ", "Bearer " or --token; tokens whose
 * beginning is known; users of URLs; private keys. What is no such text (it has
 * a byte 0) is left as it is.
 */
#ifndef GUARD_SANDBOX_REDACT_H
#define GUARD_SANDBOX_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

/* A key of that name has a secret for its value. */
bool redact_is_secret(const char *name);

/* Whether a value has a secret within itself, under a name of its own. */
bool redact_has_secret(const char *text, size_t len);

/* Appends the text without them; whether there was any. */
bool redact_text(const void *data, size_t len, struct buf *to);

/* The same for what is no settings file. */
bool redact_prose(const void *data, size_t len, struct buf *to);

/* For redact_prose.c: a switch or a short number, which tells nothing; and
 * whether a token begins at i that says by itself what it is. */
bool redact_is_harmless(const char *value, size_t len);
bool redact_is_token(const char *text, size_t len, size_t i);

#endif
