/*
 * File systems whose times are not this machine's own to the tick: FUSE
 * (sshfs, fuse2fs), NFS, 9p, vfat and exFAT. Some keep two whole seconds as
 * one, so what was changed just before a run began looks as if it had been
 * changed just after it, by a user who works on: nobody knows then what the
 * run began with.
 */
#ifndef GUARD_SNAPSHOT_WALK_WAIT_TIMESTAMP_TICK_H
#define GUARD_SNAPSHOT_WALK_WAIT_TIMESTAMP_TICK_H

/*
 * Returns when what was changed below a folder before the call looks older
 * than what will be changed from now on: at once, but on such a file system
 * it is looked for what is that young, and the clock is waited for, 3 s at
 * most. Where half a second is not enough to look, nothing is waited for.
 */
void wait_timestamp_tick(int root_fd);

#endif
