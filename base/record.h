/*
 * Small state files for people and programs: one "key=value" a line.
 *
 *	file  = "guard-" kind " " version LF *( key "=" value LF )
 *	key   = 1*( a-z 0-9 "-" )
 *	value = bytes; LF is "\n", CR "\r", backslash "\\"
 *
 * A key may stand more than once: the values keep their order. Unknown keys
 * are kept when a record is loaded and saved again.
 */
#ifndef GUARD_BASE_RECORD_H
#define GUARD_BASE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/err.h"

struct record_item {
	char *key, *value;
};

struct record {
	struct record_item *items;
	size_t count, capacity;
};

void record_free(struct record *r);

/*
 * Loads name from dirfd. -ENOENT: there is none. -EPROTO: a version above
 * `version`, written by a newer guard. -EBADMSG: damaged or another kind.
 */
int record_load(int dirfd, const char *name, const char *kind, int version,
		struct record *ret, struct err *err);
/* By atomic_write(), mode 0600. */
int record_save(int dirfd, const char *name, const char *kind, int version,
		const struct record *r, enum atomic_durability how,
		struct err *err);
/* Into a set of files, by atomic_set_write(). */
int record_put(int dirfd, const char *name, const char *kind, int version,
	       const struct record *r, struct atomic_set *to, struct err *err);

/* NULL when there is none; the n-th (from 0) of a repeated key. */
const char *record_get(const struct record *r, const char *key);
const char *record_get_nth(const struct record *r, const char *key, size_t n);
/* 0 when absent or no number. */
int64_t record_get_int(const struct record *r, const char *key);
/* Replaces all values of the key; value NULL removes it. */
void record_set(struct record *r, const char *key, const char *value);
void record_set_int(struct record *r, const char *key, int64_t value);
void record_add(struct record *r, const char *key, const char *value);

#endif
