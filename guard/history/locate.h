/*
 * Which snapshot, and which path in it, the user means.
 */
#ifndef GUARD_HISTORY_LOCATE_H
#define GUARD_HISTORY_LOCATE_H

#include "guard/context.h"
#include "snapshot/tree/catalog.h"

/*
 * when: as in catalog_find(), NULL the latest; a plain number is taken as it
 * is, whatever its root. arg: a path as typed, NULL: the project (with a
 * number: the snapshot's root). Relative ones count from the current folder,
 * and from the snapshot's root where that does not lie in it. *ret_path: in
 * the snapshot, to free. It need not exist there.
 */
int locate_snapshot(struct context *c, const char *when, const char *arg,
		    struct snapshot *ret, char **ret_path, struct err *err);

/* Cuts "SNAP:PATH" in two, minding times such as "2026-11-21 14:30:a";
 * *ret_path is NULL without a colon. Both to free. */
void locate_split(const char *arg, char **ret_when, char **ret_path);

#endif
