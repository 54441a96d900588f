/*
 * Takes a path out of every snapshot and its bytes out of every pack: for what
 * must not be kept, as a secret that was stored by mistake.
 *
 * In each snapshot that has it, an entry without any bytes takes its place and
 * is flagged as incomplete, with a note that says "purged on ...": readers
 * never take it for the file, nor for deleted. Packs that hold anything which
 * no snapshot needs are written anew without it, and the trash is emptied.
 * Where the same bytes have another name, too, they stay.
 *
 * Killed anywhere: some snapshots still have it; the next call goes on.
 */
#ifndef GUARD_SNAPSHOT_MAINTAIN_PURGE_H
#define GUARD_SNAPSHOT_MAINTAIN_PURGE_H

#include "snapshot/tree/catalog.h"

/* How the text of such a note begins. */
#define NOTE_PURGED "purged on "

struct purge_options {
	struct timestamp now;
	/* As in prune.h. */
	void (*busy)(void *arg, const char *who);
	void (*progress)(void *arg, const char *noun, uint64_t done,
			 uint64_t total);
	void *arg;
};

struct purge_result {
	uint64_t snapshots; /* that had it */
	uint64_t packs; /* gone, or written anew without it */
};

/*
 * path: absolute. The store is opened for writing; afterwards it is this
 * process's alone and only to be freed. 0 also when no snapshot has it.
 * -EBADMSG: a snapshot or a pack is damaged, so that not all could be looked
 * at: repair comes first.
 */
int purge_path(struct store *s, const char *path,
	       const struct purge_options *options, struct purge_result *ret,
	       struct err *err);

/* The note's text when path (in the root) or a folder above it was purged from
 * the snapshot, else NULL. */
const char *purge_note(const struct snapshot *s, const char *path);

#endif
