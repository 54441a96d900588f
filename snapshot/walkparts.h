/*
 * What the parts of the walk share: walker.c (threads, stack, finishing),
 * scan.c (one folder's names and what they are). Nobody else's.
 */
#ifndef GUARD_SNAPSHOT_WALKPARTS_H
#define GUARD_SNAPSHOT_WALKPARTS_H

#include "base/walk.h"
#include "snapshot/reading.h"
#include "snapshot/ring.h"
#include "snapshot/walker.h"

/* What a name turned out to be. */
struct item {
	const char *name; /* the list's or the cache's */
	struct meta meta;
	struct oid content, attrs;
	char *link;
	uint64_t size;
	struct folder *child;
	bool gone; /* not in the tree: vanished, or nothing is known of it */
	bool incomplete;
	bool untrusted; /* to be read again next time */
};

/*
 * A folder under way. Lives until its parent is finished, since its name may
 * lie in the parent's list and its results are the parent's to collect.
 *
 * pending: what must end before it can be finished: its own scan, the folders
 * in it, reads under way. fd_users: what still needs fd: its own scan, the
 * folders in it that are not open yet, reads under way.
 */
struct folder {
	struct folder *parent, *children, *next;
	const char *name;
	size_t index; /* in the parent */
	int fd; /* -1: closed; reached by path then */
	bool closed_early;
	atomic_int pending, fd_users;
	struct meta meta;
	const struct cache_entry *old; /* the same name in the cache, NULL */
	const struct cache_folder *record; /* its folder record, NULL */
	const struct cache_entry *entries;
	size_t entry_count;
	bool same; /* as in the cache, by what stat says of itself */
	bool gone, incomplete, untrusted;
	struct dirlist list;
	bool listed; /* names come from list, not from the cache */
	size_t count; /* names */
	struct item *items; /* NULL: all as in the cache */
	struct oid tree, attrs;
	uint32_t number; /* in the builder, when items is set */
	uint64_t skips; /* bits of walk.skips that lie below it */
	size_t path_len; /* of its path; counted only while skips */
};

/* One thread's things. */
struct worker {
	struct walk *walk;
	struct reader *reader;
	bool is_caller;
};

struct job {
	struct folder *folder;
	size_t index;
};

/* walker.c */
char *folder_path(const struct folder *f, const char *name);
void walk_note(struct walk *w, enum note_kind kind, const struct folder *f,
	       const char *name, const char *text);
void walk_fail(struct walk *w, const struct err *err);
void folder_ended(struct walk *w, struct folder *f);
void folder_fd_release(struct walk *w, struct folder *f);
bool walk_moved(const struct walk *w, const struct meta *m);
bool walk_untrusted(const struct walk *w, const struct meta *m);

/* scan.c */
/* Reads the folder's names and what they are; pushes the folders among them
 * and lets reads go on. Ends its own part of `pending`. */
void folder_scan(struct worker *k, struct folder *f);
/* Takes one finished read in; false when none is under way. */
bool worker_collect(struct worker *k);
void walk_push(struct walk *w, struct folder *chain);
/* From here on the folder differs from the cache: items for all its names,
 * the first `known` of them as in the cache. */
void folder_items(const struct walk *w, struct folder *f, size_t known);

#endif
