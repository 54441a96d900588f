/* Paths as text. A `path` is relative to the root of a tree, without a leading
 * or trailing slash and without an empty, "." or ".." part; "" is the root
 * itself. A `name` is one part of a path. */
#ifndef GUARD_BASE_PATH_H
#define GUARD_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Whether a tree may hold this name: 1-255 bytes, no '/', not "." or "..". */
bool path_name_ok(const char *name, size_t len);
/* Whether the text is a relative path in the form above. */
bool path_ok(const char *path);

/* Returns dir/name; an empty dir gives name, an empty name gives dir. For the
 * caller to free. */
char *path_join(const char *dir, const char *name);

/* The last part, a pointer into path; "" for the root. */
const char *path_name(const char *path);

/* Whether the path ends with this text, e.g. ".json". */
bool path_ends(const char *path, const char *text);

/* The path without its last part; "" when it has only one part. For the caller
 * to free. */
char *path_parent(const char *path);

/* Whether path equals dir or lies below it. Both must be absolute or both
 * relative. Every path is below "" and "/". */
bool path_below(const char *path, const char *dir);
/* The part of path below dir, "" when both are equal; path_below() must hold.
 */
const char *path_rest(const char *path, const char *dir);

/* Whether one part of the path has this name, e.g. ".git". */
bool path_has_part(const char *path, const char *name);
/* The length of the path up to the end of the first part with this name; 0: no
 * part has it. */
size_t path_part_end(const char *path, const char *name);

/* The order of sorted paths: by bytes, with '/' before all other bytes, so that
 * a directory comes directly before its entries. */
int path_compare(const char *a, const char *b);

/* The executable file of that name in an absolute directory of PATH, to free;
 * NULL: none. Relative ones depend on the caller's directory. */
char *path_find_program(const char *name);
bool path_has_program(const char *name);

/* The path that the current directory had before it was deleted; NULL: it
 * exists, or its path is unknown. For the caller to free. */
char *path_deleted_cwd(void);

/*
 * The absolute path without symbolic links of a file that may be missing: links
 * are resolved as far as the path exists, the rest is text with "." and ".."
 * removed. Relative paths start at the current directory. For the caller to
 * free; NULL with err set (a loop of links, a directory without search
 * permission).
 */
char *path_resolve(const char *path, struct err *err);

/* As path_resolve(), but a symbolic link in the last part is not followed: the
 * result is the path of the link. */
char *path_resolve_parent(const char *path, struct err *err);

#endif
