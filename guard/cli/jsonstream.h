/*
 * JSON that is too long to be held whole, printed while it is made, in the
 * form that jsonstream_print() has: a run may have changed a million files.
 *
 * One value on stdout: open its brackets, put into them, close them all. All of
 * it is printable ASCII and line feeds: whatever a text holds, a terminal shows
 * it as \uXXXX.
 */
#ifndef GUARD_CLI_JSONSTREAM_H
#define GUARD_CLI_JSONSTREAM_H

#include <jansson.h>
#include <stdbool.h>

struct jsonstream {
	unsigned int depth; /* brackets that are open */
	bool any; /* something was put into the innermost */
};

/* bracket: '{' or '['. key: in an object; NULL in an array, and outermost. */
void jsonstream_open(struct jsonstream *j, const char *key, char bracket);
/* Frees the value. */
void jsonstream_put(struct jsonstream *j, const char *key, json_t *value);
/* Opens an object that begins with the members of this one, in an array or
 * outermost; frees it. */
void jsonstream_begin(struct jsonstream *j, json_t *object);
/* bracket: '}' or ']'. The outermost is followed by a line feed. */
void jsonstream_close(struct jsonstream *j, char bracket);

/* Prints a complete value on stdout with a line feed, and frees it. */
void jsonstream_print(json_t *value);
/* Prints a value in one line, and frees it. */
void jsonstream_line(json_t *value);
/* Prints {"schema": SCHEMA, KEY: LIST} and frees the list. */
void jsonstream_print_list(const char *schema, const char *key, json_t *list);

#endif
