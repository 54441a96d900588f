/*
 * How an entry looks in bytes: shared by trees (tree.c) and snapshot files
 * (catalog.c), which hold a root's entry. The grammar stands in tree.c.
 */
#ifndef GUARD_SNAPSHOT_TREE_FORMAT_H
#define GUARD_SNAPSHOT_TREE_FORMAT_H

#include "base/codec.h"
#include "snapshot/tree.h"

/* Whether the entry may be stored: its type, its references, its name (""
 * where is_root, else one that a folder may hold). */
bool entry_ok(const struct entry *e, bool is_root);

void entry_encode(struct buf *to, const struct entry *e);

/*
 * Reads one entry; false when it is damaged or not entry_ok(). *ret is then
 * empty. It is the caller's to free.
 */
bool entry_decode(struct dec *d, bool is_root, struct entry *ret);

/* Bytes of a tree whose entries are sorted and entry_ok(). */
void tree_encode(const struct entry *entries, size_t count, struct buf *to);

/* -EBADMSG: damaged or hostile; -EPROTO: written by a newer guard. */
int tree_decode(const void *data, size_t len, struct tree *ret,
		struct err *err);

#endif
