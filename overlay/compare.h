/*
 * Two entries of one name, the layer's and the real folder's: what differs.
 *
 * The layer's may be opened up to be read; the real one is only ever read,
 * and what cannot be read counts as different.
 */
#ifndef GUARD_OVERLAY_COMPARE_H
#define GUARD_OVERLAY_COMPARE_H

#include <stdbool.h>

#include "base/meta.h"

struct pair {
	int upper, lower; /* the two folders */
	const char *upper_name, *lower_name; /* "" is the folder itself */
	struct meta u, l;
};

struct difference {
	bool content; /* bytes, link target, device number */
	bool meta; /* mode, owner, xattrs */
	bool time; /* mtime */
	bool unreadable; /* something could not be told: counts as changed */
	bool attrs; /* xattrs alone */
	bool acl; /* the layer's has an access list that the real one has not */
	bool caps; /* the layer's carries file capabilities */
};

/* Both are of one type. Folders are compared without what they hold. Fails
 * only for want of descriptors; -ENOENT: one is gone meanwhile. */
int compare_pair(const struct pair *p, struct difference *ret, struct err *err);

/* What the attributes of a file that the lower does not have say of it:
 * CHANGE_SETID when it carries capabilities, CHANGE_UNMARKED. */
unsigned int compare_new_file(int dirfd, const char *name);

/* Errors that are no answer but a want: descriptors, memory. */
bool compare_is_fatal(int got);
/* The entry or its folder is gone. */
bool compare_is_gone(int got);

#endif
