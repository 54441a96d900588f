/*
 * Is the store whole? Reads, never writes.
 *
 * Always: both copies of the secret, the header and index of every pack, every
 * snapshot's file, every tree and list of chunks that a snapshot refers to,
 * and that each object they name is there. With read_data also every record
 * that an index names: its check, and the keyed hash of each object in it.
 *
 * The store is locked shared meanwhile: snapshots go on, prune waits.
 */
#ifndef GUARD_SNAPSHOT_MAINTAIN_VERIFY_H
#define GUARD_SNAPSHOT_MAINTAIN_VERIFY_H

#include "snapshot/tree/catalog.h"

enum verify_kind {
	VERIFY_SECRET, /* name: of the file, or another of the store's own */
	VERIFY_PACK, /* name: of the pack; its index or all of it */
	VERIFY_RECORD, /* name: of the pack, offset; object(s) in it */
	VERIFY_SNAPSHOT, /* seq: its file; of several that are gone the first */
	VERIFY_PATH, /* seq, name: the path that suffers, "" the root */
};

struct verify_fault {
	enum verify_kind kind;
	const char *name; /* "" when it does not apply */
	uint64_t seq, offset;
	const char *text; /* what is wrong */
};

struct verify_result {
	uint64_t packs, objects, snapshots;
	uint64_t read_bytes; /* of packs, with read_data */
	uint64_t faults;
};

struct verify_options {
	bool read_data;
	/* Not 0: of 100 records this many are read, chosen by chance. */
	unsigned int sample;
	/* Called for each fault; all of them before it returns. */
	int (*fault)(void *arg, const struct verify_fault *f, struct err *err);
	/* Bytes of packs; may be NULL. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
};

/* 0 whole, 1 damaged, negative: it could not be found out. */
int verify_store(struct store *s, const struct verify_options *options,
		 struct verify_result *ret, struct err *err);

#endif
