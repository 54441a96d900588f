/*
 * The contents that files had at rest during a run, by the numbers of the
 * records that first had them (timeline.h).
 *
 *	contents_open(&c, store, &session, &err)	the run has a directory
 *	contents_open_stored(&c, store, id, &err)	it has none any more
 *	... contents_timeline(c) ...
 *	got = contents_entry(c, number, &entry, &err)
 *	contents_close(&c)
 *
 * A content lies in the store, in timeline/spool, or still in the layer or in
 * the run's stored result. contents_entry() stores it if it is not stored yet:
 * the store must be open for writing. The caller has suspended a live run.
 *
 * In the store a run has one snapshot (CATALOG_TIMELINE) of the project, with
 * this tree:
 *
 *	records		the bytes of timeline/records
 *	roots		the directories of the run, see contents_root
 *	contents/N/M	the content of record N * 1000 + M; N: 9 digits, M: 3
 *
 * While the run's directory exists, its timeline/records and timeline/stored
 * (the number of the snapshot) are the truth; afterwards the snapshot is.
 */
#ifndef GUARD_TIMELINE_CONTENTS_H
#define GUARD_TIMELINE_CONTENTS_H

#include "guard/timeline/timeline.h"
#include "overlay/session.h"
#include "snapshot/tree/catalog.h"

struct contents;

/* A directory of the run. roots = count:var *( path:text base:var result:var )
 */
struct contents_root {
	char *path; /* absolute */
	uint64_t base, result; /* as in session.h */
};

/* The session's directory and *s are borrowed until contents_close(). */
int contents_open(struct contents **ret, struct store *store,
		  const struct session *s, struct err *err);
/* -ENOENT: the store has no timeline of this run. */
int contents_open_stored(struct contents **ret, struct store *store,
			 const char *run_id, struct err *err);
void contents_close(struct contents **c);

const struct timeline *contents_timeline(const struct contents *c);
/* The snapshot; its seq is 0 as long as nothing is stored. */
const struct snapshot *contents_snapshot(const struct contents *c);
/* The directories of the run, in the order of session.roots. */
const struct contents_root *contents_roots(const struct contents *c,
					   size_t *ret_count);
/* The record of that number, or NULL. Owned by c. */
const struct timeline_record *contents_record(const struct contents *c,
					      uint64_t number);

/*
 * 1: *ret, to free with entry_free(), is a regular file with the content of the
 * record of this number, and mode, owner and mtime of the record; its bytes are
 * in the store, durable after the next flush. 0: the content was not kept. ret
 * NULL: only asks, and stores nothing.
 */
int contents_entry(struct contents *c, uint64_t number, struct entry *ret,
		   struct err *err);
/* 1: the same from a state of the run that the store has: the end of a command,
 * or the state before a rewind. By path, size and mtime of the record. seq: of
 * this snapshot; 0: of any. */
int contents_from_states(struct contents *c, const struct timeline_record *r,
			 uint64_t seq, struct entry *ret, struct err *err);

#endif
