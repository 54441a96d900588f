/*
 * Torn files: what a power cut may have left in a layer. A run's files are in
 * the page cache until they are synced, and a cut before that leaves them
 * empty, half written or full of NULs. guard syncs the layer while the run
 * writes (guard/run/run_syncs.h), and records when: after a cut a file is torn
 * if its ctime, which no program can set, is not before that time. A torn file
 * is a critical risk (guard/rules/code.rules): no apply takes it unasked.
 *
 *	synced-at	in the run's directory, `guard-synced 1`:
 *			boot=BOOT-ID, time=SECONDS.NANOSECONDS
 *	torn		`guard-torn 1`: file=ROOT INODE PATH of each file that
 *			was torn when the run went on after a cut
 *
 * A killed guard tears nothing: the boot id is still the same. Without
 * "synced-at", or with a torn one, every file of the run counts.
 */
#ifndef GUARD_CHANGE_TORN_H
#define GUARD_CHANGE_TORN_H

#include "guard/change/changes.h"

/* Key in the run's record: its end is recorded, too. An earlier guard recorded
 * no syncs; its ended runs are on disk. */
#define TORN_KNOWN "syncs"

/* Sets CHANGES_TORN in the lists of all roots. */
void torn_mark(const struct session *s, struct changes *c);
/* Warns once of the torn files, with the remedy. */
void torn_report(const struct session *s, const struct changes *c);
/* Whether the machine may have stopped before the layer was on disk. */
bool torn_is_cut(const struct session *s);
/* Before such a run goes on, with its lock: notes which files are torn, because
 * their ctimes are compared with later syncs from then on. c: its changes. */
int torn_keep(const struct session *s, const struct changes *c,
	      struct err *err);
/* Records that all that was written before `time` is on disk. */
int torn_save_synced(const struct session *s, struct timestamp time,
		     enum atomic_durability how, struct err *err);

#endif
