/*
 * Paths as text. `path` is relative to a tree's root, has no leading or
 * trailing slash, no empty, "." or ".." part; the root itself is "". `name`
 * is one part of it.
 */
#ifndef GUARD_BASE_PATH_H
#define GUARD_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* A name that a tree may hold: 1-255 bytes, no '/', not "." nor "..". */
bool path_name_ok(const char *name, size_t len);
/* A relative path in the form above. */
bool path_ok(const char *path);

/* dir/name; dir "" gives name, name "" gives dir. The caller's to free. */
char *path_join(const char *dir, const char *name);

/* The last part (points into path); "" for the root. */
const char *path_name(const char *path);

/* Everything before the last part, "" when there is but one. To free. */
char *path_parent(const char *path);

/*
 * Whether path is dir or lies below it; both in one form (both absolute or
 * both relative). Everything is below "" and "/".
 */
bool path_below(const char *path, const char *dir);
/* What is left of path below dir ("" when equal); needs path_below(). */
const char *path_rest(const char *path, const char *dir);

/* Whether one of the parts is called so, e.g. ".git". */
bool path_has_part(const char *path, const char *name);

/* How paths are sorted: by bytes, '/' before all else, so a folder comes
 * directly before what is in it. */
int path_compare(const char *a, const char *b);

/*
 * The absolute path without links of something that need not exist: links
 * are resolved as far as there is something, the rest is taken as text with
 * "." and ".." removed. Relative ones start at the current folder. To free;
 * NULL with err set (a loop of links, a folder that cannot be searched).
 */
char *path_resolve(const char *path, struct err *err);

/*
 * The same, but the last part is not followed when it is a link: the path
 * of the link itself.
 */
char *path_resolve_parent(const char *path, struct err *err);

#endif
