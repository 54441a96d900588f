/*
 * The machine's mount table, for one question: under which other paths does
 * the same folder or file show? Whatever is hidden is hidden under all.
 */
#ifndef GUARD_SANDBOX_NS_MOUNTINFO_H
#define GUARD_SANDBOX_NS_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"

struct mountinfo_item {
	char *dev; /* "major:minor" of the file system */
	char *root; /* what of it is mounted, */
	char *point; /* and where */
	bool writable; /* the mount, if the file system is as well */
};

struct mountinfo {
	struct mountinfo_item *items; /* later ones cover earlier ones */
	size_t count, capacity;
};

void mountinfo_free(struct mountinfo *m);
int mountinfo_load(struct mountinfo *ret, struct err *err);

/* Absolute paths other than path, none of them below it, that show the same
 * thing or a part of it. Each and the array are the caller's to free. */
void mountinfo_aliases(const struct mountinfo *m, const char *path,
		       struct names *ret);

#endif
