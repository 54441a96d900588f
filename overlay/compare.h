/*
 * Compares two entries of one name: the layer's and the real directory's.
 *
 * An entry of the layer may get more permissions while it is read
 * (temp_chmod.h). The real entry is only read. An unreadable part counts as
 * different.
 */
#ifndef GUARD_OVERLAY_COMPARE_H
#define GUARD_OVERLAY_COMPARE_H

#include <stdbool.h>

#include "base/meta.h"

struct pair {
	int upper, lower; /* the two directories */
	const char *upper_name, *lower_name; /* "" is the directory itself */
	struct meta u, l;
};

struct difference {
	bool content; /* bytes, link target, device number */
	bool meta; /* mode, owner, xattrs */
	bool time; /* mtime */
	bool unreadable; /* a part could not be compared: counts as changed */
	bool attrs; /* xattrs only */
	/* the layer's entry has an ACL that the real one does not have */
	bool acl;
	bool caps; /* the layer's file has file capabilities */
};

/*
 * Compares two entries of one file type; directories are compared without their
 * entries. Returns 0 and fills *ret, or a negative errno: compare_is_fatal()
 * (no descriptors, no memory), or compare_is_gone() when one of the entries was
 * removed during the call.
 */
int compare_pair(const struct pair *p, struct difference *ret, struct err *err);

/* Change flags from the xattrs of a file that the lower does not have:
 * CHANGE_SETID when it has file capabilities, CHANGE_UNMARKED when it has no
 * xattrs of overlayfs. */
unsigned int compare_new_file(int dirfd, const char *name);

/* Whether an error means missing resources (descriptors, memory) and says
 * nothing about the entry. */
bool compare_is_fatal(int got);
/* Whether an error means that the entry or its directory no longer exists. */
bool compare_is_gone(int got);

#endif
