/*
 * A cache beside the snapshots: which paths changed from one snapshot of a
 * directory to the next. The history of one path skips every snapshot in which
 * the path is unchanged, without opening its file or a tree, and needs no list
 * of the snapshots.
 *
 *	struct changed_paths *c = changed_paths_open(store);
 *
 *	s = &c->items[i];
 *	if (s->before == ... && !changed_paths_has(c, s, hash))
 *		the path is as in snapshot s->before
 *	changed_paths_newer(c, store, &seqs, &count, &err);
 *	changed_paths_free(&c);
 *
 * The cache has hashes of the paths. Two paths may have one hash: then the path
 * only seems to be changed. Snapshots that were pruned may still have an item.
 * Purge, undelete and repair remove the cache. A snapshot that is partial, has
 * excludes, or entries that could not be read, has an item that says nothing.
 */
#ifndef GUARD_SNAPSHOT_TREE_CHANGED_PATHS_H
#define GUARD_SNAPSHOT_TREE_CHANGED_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct mapping;
struct snapshot;
struct store;

/* As in the file. */
struct changed_snapshot {
	uint32_t seq;
	/* The last snapshot of the same root before it that is no result of a
	 * run; 0: unknown. */
	uint32_t before;
	uint32_t root; /* hash of the root's path; 0: unknown */
	uint32_t run; /* hash of the run's id; 0: none */
	uint32_t flags; /* of enum changed_flags */
	uint32_t first, count; /* the hashes of its paths */
};

enum changed_flags {
	CHANGED_OF_RUN = 1, /* snapshot_of_run() */
	CHANGED_COMMAND = 2, /* it has the run's command */
	CHANGED_DURING = 4, /* taken while the run went on */
	CHANGED_UNKNOWN = 8, /* partial, or not read completely */
};

struct changed_paths {
	const struct changed_snapshot *items; /* ascending by seq */
	size_t count;
	const uint32_t *hashes;
	struct mapping *file; /* which holds both */
};

/* Never NULL. Without a file, or with a damaged one, it has no item. */
struct changed_paths *changed_paths_open(struct store *store);
void changed_paths_free(struct changed_paths **c);

/* The numbers behind the last item, ascending, to free. Some of them may have
 * no snapshot. */
int changed_paths_newer(const struct changed_paths *c, struct store *store,
			uint64_t **ret, size_t *ret_count, struct err *err);

/* Loads the newest snapshot of that root; seq 0 when there is none. Those that
 * the cache says to be of another root are not opened, damaged ones are
 * skipped. */
int changed_paths_find_newest(struct store *store, const char *root_path,
			      struct snapshot *ret, struct err *err);

/* The hash of a path in the root, of a root, or of a run's id. */
uint32_t changed_paths_hash(const char *text);
/* Whether the path with that hash, or an entry below it, may differ from
 * s->before. */
bool changed_paths_has(const struct changed_paths *c,
		       const struct changed_snapshot *s, uint32_t hash);

/* Adds the snapshots that the cache lacks, if there are that many. The caller
 * works in the background, or after its own work: an error is ignored. */
void changed_paths_update(struct store *store, size_t least);

#endif
