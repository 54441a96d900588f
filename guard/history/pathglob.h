/*
 * Paths with wildcards, as a shell has them, matched against stored paths.
 *
 * '*', '?' and '[...]' stay within one name, "**" as a whole name is any
 * number of folders. As in a shell a name that begins with a dot is matched by
 * a part that begins with one; ".git" only by itself, since restoring parts of
 * one is never meant by a wildcard.
 */
#ifndef GUARD_HISTORY_PATHGLOB_H
#define GUARD_HISTORY_PATHGLOB_H

#include <stdbool.h>

/* Has wildcards at all. */
bool pathglob_has_wildcards(const char *text);
/* Both in one form (absolute, or in a root). */
bool pathglob_match(const char *pattern, const char *path);
/* The path above the first part with a wildcard, to free. */
char *pathglob_fixed(const char *pattern);

#endif
