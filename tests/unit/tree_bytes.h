/* Tree objects in the memory of a test. */
#ifndef GUARD_TESTS_UNIT_TREE_BYTES_H
#define GUARD_TESTS_UNIT_TREE_BYTES_H

#include "snapshot/tree/tree.c"

/* Appends a tree of entries that are sorted and entry_ok(). */
static void tree_encode(const struct entry *entries, size_t count,
			struct buf *to)
{
	uint32_t chattr = 0;
	size_t i;

	for (i = 0; i < count; i++)
		chattr |= entries[i].chattr;
	tree_encode_head(chattr != 0, count, to);
	for (i = 0; i < count; i++)
		entry_encode(to, &entries[i]);
}

#endif
