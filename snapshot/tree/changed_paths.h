/*
 * A cache beside the snapshots: which paths changed from one snapshot of a
 * directory to the next. The history of one path skips every snapshot in which
 * the path is unchanged, without opening its file or a tree.
 *
 *	struct changed_paths *c = changed_paths_open(store, &err);
 *
 *	s = c->listed.items[i].cached;
 *	if (s && s->before == ... && !changed_paths_has(c, s, "src/a.c"))
 *		the path is as in snapshot s->before
 *	changed_paths_free(&c);
 *
 * The cache has hashes of the paths. Two paths may have one hash: then the path
 * only seems to be changed. An item holds while the snapshot's file has the
 *same inode as then, and that of `before`, too: a snapshot that was written
 *again has no item. Those that are partial, have excludes, or entries that
 *could not be read, have an item that says nothing.
 */
#ifndef GUARD_SNAPSHOT_TREE_CHANGED_PATHS_H
#define GUARD_SNAPSHOT_TREE_CHANGED_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct store;

struct changed_snapshot {
	uint64_t seq, inode;
	/* The last snapshot of the same root before it that is no result of a
	 * run; 0: unknown. */
	uint64_t before;
	uint64_t root; /* hash of the root's path; 0: the item says nothing */
	uint64_t run; /* hash of the run's id; 0: none */
	uint64_t flags; /* of enum changed_flags */
	uint64_t first, count; /* the hashes of its paths */
};

enum changed_flags {
	CHANGED_OF_RUN = 1, /* snapshot_of_run() */
	CHANGED_COMMAND = 2, /* it has the run's command */
	CHANGED_DURING = 4, /* taken while the run went on */
};

/* A snapshot that the store has now. */
struct listed_snapshot {
	uint64_t seq, inode;
	const struct changed_snapshot *cached; /* NULL: no item */
};

struct changed_paths {
	VEC(struct listed_snapshot) listed; /* ascending by seq */
	struct changed_snapshot *items; /* ascending by seq */
	size_t count;
	uint32_t *hashes;
	size_t hash_count;
};

/* NULL: the snapshots cannot be listed. Without a file, or with a damaged one,
 * no snapshot has an item. */
struct changed_paths *changed_paths_open(struct store *store, struct err *err);
void changed_paths_free(struct changed_paths **c);

/* Whether the path (in the root), or an entry below it, may differ from
 * s->before. */
bool changed_paths_has(const struct changed_paths *c,
		       const struct changed_snapshot *s, const char *path);

/* Adds the snapshots that the cache lacks, when they are many. The caller works
 * in the background, or after its own work: an error is ignored. */
void changed_paths_update(struct store *store);

/* For tests: adds the snapshots when so many are missing. */
void changed_paths_update_from(size_t missing);

#endif
