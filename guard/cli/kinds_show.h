/*
 * Kinds of hunks as styled lines: the odd ones first, a sample of each, and of
 * a family the values in which its kinds differ.
 */
#ifndef GUARD_CLI_KINDS_SHOW_H
#define GUARD_CLI_KINDS_SHOW_H

#include "guard/change/changes.h"
#include "guard/cli/styled.h"
#include "guard/review/kinds.h"
#include "guard/review/view.h"

/* Appends the escaped name of an item of the kinds. */
typedef void (*kinds_show_name)(void *arg, size_t item, struct buf *to);

/* "20003 hunks of 4 kinds", behind a text that is escaped. */
void kinds_show_head(const struct kinds *k, const char *before,
		     struct styled *to);
/* One family, or a kind without one. most: the kinds of a family that are
 * listed, 0: all. Returns whether all were. */
bool kinds_show_family(const struct kinds *k, const struct kind_family *f,
		       size_t most, kinds_show_name name, void *arg,
		       struct styled *to);

/* A file of a run with its hunks. */
struct kinds_file {
	const struct changes_root *root;
	const struct change *change;
};

/* The kinds of the modified texts of a run; their items are `items`. */
struct kinds_files {
	VEC(struct kinds_file) items;
	size_t others; /* changes without a kind */
	struct kinds kinds;
};

/* The changes of the views are borrowed; risks are judged as far as they are
 * needed. -ENOPKG: libgit2 is missing. */
int kinds_show_make(struct view *views, size_t count, struct kinds_files *ret,
		    struct err *err);
void kinds_files_free(struct kinds_files *f);

/* `guard diff --kinds`: the modified texts of a run. Deleted and added files,
 * and those with a critical risk, have no kind: they are counted. */
int kinds_show_changes(const struct changes *c, const char *before,
		       struct styled *to, struct err *err);
/* The number of kinds, behind a text, and all families. */
void kinds_show_all(struct kinds_files *f, const char *before,
		    struct styled *to);

#endif
