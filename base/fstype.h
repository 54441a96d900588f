/* Properties of file system types, by the number that statfs(2) returns. The
 * only list of types in guard: support for another type is a line in fstype.c.
 */
#ifndef GUARD_BASE_FSTYPE_H
#define GUARD_BASE_FSTYPE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	/*
	 * Timestamps come from this kernel's clock, to the tick (from Linux
	 * 6.13: finer), each change of a directory sets its mtime, and a store
	 * through mmap sets that of its file. Not so on a network, with FUSE,
	 * or where times are stored coarser (vfat: 2 s). Without the trait
	 * files are read more often; a wrong one hides edits.
	 */
	FSTYPE_KERNEL_TIMES = 1,
	/* An overlayfs mount cannot have its upper directory here. */
	FSTYPE_NO_UPPER = 4,
	/* Shows the state of the kernel, not files of a user: no layer can be
	 * mounted over it, and a run must not see it. */
	FSTYPE_PSEUDO = 8,
	/* A union of other file systems; a container's root often is one. */
	FSTYPE_OVERLAY = 16,
	/* Keeps files in memory only: no writeback, no sync. */
	FSTYPE_MEMORY = 32,
};

struct fstype {
	uint32_t magic;
	const char *name; /* for messages; NULL where none needs it */
	unsigned int traits; /* FSTYPE_... */
};

/* Returns the type of the file system of fd. An unknown type has magic 0, name
 * NULL and no traits; where fstatfs(2) fails, FSTYPE_PSEUDO. The result is
 * static. */
const struct fstype *fstype_of_fd(int fd);

#endif
