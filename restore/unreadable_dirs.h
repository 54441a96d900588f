/*
 * Directories without r or x for their owner.
 *
 * guard must store, compare and restore their entries, so it adds rwx for the
 * owner during that work; the bits of group and others stay. Before a mode
 * changes, a record in the project's workspace is made durable, so that the
 * next command restores the modes after a crash. All functions require the
 * project's lock.
 *
 * The record is "opened" ("guard-opened 1"), with a line
 *
 *	"folder=" mode SP inode SP path		; octal, decimal, absolute
 *
 * for each directory, parents before children.
 */
#ifndef GUARD_RESTORE_UNREADABLE_DIRS_H
#define GUARD_RESTORE_UNREADABLE_DIRS_H

#include "snapshot/tree/tree.h"

struct unreadable_dir {
	const char *path;
	int fd; /* O_PATH */
	uint32_t mode; /* the original mode */
};

struct unreadable_dirs {
	struct unreadable_dir *items;
	size_t count, capacity;
	int workspace_fd; /* borrowed */
	size_t others; /* lines of the record that existed before */
};

#define UNREADABLE_DIRS_NONE                                                   \
	{                                                                      \
		.workspace_fd = -1                                             \
	}

/* Whether the mode prevents the owner, who is not root, from listing or
 * entering the directory. */
bool unreadable_dirs_match(uint32_t mode);
/*
 * Adds rwx to the unreadable directories among the paths that belong to this
 * user. paths: NULL-terminated, parents before children, or NULL; borrowed
 * until unreadable_dirs_free(). workspace_fd: of the project that holds them;
 * borrowed. The result goes to *ret.
 */
int unreadable_dirs_open(int root_fd, char *const *paths, int workspace_fd,
			 struct unreadable_dirs *ret, struct err *err);
/* The same for one directory (O_PATH) that its owner may not write to, so that
 * its entries can be removed. Changes nothing when the owner has rwx or is
 * another user. */
int unreadable_dirs_open_to_write(int dir_fd, int workspace_fd,
				  struct unreadable_dirs *ret, struct err *err);
/* Restores the modes and removes the lines from the record. */
void unreadable_dirs_free(struct unreadable_dirs *s);

/* Restores the modes that a killed guard left changed. A directory must still
 * have the recorded path, inode and changed mode. */
int unreadable_dirs_recover(int workspace_fd, struct err *err);
/* Whether the record exists. */
bool unreadable_dirs_noted(int workspace_fd);

/* The original mode of a directory that is changed now, else `mode`. */
uint32_t unreadable_dirs_mode(const struct unreadable_dirs *s, const char *path,
			      uint32_t mode);
/* Replaces the changed modes in a tree that was stored during the change by the
 * original ones. *root becomes the new root. */
int unreadable_dirs_correct(const struct unreadable_dirs *s,
			    struct store *store, struct entry *root,
			    struct err *err);

#endif
