/*
 * Room on the disk that nobody but guard can take: a file of that size in the
 * state, allocated and never written. Where the disk is full, its space is
 * given to the command that has to write in the store, so that a version can
 * still be kept, a run be applied or discarded.
 */
#ifndef GUARD_RESERVE_H
#define GUARD_RESERVE_H

/* Makes it when it is missing and there is plenty: 1 % of the file system, at
 * most 256 MiB. Best effort. */
void reserve_keep(int state_fd);

/* Gives it up when there is less free than it holds. */
void reserve_use(int state_fd);

#endif
