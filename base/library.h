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

#include <stddef.h>

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

struct library_symbol {
	const char *name;
	size_t at; /* offset of the function pointer in calls */
};

/* Loads the library for the rest of the process and fills in the functions;
 * count 0: only loads it. -ENOPKG: the library, a library that it needs or a
 * function is missing; the text names the package. */
int library_load(enum library_id id, const struct library_symbol *symbols,
		 size_t count, void *calls, struct err *err);

#endif
