/*
 * Names of one directory that differ only by case, or by an accent that is part
 * of its letter in one name and a character of its own in the other (the
 * Unicode forms NFC and NFD). File systems of other machines take them for one
 * file: there, one of the two replaces the other.
 *
 * Known are the letters of C.UTF-8 (case), and the Latin letters U+00C0 to
 * U+017F (forms).
 *
 *	twins_add() for each new path of the result
 *	twins_find()
 *	twins_other()
 *	twins_free()
 */
#ifndef GUARD_RULES_TWINS_H
#define GUARD_RULES_TWINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/vec.h"

/* There may be a million new names: 16 bytes each. */
struct twin_name {
	const char *path; /* borrowed */
	uint32_t dir; /* length of its directory */
	uint32_t hash; /* of the form of its name */
};

struct twin_pair {
	const char *path; /* new, borrowed */
	char *other; /* name of its twin */
};

struct twins {
	VEC(struct twin_name) names; /* until twins_find() */
	VEC(struct twin_pair) pairs; /* sorted by path */
};

void twins_free(struct twins *t);
/* A path that is new in the result; it must live as long. */
void twins_add(struct twins *t, const char *path);
/* Looks for the twin of each new path. list() appends the names that a
 * directory of the result has, at least those that were there before; it is
 * called once for a directory with new names. */
void twins_find(struct twins *t,
		void (*list)(void *arg, const char *dir, struct names *to),
		void *arg);
/* The name of the twin of a new path, or NULL. */
const char *twins_other(const struct twins *t, const char *path);

#endif
