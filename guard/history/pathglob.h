/*
 * Matches stored paths against patterns with the wildcards of a shell.
 *
 * '*', '?' and '[...]' match within one name; "**" as a complete name matches
 * any number of directories. As in a shell only a part that begins with a dot
 * matches a name that begins with one. ".git" matches only itself: a wildcard
 * never restores parts of a repository.
 */
#ifndef GUARD_HISTORY_PATHGLOB_H
#define GUARD_HISTORY_PATHGLOB_H

#include <stdbool.h>

/* The text has a wildcard. */
bool pathglob_has_wildcards(const char *text);
/* Both are absolute, or both are relative to the same root. */
bool pathglob_match(const char *pattern, const char *path);
/* The path above the first part with a wildcard; to free. */
char *pathglob_fixed(const char *pattern);

#endif
