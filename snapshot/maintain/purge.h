/*
 * Removes a path from every snapshot and its bytes from every pack, for data
 * that must not be kept, such as a secret that was stored by mistake.
 *
 * In each snapshot with the path, a placeholder without bytes replaces the
 * entry. The placeholder is flagged as incomplete and has a note "purged on
 * ...", so that no reader takes it for the file, or the file for deleted. Packs
 * with an object that no snapshot needs are repacked, and the trash is emptied.
 * Equal bytes under another path stay.
 *
 * The timelines of runs (CATALOG_TIMELINE) are the caller's, before the call.
 *
 * A kill at any point may leave the path in some snapshots; the next call
 * continues.
 */
#ifndef GUARD_SNAPSHOT_MAINTAIN_PURGE_H
#define GUARD_SNAPSHOT_MAINTAIN_PURGE_H

#include "snapshot/maintain/prune.h"

struct purge_result {
	uint64_t snapshots; /* snapshots that had the path */
	uint64_t packs; /* packs removed or repacked */
};

/* The text of the note. */
#define PURGE_NOTE_LEN 80
void purge_note(char ret[PURGE_NOTE_LEN], struct timestamp now);

/*
 * Purges the absolute path `path`. Of the options only now, busy, progress and
 * arg count. The store must be open for writing; on
 * return this process has it locked exclusively and must only free it. 0 also
 * when no snapshot has the path. -EBADMSG: a snapshot or pack is damaged and
 * could not be searched, run repair first; -EBUSY: as for prune_run().
 */
int purge_path(struct store *s, const char *path,
	       const struct prune_options *options, struct purge_result *ret,
	       struct err *err);

#endif
