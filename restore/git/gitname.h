/*
 * Names in a git repository that a stranger made: which of them are safe.
 *
 * The rules are those of git's own fsck (fsck.c, utf8.c, path.c) and of
 * git-check-ref-format(1). Pure functions; no library is asked.
 */
#ifndef GUARD_RESTORE_GIT_GITNAME_H
#define GUARD_RESTORE_GIT_GITNAME_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What is wrong with a name in a tree, as text for people, or NULL: empty,
 * ".", "..", with a slash, or another spelling of ".git" (any case, with
 * characters that HFS+ ignores, what NTFS takes for it).
 */
const char *gitname_fault(const char *name, size_t len);

/* Whether it is another spelling of ".gitmodules", which must not be a link. */
bool gitname_is_modules(const char *name, size_t len);

/* Whether it may be a ref's whole name: "refs/heads/x". */
bool gitname_ref_ok(const char *name);

#endif
