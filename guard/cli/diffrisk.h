/*
 * Dangerous changes of a diff, and changes that are executed later: see risk.h.
 */
#ifndef GUARD_CLI_DIFFRISK_H
#define GUARD_CLI_DIFFRISK_H

#include "guard/changes.h"
#include "guard/cli/jsonstream.h"

/* A section on stdout, nothing when there is none. */
void diffrisk_print(const struct changes_root *g);
/* {"path", "home", "folder", "level", "text"} into an array. folder: the
 * absolute path of the root. */
void diffrisk_json(const struct changes_root *g, const char *dir,
		   struct jsonstream *to);

#endif
