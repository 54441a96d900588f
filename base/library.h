/*
 * Shared libraries that are loaded at their first use and never linked: each
 * depends on many others or is rarely needed, and guard runs without it. The
 * soname is that of the build, because it names the ABI.
 *
 * The table is the only place that names a library to people: its soname, its
 * Debian package, and what does not work without it.
 */
#ifndef GUARD_BASE_LIBRARY_H
#define GUARD_BASE_LIBRARY_H

#include "base/err.h"

enum library_id {
	LIBRARY_LIBGIT2,
	LIBRARY_LIBARCHIVE,
	LIBRARY_LIBCRYPTO,
	LIBRARY_NCURSESW,
	LIBRARY_LIBSODIUM,
	LIBRARY_LIBSYSTEMD,
	LIBRARY_COUNT
};

struct library {
	const char *name;
	const char *soname;
	const char *older; /* another soname with the same functions, or NULL */
	const char *package;
	const char *loss; /* without the library */
};

/* Never NULL. */
const struct library *library_info(enum library_id id);

/* Loads the library for the rest of the process and fills in the functions:
 * `calls` is a struct of their pointers alone, in the order of their names,
 * which are separated by blanks and lack the prefix; names "": only loads it.
 * -ENOPKG: the library, a library that it needs or a function is missing; the
 * text names the package. */
int library_load(enum library_id id, const char *prefix, const char *names,
		 void *calls, struct err *err);

/* A list of functions gives both, with a MEMBER() for the prefix:
 *
 *	#define CALLS(X) X(new) X(free)
 *	static struct { CALLS(MEMBER) } lib;
 *	library_load(LIBRARY_X, "x_", CALLS(LIBRARY_NAME), &lib, err)
 */
#define LIBRARY_NAME(name) LIBRARY_TEXT(name)
#define LIBRARY_TEXT(name) #name " "

#endif
