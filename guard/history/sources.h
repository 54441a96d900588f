/*
 * The sources of a restore: for each PATH of the command line the snapshot and
 * the entry that is restored.
 */
#ifndef GUARD_HISTORY_SOURCES_H
#define GUARD_HISTORY_SOURCES_H

#include "guard/change/restore_paths.h"

struct sources {
	struct context *c; /* borrowed, as is its store */
	struct store *store;
	const char *at; /* WHEN of --at, or NULL; borrowed */
	struct restore_target *items;
	size_t count, capacity;
};

/* Frees all that *s owns. */
void sources_free(struct sources *s);

/*
 * Adds the sources of one PATH. Without `at` the newest snapshot is taken that
 * has the path and has read it completely. A PATH with wildcards, unless a
 * stored file has just this name, adds every stored path that matches, all from
 * one snapshot: that of `at`, or the newest with a match. -ENOENT: no snapshot
 * has it; -ENODATA: it was purged.
 */
int sources_find(struct sources *s, const char *arg, struct err *err);
/* Leaves out, with a warning, the files and directories which are lost
 * themselves. */
void sources_skip_lost(struct sources *s);
/* -EEXIST: dir has an entry with the name of a source, or two sources have the
 * same name. */
int sources_check_free(const struct sources *s, const char *dir,
		       struct err *err);
/* Reports the snapshots, one note for each PATH. */
void sources_print(const struct sources *s);
/* For one PATH that is already as stored: reports which snapshot has the
 * previous version. */
void sources_print_earlier(const struct sources *s);

#endif
