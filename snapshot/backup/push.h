/*
 * Completes a destination: writes the packs of a store that it lacks, then
 * snapshots and indexes, then a manifest. Reads the store, never changes it.
 *
 * Small packs are bundled, 4 MiB at most, so that a backup is few files. A pack
 * that a prune wrote again is not sent when all its objects are in packs of the
 * destination.
 *
 * `local` is a directory of the user's state for this destination: its lock,
 * and the list of the files in the destination (a cache: when it is lost the
 * destination's manifests are read: of the last namespace, else of the only
 * one of this store and this host). When the newest manifest of the
 * destination is not the one in the list, another machine with the same store
 * (a clone) writes there: this one begins a namespace of its own.
 *
 * Killed anywhere: at most one file is sent twice.
 */
#ifndef GUARD_SNAPSHOT_BACKUP_PUSH_H
#define GUARD_SNAPSHOT_BACKUP_PUSH_H

#include "snapshot/backup/manifest.h"
#include "snapshot/store/store.h"

struct push_options {
	bool dry_run;
	bool complete; /* also packs whose objects the destination has */
	const char *home; /* the user's home directory; for recovery */
	int state_fd; /* the directory that has the file `pins`, if any */
	/* The namespace of the last backup or of the recovered one, used when
	 * there is no list; NULL: unknown. */
	const unsigned char *space;
	/* For callers of push_lock(): called before they wait for another
	 * backup. NULL: no wait. */
	void (*busy)(void *arg, const char *who);
	/* Bytes of the store that were sent so far; may be NULL. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
};

struct push_result {
	bool nothing; /* the destination has all of it: nothing was written */
	/* The store lacks parts by damage. The destination keeps those that it
	 * has. Found when files of the store have gone, or a snapshot has
	 * changed and cannot be read. */
	bool damaged;
	uint64_t number; /* 1: the first manifest of this store there, or of a
			    clone */
	unsigned char space[SEAL_SPACE_LEN];
	uint64_t snapshots, files; /* snapshots sent; files written */
	uint64_t bytes; /* written; with dry_run: of the store, to send */
};

/* Locks the directory `local`, by a file of this name, against other backups
 * and prunes of it. Returns a descriptor; -EBUSY. */
#define PUSH_LOCK "lock"
int push_lock(int local_fd, const struct destination *d, struct err *err);

/* The newest manifest that this machine wrote; number 0: unknown. */
void push_read_last(int local_fd, struct manifest_name *ret);

/* Notes files of the destination, by the last part of their paths, whose
 * content the next backup sends again. */
int push_note_damaged(int local_fd, const struct names *files, struct err *err);

/* s: open for reading or writing; a prune of it waits meanwhile. The caller has
 * the lock of `local`. */
int push_store(struct store *s, struct destination *d, int local_fd,
	       const struct push_options *o, struct push_result *ret,
	       struct err *err);

#endif
