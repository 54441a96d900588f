/*
 * Takes a snapshot of a folder: reads all of it, keeps what is new.
 *
 * Everything is in: ignored files, .git, any size, empty folders, links,
 * modes, xattrs, fifos; sockets are recorded. What could not be read, or
 * changed while it was read three times, is in the snapshot's notes and its
 * entry is flagged; it is never silent. Other file systems mounted below are
 * noted, not entered. Reading never follows a link, never opens a fifo or
 * device, never changes an access time where the system allows that.
 *
 * A stat cache makes the next one fast: a file counts as unchanged only when
 * device, inode, type, size, mtime and ctime are equal and were not racy when
 * recorded. It is a cache: without it, everything is read.
 */
#ifndef GUARD_SNAPSHOT_WALK_TAKE_H
#define GUARD_SNAPSHOT_WALK_TAKE_H

#include "snapshot/walk/gid_summary.h"
#include "snapshot/store/ingest_hint.h"
#include "snapshot/tree/catalog.h"

/* What one snapshot had to do; for tests, benchmarks and --json. */
struct take_stats {
	uint64_t read_files, read_bytes; /* contents that were read */
	uint64_t listed; /* folders whose names were read */
	uint64_t encoded; /* folders whose tree was made */
	bool cache_used;
};

struct take_options {
	const char *root_path; /* absolute, without links */
	int root_fd; /* the folder, or -1: open root_path */
	const char *cache_path; /* file of the stat cache, NULL: none */
	const char *reason, *run_id, *command, *message; /* NULL as "" */
	/*
	 * Not 0: entries whose ctime is not older than this (after the clock's
	 * granularity) get NOTE_MOVED, folders for their missing names.
	 */
	struct timestamp moved_since;
	/* Absolute paths below the root that are left out (guard's state). */
	const char *const *skip; /* NULL-terminated, or NULL */
	/*
	 * Paths in the root, sorted by path_compare(): these and what is in
	 * them are all that is kept, with the folders on the way to them; NULL:
	 * everything. The folders on the way are flagged as incomplete, so that
	 * nobody takes what they lack for deleted. moved_since does not count
	 * for them. A path with a slash at its end means such a folder alone.
	 * No stat cache is used.
	 */
	const char *const *only; /* NULL-terminated */
	/* Names in the root itself that begin so are left out too, or NULL. */
	const char *skip_prefix;
	/* Look only: contents are kept, but no snapshot is made of them, until
	 * the caller adds *ret to the catalog. The stat cache stays. */
	bool look;
	/* Asked when all is looked at: 1, and *s is of another tree than what
	 * is there (the stat cache stays as it is then), 0 or negative. NULL:
	 * nobody. */
	int (*amend)(void *arg, struct store *store, struct snapshot *s,
		     struct err *err);
	void *amend_arg;
	/* What becomes durable together with the snapshot: see
	 * catalog_add_with(). NULL: nothing. */
	catalog_with with;
	void *with_arg;
	/*
	 * What else is left out because the user says so, NULL-terminated or
	 * NULL: a glob without '/' is one of names anywhere, one with it of
	 * paths in the root. Recorded in the snapshot, noted path by path, and
	 * the folder counts as incomplete, so that nobody takes what was left
	 * out for deleted.
	 */
	const char *const *excludes;
	const char *const *tags; /* as excludes */
	/* Sorted. They may even be unreadable. */
	const struct ingest_hint *hints;
	size_t hint_count;
	/* Contents by plain calls instead of io_uring. */
	bool plain;
	/* Called now and then from the caller's thread; may be NULL. */
	void (*progress)(void *arg, uint64_t files, uint64_t bytes);
	void *progress_arg;
	struct take_stats *stats; /* filled when not NULL */
	/* Gets the groups of what this user may write, when not NULL. */
	struct gid_summary *gid_summary;
};

/* Whether a store through a mapping moves a file's times in this file system:
 * in tmpfs it never does, and others are not known for it. */
bool take_mmap_updates_times(int root_fd);

/*
 * By the stat cache's rule: what has a ctime and an mtime before the moment
 * returned, and has kept its mtime from `start` on, has its bytes of `start`
 * still; a store through a mapping would have moved it. {0}: nothing is known
 * so of this file system. Whatever sets a time back by hand is not seen by
 * the mtime alone.
 */
struct timestamp take_unmodified_before(int root_fd, struct timestamp start);

/*
 * Commits the snapshot and returns it. A root that cannot be opened is an
 * error; anything below it is a note. The stat cache is written after the
 * commit point; failing there is not an error.
 */
int take_snapshot(struct store *store, const struct take_options *options,
		  struct snapshot *ret, struct err *err);

/*
 * Keeps one thing, without anything below it: name in dirfd ("" = dirfd).
 * For a folder content stays OBJECT_NONE. private_xattrs: a prefix to leave
 * out (overlay's own), or NULL. link_group is the inode number when nlink > 1.
 * -EBUSY: it changed while it was read three times.
 */
int take_entry(struct store *store, int dirfd, const char *name,
	       const char *private_xattrs, struct entry *ret, struct err *err);

/* The start time for moved_since, from the clock that file systems use: what
 * was changed before the call has an older ctime, or `since` had not passed
 * the clock's tick yet and the call waits for it (at most some ms). `since`:
 * when this process began, 0: now. */
struct timestamp take_start_time(struct timestamp since);

/* --- for tests only --- */

/* As if every file had been at rest for long: see the rule in take.c. */
void take_assume_stable(bool on);

#endif
