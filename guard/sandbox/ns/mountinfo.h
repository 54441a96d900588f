/* The machine's mount table, read for one question: at which other paths is the
 * same file or directory visible? A masked path is masked at all of them. */
#ifndef GUARD_SANDBOX_NS_MOUNTINFO_H
#define GUARD_SANDBOX_NS_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"

struct mountinfo_item {
	char *dev; /* "major:minor" of the file system */
	char *root; /* the mounted directory of the file system */
	char *point; /* the mount point */
	bool writable; /* mount and file system are writable */
};

struct mountinfo {
	struct mountinfo_item *items; /* later ones cover earlier ones */
	size_t count, capacity;
};

/* Reads /proc/self/mountinfo. Free with mountinfo_free(). */
void mountinfo_free(struct mountinfo *m);
int mountinfo_load(struct mountinfo *ret, struct err *err);

/* Fills ret with the absolute paths, other than path and not below it, that
 * show the same file or directory or a part of it. Free with names_free(). */
void mountinfo_aliases(const struct mountinfo *m, const char *path,
		       struct names *ret);

#endif
