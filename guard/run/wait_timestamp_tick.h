/*
 * File systems whose times are not exactly those of this machine's clock: FUSE
 * (sshfs, fuse2fs), NFS, 9p, vfat and exFAT. Some keep two whole seconds as
 * one. A change just before a run starts then looks like a change by the user
 * during the run, and the state at the run's start is unknown.
 */
#ifndef GUARD_RUN_WAIT_TIMESTAMP_TICK_H
#define GUARD_RUN_WAIT_TIMESTAMP_TICK_H

/*
 * Returns when all earlier changes below the directory have older times than
 * any change from now on. On file systems with the kernel's own times: at once.
 * On others: searches for young entries and waits for the clock, at most 3 s.
 * When the search takes longer than half a second, the call does not wait.
 */
void wait_timestamp_tick(int root_fd);

#endif
