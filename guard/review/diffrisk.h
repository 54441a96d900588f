/*
 * What is dangerous in a diff, or will be executed later: see risk.h.
 */
#ifndef GUARD_REVIEW_DIFFRISK_H
#define GUARD_REVIEW_DIFFRISK_H

#include "guard/changes.h"
#include "guard/review/difftext.h"
#include "guard/jsonstream.h"

/* A section on stdout, nothing when there is none. */
void diffrisk_print(const struct changes_root *g,
		    const struct difftext_source *from);
/* {"path", "home", "folder", "level", "text"} into an array. folder: of the
 * paths, absolute. */
void diffrisk_json(const struct changes_root *g,
		   const struct difftext_source *from, const char *dir,
		   struct jsonstream *to);

#endif
