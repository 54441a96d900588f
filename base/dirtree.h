/*
 * A folder's entries, sorted by bytes, without "." and "..".
 */
#ifndef GUARD_BASE_DIRTREE_H
#define GUARD_BASE_DIRTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct dirlist_item {
	const char *name; /* lies in the list's own memory */
	uint64_t ino;
	unsigned char type; /* DT_*, DT_UNKNOWN where the kernel is silent */
};

struct dirlist {
	struct dirlist_item *items;
	size_t count, capacity;
	char *names;
	size_t names_len, names_capacity;
};

void dirlist_free(struct dirlist *list);

/* Reads the folder behind an open descriptor (not O_PATH); its offset is
 * set to the start first. */
int dirlist_read(int dir_fd, struct dirlist *ret, struct err *err);

/* A list of somebody's own: names one by one, in any order, each once; then
 * settle, before which no item counts. */
void dirlist_add(struct dirlist *list, const char *name, size_t len);
void dirlist_sort(struct dirlist *list);

/* Binary search; NULL when there is none. */
const struct dirlist_item *dirlist_find(const struct dirlist *list,
					const char *name);

/*
 * Deletes what name in dirfd is, with everything below, links not followed,
 * no other file system entered. Folders that their owner may not search are
 * opened up first (overlay's work folder is 000). What is not there, or any
 * more, is no error: several may be at it. Only for what guard owns: layers,
 * staging, trash.
 */
int dirtree_remove(int dirfd, const char *name, struct err *err);

/*
 * The same for a name in dirfd itself that somebody might take back whole: it
 * loses that name first, so that nothing is left under it when we are ended in
 * the middle.
 */
int dirtree_remove_aside(int dirfd, const char *name, struct err *err);
/* A name that an interrupted removal has left behind. */
bool dirtree_is_remains(const char *name);

#endif
