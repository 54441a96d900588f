/*
 * Advice for a full disk. ENOSPC does not say which disk is full: the
 * candidates are the file systems of guard's state and of the project.
 */
#ifndef GUARD_STATE_FREE_SPACE_H
#define GUARD_STATE_FREE_SPACE_H

/* Set a path on each of the two file systems. The text is copied; the last call
 * counts. */
void free_space_state(const char *path);
void free_space_project(const char *path);
/* The remedy as a text for the user, to free. */
char *free_space_hint(void);

#endif
