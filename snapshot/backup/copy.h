/*
 * Reads the stores in a destination: lists them, makes stores of them again,
 * and checks them.
 *
 * One changed byte or one missing file costs the content of that file alone; of
 * packs of data, the records in front of the byte are read. The rest is
 * unpacked, and the damage is reported object by object.
 */
#ifndef GUARD_SNAPSHOT_BACKUP_COPY_H
#define GUARD_SNAPSHOT_BACKUP_COPY_H

#include "snapshot/backup/manifest.h"
#include "snapshot/tree/catalog.h"

/* A chain of backups: one machine's, or one of two clones'. */
struct copy_source {
	unsigned char space[SEAL_SPACE_LEN];
	struct manifest_name newest;
	/* The directory, followed by "/" and the beginning of a hash where
	 * clones have written there, too. */
	char *name;
	bool forked; /* clones have */
	char *host, *home;
	int64_t time; /* of the newest backup */
	uint64_t snapshots; /* highest number */
	bool damaged; /* the newest manifest, or the list, cannot be read */
};

struct copy_sources {
	struct copy_source *items; /* the newest first */
	size_t count, capacity;
};

void copy_sources_free(struct copy_sources *s);
/* -ENOENT: there is no backup. */
int copy_list(struct destination *d, struct copy_sources *ret, struct err *err);

struct copy_store {
	struct manifest_place place;
	struct manifest_state state;
	struct manifest_names names; /* all manifests there */
};

/* Opens the newest backup of a source, or that of the number. -ENOENT. The
 * destination is borrowed until copy_free(). */
int copy_open(struct destination *d, const struct copy_source *source,
	      uint64_t number, struct copy_store *ret, struct err *err);
void copy_free(struct copy_store *c);
/* Damage: object is the path of a file below the destination, what names the
 * pack or snapshot. Missing manifests are damage, too: what only they added is
 * unknown. */
typedef void copy_fault(void *arg, const char *object, const char *what,
			const char *why);
typedef void copy_progress(void *arg, uint64_t done, uint64_t total);

struct copy_options {
	bool lazy; /* unpack without the records of data packs: copy_fetch() */
	/* For verify: of the files whose bytes are read, chosen at random. */
	unsigned int read_percentage;
	copy_fault *fault; /* may be NULL */
	copy_progress *progress; /* may be NULL */
	void *arg;
};

/* Makes a store in dir, which must not exist. Killed: dir has no FORMAT.
 * *ret_faults: number of reports. */
int copy_unpack(struct copy_store *c, const char *dir,
		const struct copy_options *o, uint64_t *ret_faults,
		struct err *err);

/* Adds to a store that was unpacked lazily the packs that hold the objects
 * below the entries. */
int copy_fetch(struct copy_store *c, const char *dir, struct store *s,
	       const struct entry *entries, size_t count, struct err *err);

struct copy_verify_result {
	uint64_t files, bytes, snapshots, packs;
};

/* The chain, presence and sizes; at 100 percent also the manifests of all
 * backups that are there. The numbers are added to *sum. 0: intact, 1:
 * damaged. */
int copy_verify(struct copy_store *c, const struct copy_options *o,
		struct copy_verify_result *sum, struct err *err);

#endif
