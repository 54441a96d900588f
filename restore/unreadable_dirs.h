/*
 * Folders that their owner may not look into himself. What is in them can only
 * be stored, compared and taken back while they are open to him; nobody else is
 * let in meanwhile. What is about to be opened is noted in the project's
 * workspace before, on disk, so that the next command shuts what somebody who
 * was ended in between has left open. All of it under the project's lock.
 *
 * The note is a record, "opened" ("guard-opened 1"), with a line
 *
 *	folder = mode SP inode SP path		; octal, decimal, absolute
 *
 * for each folder, those above before those below.
 */
#ifndef GUARD_RESTORE_UNREADABLE_DIRS_H
#define GUARD_RESTORE_UNREADABLE_DIRS_H

#include "snapshot/tree/tree.h"

struct unreadable_dir {
	const char *path;
	int fd; /* O_PATH */
	uint32_t mode; /* that it had */
};

struct unreadable_dirs {
	struct unreadable_dir *items;
	size_t count, capacity;
	int workspace_fd; /* borrowed */
	size_t others; /* lines of the note that were there before */
};

#define UNREADABLE_DIRS_NONE                                                   \
	{                                                                      \
		.workspace_fd = -1                                             \
	}

/* Whether its owner, who is not root, could not list it or reach into it. */
bool unreadable_dirs_match(uint32_t mode);
/*
 * Opens those among the paths that are ours and shut. paths: NULL-terminated,
 * those above before those below, or NULL; they stay where they are.
 * workspace_fd: of the project that they lie in; it stays open.
 */
int unreadable_dirs_open(int root_fd, char *const *paths, int workspace_fd,
			 struct unreadable_dirs *ret, struct err *err);
/*
 * The same of one folder (O_PATH) that its owner may not write in: what lies in
 * it can be removed then. Nothing is opened where he may, or it is not his.
 */
int unreadable_dirs_open_to_write(int dir_fd, int workspace_fd,
				  struct unreadable_dirs *ret, struct err *err);
/* As they were. */
void unreadable_dirs_free(struct unreadable_dirs *s);

/* Shuts again what was left open, where it is still just that: the same folder
 * at its place, with the mode that it was opened with. */
int unreadable_dirs_recover(int workspace_fd, struct err *err);
/* Whether there is a note of such. */
bool unreadable_dirs_noted(int workspace_fd);

/* The mode that it had, of one that is open now; else `mode`. */
uint32_t unreadable_dirs_mode(const struct unreadable_dirs *s, const char *path,
			      uint32_t mode);
/* A tree that was taken meanwhile gets the modes that they had. */
int unreadable_dirs_correct(const struct unreadable_dirs *s,
			    struct store *store, struct entry *root,
			    struct err *err);

#endif
