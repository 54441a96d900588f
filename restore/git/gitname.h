/*
 * Safe names in an untrusted git repository.
 *
 * The rules are those of git's fsck (fsck.c, utf8.c, path.c) and of
 * git-check-ref-format(1). Pure functions without a library.
 */
#ifndef GUARD_RESTORE_GIT_GITNAME_H
#define GUARD_RESTORE_GIT_GITNAME_H

#include <stdbool.h>
#include <stddef.h>

/* The fault of a name in a tree, as text for people, or NULL: empty, ".", "..",
 * a slash, or a spelling of ".git" (any case, with characters that HFS+
 * ignores, or with the forms of NTFS). */
const char *gitname_fault(const char *name, size_t len);

/* Whether the name is a spelling of ".gitmodules", which must not be a symbolic
 * link. */
bool gitname_is_modules(const char *name, size_t len);

/* Whether the name is valid as a complete ref, e.g. "refs/heads/x". */
bool gitname_ref_ok(const char *name);

#endif
