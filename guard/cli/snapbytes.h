/*
 * The content behind a list of changes between two trees of the store.
 */
#ifndef GUARD_CLI_SNAPBYTES_H
#define GUARD_CLI_SNAPBYTES_H

#include "guard/changes.h"
#include "guard/cli/difftext.h"

struct snapbytes {
	struct store *store;
	const struct entry *old, *now; /* the roots of its paths */
};

/* s must live as long as the source. */
struct difftext_source snapbytes_source(struct snapbytes *s);
/* As changes_find_moves(), told from the store's own ids. */
void snapbytes_find_moves(const struct snapbytes *s, struct change_list *list);

#endif
