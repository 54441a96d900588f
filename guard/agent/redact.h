/*
 * Removes secrets from files that contain both settings and secrets: ini
 * files, properties, YAML, TOML, XML, git configuration. The syntax is
 * recognized line by line.
 *
 * Removed are values of keys, also on deeper lines below the key, and text and
 * attributes of XML elements whose names speak of tokens, passwords or keys,
 * and the user part of URLs and proxies. Switches and short
 * numbers stay. A value with such a name inside, {token = "x"} or
 * ["--token", "x"], is removed as a whole, as is a value with a token of
 * a known prefix such as ghp_. An empty value of the same kind replaces it. A
 * secret under another name ("color") is not found.
 *
 * In prose and programs only the secret itself is removed, and
 * the rules are narrower: values after NAME_TOKEN= or in quotes; values of
 * letters and digits after "token: ", "Bearer " or --token; tokens with a known
 * prefix; the user part of URLs and proxies; private keys. A value ends with
 * its quote or, in the syntax of a shell, with its word, which may be on a
 * later line; where this is not certain, the rest of the line is removed. Data
 * with a NUL byte is not changed.
 */
#ifndef GUARD_AGENT_REDACT_H
#define GUARD_AGENT_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

/* True if the value contains a secret under a name of its own. */
bool redact_has_secret(const char *text, size_t len);

/* Appends the text without its secrets. Returns whether it had any. */
bool redact_text(const void *data, size_t len, struct buf *to);

/* The same for prose and programs. */
bool redact_prose(const void *data, size_t len, struct buf *to);

/*
 * The same for settings of an agent; name: of the file, selects the syntax:
 * JSON (with comments), lines as in redact_text(), also for damaged JSON, or
 * prose. Values are removed
 * by the name of their member, whatever their form: names with key, token,
 * auth, cookie and such; variables of servers, and headers. Adds the names of
 * members with a key to a list to free with mem_list_free(), each once; NULL:
 * to none.
 */
bool redact_settings(const char *name, const void *data, size_t len,
		     struct buf *to, char ***members);

/*
 * Sets the secrets of the user's settings in an agent's copy of them, with the
 * rules of redact_settings(). The copy's other values stay. 1: appends the new
 * copy; 0: it has them, or the name is not that of such a file; -EINVAL: the
 * files differ too much, or one cannot be read. JSON loses its comments in both
 * buffers.
 */
int redact_merge(const char *name, struct buf *real, struct buf *copy,
		 struct buf *to);

#endif
