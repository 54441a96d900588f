/*
 * Checks whether a store is intact. Reads, never writes.
 *
 * Always checked: both copies of the secret; the header and index of every
 * pack; every snapshot's file; every tree and chunk list that a snapshot refers
 * to; and that each object they name exists. With read_data also every record
 * in an index: its checksum, and the keyed hash of each of its objects.
 *
 * The store is locked shared meanwhile: snapshots go on, prune waits.
 */
#ifndef GUARD_SNAPSHOT_MAINTAIN_VERIFY_H
#define GUARD_SNAPSHOT_MAINTAIN_VERIFY_H

#include "snapshot/tree/catalog.h"

enum verify_kind {
	/* name: the file of the secret, or another of the store's own files */
	VERIFY_SECRET,
	VERIFY_PACK, /* name: the pack; its index or all of it is damaged */
	/* name: the pack, offset: the record; its objects are damaged */
	VERIFY_RECORD,
	/* seq: the snapshot whose file is damaged, or the first of several
	 * missing ones */
	VERIFY_SNAPSHOT,
	/* seq, name: snapshot and affected path, "" for the root */
	VERIFY_PATH,
};

struct verify_fault {
	enum verify_kind kind;
	const char *name; /* "" for none */
	uint64_t seq, offset;
	const char *text; /* description of the damage */
};

struct verify_result {
	uint64_t packs, objects, snapshots;
	uint64_t read_bytes; /* bytes of packs read, with read_data */
	uint64_t faults;
};

struct verify_options {
	bool read_data;
	/* Percentage of records to read, chosen at random; 0: all or none, see
	 * read_data. */
	unsigned int sample;
	/* Called for each fault before verify_store() returns; may be NULL. A
	 * negative result ends the check. */
	int (*fault)(void *arg, const struct verify_fault *f, struct err *err);
	/* Reports progress in bytes of packs; may be NULL. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
};

/* Checks the store. 0: intact; 1: damaged; negative errno: the check could not
 * be completed. */
int verify_store(struct store *s, const struct verify_options *options,
		 struct verify_result *ret, struct err *err);

#endif
