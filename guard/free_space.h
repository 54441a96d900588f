/*
 * What to do about a full disk. The error itself does not say which disk it
 * is: the two candidates are the disk of guard's state and that of the project.
 */
#ifndef GUARD_FREE_SPACE_H
#define GUARD_FREE_SPACE_H

/* Paths on the two disks, copied; the last ones hold. */
void free_space_state(const char *path);
void free_space_project(const char *path);
/* The remedy, for people, to free. */
char *free_space_hint(void);

#endif
