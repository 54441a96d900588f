/*
 * Torn files: what a power cut may have left in a run's directory. Its files
 * are in the page cache until they are synced, and a cut before that leaves
 * them empty, half written or full of NULs. guard syncs them while the run
 * writes (guard/run/run_syncs.h), and records when: after a cut a file is torn
 * if its ctime, which no program can set, is not before that time. A torn file
 * is a critical risk (guard/rules/code.rules): no apply takes it unasked.
 *
 * Before such a run goes on, its torn files are listed: by the inode, which
 * stays torn under any name, and by size and mtime, which copies of mv(1) and
 * of an undone rewind have, too.
 *
 *	synced-at	in the run's directory, `guard-synced 1`:
 *			boot=BOOT-ID, time=SECONDS.NANOSECONDS
 *	torn		`guard-torn 1`, for each file:
 *			file=inode NUMBER BIRTH-TIME, file=size BYTES MTIME
 *
 * A killed guard tears nothing: the boot id is still the same. Without
 * "synced-at", or with a damaged one, every file of the run counts; so it does
 * without the list, if the run's record has TORN_LIST.
 */
#ifndef GUARD_OVERLAY_TORN_H
#define GUARD_OVERLAY_TORN_H

#include "base/meta.h"
#include "base/record.h"
#include "overlay/session.h"

/* Key in the run's record: its end is recorded, too. An earlier guard recorded
 * no syncs; its ended runs are on disk. */
#define TORN_KNOWN "syncs"
/* Key in the run's record: it has a list. */
#define TORN_LIST "torn"

struct torn {
	bool cut, all; /* all files */
	struct timestamp since; /* after a cut: files of that time, and later */
	struct record list;
	size_t sorted; /* items of it, before torn_add() */
};

void torn_load(const struct session *s, struct torn *ret);
void torn_free(struct torn *t);
/* Whether any file can be torn. */
bool torn_any(const struct torn *t);
/* Whether a file in the run's directory is torn. */
bool torn_has(const struct torn *t, const struct meta *m);
/* Whether it is a copy of a torn one. */
bool torn_has_copy(const struct torn *t, uint64_t size, struct timestamp mtime);
/* Adds a file to the list, and writes it. */
void torn_add(struct torn *t, const struct meta *m);
int torn_save(const struct torn *t, const struct session *s, struct err *err);
/* Records that all that was written before `time` is on disk. */
int torn_save_synced(const struct session *s, struct timestamp time,
		     enum atomic_durability how, struct err *err);

#endif
