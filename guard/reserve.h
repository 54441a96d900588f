/*
 * Room on the disk that nobody but guard can take: a file of that size in the
 * state, allocated and never written, and 64 empty ones where the file system
 * has a number of files that can run out. Where the disk is full, it is given
 * to the command that has to write, so that a version can still be kept, a run
 * be applied or discarded.
 */
#ifndef GUARD_RESERVE_H
#define GUARD_RESERVE_H

/* Makes it when it is missing and there is plenty: 1 % of the file system, at
 * most 256 MiB. Best effort. */
void reserve_create(int state_fd);

/* Gives up what of it is more than what is free. */
void reserve_release(int state_fd);

#endif
