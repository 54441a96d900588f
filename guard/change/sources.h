/*
 * What a restore takes from where: the PATHS of its command line, found in the
 * snapshots.
 */
#ifndef GUARD_CHANGE_SOURCES_H
#define GUARD_CHANGE_SOURCES_H

#include "guard/change/restore_want.h"

struct sources {
	struct store *store; /* borrowed, as is at */
	const char *at; /* WHEN, or NULL */
	struct restore_target *items;
	size_t count, capacity;
};

void sources_free(struct sources *s);

/*
 * Adds what arg names. Without `at`: from the newest snapshot that has it and
 * has read it whole. One with wildcards (unless something stored has just this
 * name) adds every stored path that it matches, from one snapshot: that of
 * `at`, or the newest that has any. -ENOENT: there is nothing; -ENODATA: it
 * was purged.
 */
int sources_find(struct sources *s, const char *arg, struct err *err);
/* -EEXIST: dir has something of the name of one of them, or two of them have
 * the same. */
int sources_check_free(const struct sources *s, const char *dir,
		       struct err *err);
/* Which snapshots, on stderr, a line for each arg. */
void sources_print(const struct sources *s);
/* Where one path is as it was stored: which snapshot has the version before
 * that one. */
void sources_print_earlier(const struct sources *s);

#endif
