/* Deletes old backups in a destination. */
#ifndef GUARD_SNAPSHOT_BACKUP_COPY_PRUNE_H
#define GUARD_SNAPSHOT_BACKUP_COPY_PRUNE_H

#include "snapshot/backup/copy.h"

struct copy_prune_result {
	uint64_t backups, files, bytes; /* deleted */
};

/* Deletes the manifests of one namespace but for the newest `keep` (at least
 * 1), by the order of their arrival, and the files that only they need. More
 * are kept, back to a complete one, on which the oldest of these builds.
 * Clones that wrote to the namespace at once have a chain each: all that one of
 * the newest manifests builds on stays. -ESTALE: the newest backup of this
 * machine is not listed. local_fd: as for push_store(). */
int copy_prune(struct destination *d, const unsigned char space[SEAL_SPACE_LEN],
	       uint64_t keep, bool dry_run, int local_fd,
	       struct copy_prune_result *ret, struct err *err);

#endif
