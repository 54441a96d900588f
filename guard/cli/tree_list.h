/*
 * A directory of a snapshot as a list on stdout, for ls and show.
 */
#ifndef GUARD_CLI_TREE_LIST_H
#define GUARD_CLI_TREE_LIST_H

#include "snapshot/tree/tree.h"

enum tree_list_form {
	TREE_LIST_NAMES, /* escaped, a directory with a trailing '/' */
	TREE_LIST_LONG, /* mode, owner, size, time, name, target of a link */
	TREE_LIST_RAW, /* names as they are, each ended by NUL */
	TREE_LIST_JSON,
};

/* e: lists the entries of a directory, or e itself when it is none. */
int tree_list(struct store *store, const struct entry *e,
	      enum tree_list_form form, struct err *err);

/* The entries of one directory, in their order. */
void tree_list_entries(const struct tree *tree, enum tree_list_form form);

#endif
