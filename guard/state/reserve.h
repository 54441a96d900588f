/*
 * Disk space that guard reserves for itself: an allocated file in the state,
 * and 64 empty files on a file system whose number of inodes is limited. When
 * the disk is full, guard gives the space to the command that has to write, so
 * that it can still store a version, or apply or discard a run.
 */
#ifndef GUARD_STATE_RESERVE_H
#define GUARD_STATE_RESERVE_H

/* Creates the missing reserve when plenty of space is free: 1 % of the file
 * system, at most 256 MiB, and less on a disk that has less. Best effort. */
void reserve_create(int state_fd);

/* Removes each part of the reserve that is larger than the free space, or the
 * file when a quota is full. */
void reserve_release(int state_fd);

#endif
