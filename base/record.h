/*
 * Small state files for people and programs: one "key=value" in each line.
 *
 *	file  = "guard-" kind " " version LF *( key "=" value LF )
 *	key   = 1*( a-z 0-9 "-" )
 *	value = bytes; LF is "\n", CR "\r", backslash "\\"
 *
 * A key may occur more than once; its values keep their order. Unknown keys
 * survive a load and save.
 */
#ifndef GUARD_BASE_RECORD_H
#define GUARD_BASE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/err.h"
#include "base/mem.h"

struct record_item {
	char *key, *value;
};

struct record {
	struct record_item *items;
	size_t count, capacity;
};

/* Frees keys and values and empties the record. */
void record_free(struct record *r);

/* Loads name from dirfd. -ENOENT: no such file. -EPROTO: a version above
 * `version`, written by a newer guard. -EBADMSG: damaged, or a record of
 * another kind. *ret must be freed with record_free(). */
int record_load(int dirfd, const char *name, const char *kind, int version,
		struct record *ret, struct err *err);
/* The same of a file's bytes, which are changed. name: for messages. */
int record_decode(struct buf *bytes, const char *name, const char *kind,
		  int version, struct record *ret, struct err *err);
/* Appends the bytes of the file. */
void record_encode(const struct record *r, const char *kind, int version,
		   struct buf *to);
/* Writes the record by atomic_write() with mode 0600. */
int record_save(int dirfd, const char *name, const char *kind, int version,
		const struct record *r, enum atomic_durability how,
		struct err *err);
/* Renames a record that record_load() found damaged to "NAME.damaged", for
 * callers that can go on without it. Returns -ENOENT with a text for the
 * user. */
int record_set_aside(int dirfd, const char *name, struct err *err);
/* Adds the record to a set of files by atomic_set_write(). */
int record_put(int dirfd, const char *name, const char *kind, int version,
	       const struct record *r, struct atomic_set *to, struct err *err);

/* The value of a key, or the n-th value (from 0) of a repeated key; NULL when
 * it is missing. Valid until the record changes. */
const char *record_get(const struct record *r, const char *key);
const char *record_get_nth(const struct record *r, const char *key, size_t n);
/* Whether one of the values of the key is this one. */
bool record_has(const struct record *r, const char *key, const char *value);
/* The number of a key; 0 when it is missing or no number. */
int64_t record_get_int(const struct record *r, const char *key);
/* Replaces all values of the key by one; NULL removes the key. */
void record_set(struct record *r, const char *key, const char *value);
void record_set_int(struct record *r, const char *key, int64_t value);

/* Appends a value, also to a key that exists. */
void record_add(struct record *r, const char *key, const char *value);

#endif
