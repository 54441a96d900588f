/*
 * Texts of the source tree that are compiled in: profiles, rules, places of
 * credentials, names of system calls. Makefile lists them (TEXTS) and turns
 * them into the table below; tests/lint/texts.c reads each with guard's own
 * reader before guard is linked, and prints a mistake with its file and line.
 */
#ifndef BASE_SHIPPED_H
#define BASE_SHIPPED_H

#include <stddef.h>

struct shipped_text {
	const char *path; /* in the source tree */
	const char *text;
};

/* In the order of the paths; the last has no path. */
extern const struct shipped_text shipped_texts[];

/* The text of a file; NULL: there is none of that path. */
const char *shipped_text(const char *path);
/* The name of the n-th text in a directory, NULL behind the last. */
const char *shipped_name(const char *dir, size_t n);

#endif
