/* Lists of the entries of a directory, sorted by bytes, without "." and "..";
 * and removal of whole trees. */
#ifndef GUARD_BASE_DIRTREE_H
#define GUARD_BASE_DIRTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

struct dirlist_item {
	const char *name; /* in the list's own memory */
	uint64_t ino;
	unsigned char type; /* DT_*, also where readdir(3) would not tell it */
};

struct dirlist {
	struct dirlist_item *items;
	size_t count, capacity;
	struct buf names;
};

/* Frees the items and names and empties the list. */
void dirlist_free(struct dirlist *list);

/* Reads the directory of an open descriptor (not O_PATH), from its start. *ret
 * must be freed with dirlist_free(). */
int dirlist_read(int dir_fd, struct dirlist *ret, struct err *err);

/* Calls each() for the entries of a directory and of those below it, level by
 * level, so that the ones near the top are found in a very large tree, too. At
 * most `levels` levels and `most` directories are read; unreadable ones are
 * skipped. list(): reads those entries of a directory that each() needs; NULL:
 * all. each(): false for a directory that is not entered. */
void dirtree_levels(const char *top, size_t levels, size_t most,
		    void (*list)(void *arg, const char *path,
				 struct dirlist *ret),
		    bool (*each)(void *arg, const char *path,
				 const struct dirlist_item *item),
		    void *arg);

/* Builds a list by hand: dirlist_add() for each name, in any order, each name
 * once; then dirlist_sort(). Items are valid only after the sort. */
void dirlist_add(struct dirlist *list, const char *name, size_t len);
void dirlist_sort(struct dirlist *list);

/* Binary search by name; NULL when the list does not have it. */
const struct dirlist_item *dirlist_find(const struct dirlist *list,
					const char *name);

/*
 * Deletes name in dirfd with everything below. Symbolic links are not followed
 * and no other file system is entered. Directories that their owner may not
 * search get mode 0700 first (the work directory of overlayfs has mode 000). A
 * missing name is no error, because several processes may remove the same tree.
 * Only for trees that guard owns: layers, staging, trash.
 */
int dirtree_remove(int dirfd, const char *name, struct err *err);

/* Deletes the entries of a directory, as far as they can be deleted. */
void dirtree_empty(int dirfd, const char *name);

/* As dirtree_remove() for a name in dirfd itself from which another process
 * might restore the tree. The tree is renamed first, so that an interrupted
 * removal leaves no partial tree under the old name. */
int dirtree_remove_aside(int dirfd, const char *name, struct err *err);
/* Whether an interrupted removal has left this name behind. */
bool dirtree_is_remains(const char *name);

#endif
