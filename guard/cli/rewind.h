/*
 * A rewind with its questions and lists, for guard rewind, undo and redo.
 */
#ifndef GUARD_CLI_REWIND_H
#define GUARD_CLI_REWIND_H

#include "guard/change/rewind.h"
#include "guard/change/undo.h"

struct rewind_choice {
	bool dry, yes, json;
	const char *title; /* names the wanted state */
	char ***lost; /* see rewind_changes() */
	char **lost_names; /* the same for people */
	char **unsure; /* paths whose wanted state may differ, for people */
};

/* After rewind_load() and rewind_want(): shows what changes, asks, and does it.
 * Returns an exit status, STATUS_REFUSED also where a path could not be
 * rewound, or a negative errno. */
int rewind_ask(struct rewind *r, const struct rewind_choice *how,
	       struct err *err);

/* Undoes or repeats a rewind. Returns the same. */
int rewind_undo(struct undo *u, struct err *err);

#endif
