/*
 * Ids and types of git's objects as text. Ids are SHA-1.
 */
#ifndef GUARD_RESTORE_GIT_GITID_H
#define GUARD_RESTORE_GIT_GITID_H

#include <stdbool.h>
#include <stddef.h>

#define GITID_LEN 20
#define GITID_HEX 40

struct gitid {
	unsigned char raw[GITID_LEN];
};

/* The numbers are git's own (git_object_t); 0 is none of them. */
enum gittype {
	GITTYPE_COMMIT = 1,
	GITTYPE_TREE = 2,
	GITTYPE_BLOB = 3,
	GITTYPE_TAG = 4,
};

/* Reads 40 lower-case hex digits; false: the text begins with others. */
bool gitid_read(const char *hex, struct gitid *ret);
/* hex: space for GITID_HEX + 1 characters. */
void gitid_hex(const struct gitid *id, char *hex);
/* Compares two ids as qsort(3) and bsearch(3) want it. */
int gitid_compare(const void *a, const void *b);

/* "commit", "tree", "blob", "tag", else "object". */
const char *gitid_type_name(enum gittype type);
/* The type that the len characters name; 0: an unknown one. */
enum gittype gitid_type(const char *name, size_t len);

#endif
