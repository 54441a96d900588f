/*
 * Kinds of hunks as text: the odd ones first, a sample of each, and of a family
 * the values in which its kinds differ.
 */
#ifndef GUARD_CLI_KINDS_SHOW_H
#define GUARD_CLI_KINDS_SHOW_H

#include "guard/change/changes.h"
#include "guard/review/kinds.h"

/* Appends the escaped name of an item of the kinds. */
typedef void (*kinds_show_name)(void *arg, size_t item, struct buf *to);

/* "20003 hunks of 4 kinds in 10000 files" */
void kinds_show_head(const struct kinds *k);
/* One family, or a kind without one. most: the kinds of a family that are
 * listed, 0: all. Returns whether all were. */
bool kinds_show_family(const struct kinds *k, const struct kind_family *f,
		       size_t most, kinds_show_name name, void *arg);

/* `guard diff --kinds`: the modified texts of a run. Deleted and added files,
 * and those with a critical risk, have no kind: they are counted. */
int kinds_show_changes(struct changes *c, struct err *err);

#endif
