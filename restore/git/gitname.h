/*
 * Valid names of refs in an untrusted git repository.
 */
#ifndef GUARD_RESTORE_GIT_GITNAME_H
#define GUARD_RESTORE_GIT_GITNAME_H

#include <stdbool.h>

/* Whether the name is valid as a complete ref ("refs/heads/x"), as
 * git-check-ref-format(1) has it, and no longer than a file's may be. */
bool gitname_ref_ok(const char *name);

#endif
