/*
 * Takes a snapshot of a directory: reads all of it and stores all new objects.
 *
 * A snapshot has everything: ignored files, .git, files of any size, empty
 * directories, links, modes, xattrs, FIFOs; sockets are recorded. An entry that
 * could not be read, or changed during each of three reads, is flagged, and the
 * snapshot has a note about it: no entry is left out silently. Other file
 * systems mounted below get a note and are not entered. Reading never follows a
 * symbolic link, never opens a FIFO or device, and never changes an access time
 * where the system allows that.
 *
 * The stat cache makes the next snapshot fast: a file counts as unchanged only
 * when device, inode, type, size, mtime and ctime are equal and were not racy
 * when they were recorded. Without the cache everything is read.
 */
#ifndef GUARD_SNAPSHOT_WALK_TAKE_H
#define GUARD_SNAPSHOT_WALK_TAKE_H

#include <stdatomic.h>

#include "snapshot/store/ingest_hint.h"
#include "snapshot/tree/catalog.h"

/* Work that one snapshot did; for tests, benchmarks and --json. */
struct take_stats {
	uint64_t read_files, read_bytes; /* files whose contents were read */
	uint64_t listed; /* directories whose names were read */
	uint64_t encoded; /* directories whose tree was encoded */
	bool cache_used;
};

struct take_options {
	const char *root_path; /* absolute, without links */
	int root_fd; /* the directory, or -1: open root_path */
	const char *cache_path; /* file of the stat cache; NULL: none */
	const char *reason, *run_id, *command, *message; /* NULL counts as "" */
	/*
	 * Unless 0: entries whose ctime is not older than this (within the
	 * clock's granularity) get NOTE_MOVED; directories get the note for
	 * names that were removed.
	 */
	struct timestamp moved_since;
	/* Absolute paths below the root to leave out (guard's state). */
	const char *const *skip; /* NULL-terminated, or NULL */
	/*
	 * Partial snapshot: paths in the root, sorted by path_compare(). Only
	 * these paths, everything below them, and the directories above them
	 * are stored; NULL: everything. The directories above are flagged as
	 * incomplete, so that no reader takes their missing entries for
	 * deleted, and moved_since does not apply to them. A path with a slash
	 * at its end means that directory without its entries. The stat cache
	 * is not written.
	 */
	const char *const *only; /* NULL-terminated */
	/* Names in the root itself with this prefix are left out, too; NULL:
	 * none. */
	const char *skip_prefix;
	/* Stores contents only. The snapshot does not exist until the caller
	 * adds *ret to the catalog. The stat cache is not written. */
	bool look;
	/* Called after the walk; may change *s. Returns 1 when *s has another
	 * tree than the directory (the stat cache is not written then), 0, or a
	 * negative errno. May be NULL. */
	int (*amend)(void *arg, struct store *store, struct snapshot *s,
		     struct err *err);
	void *amend_arg;
	/* Adds files that become durable together with the snapshot: see
	 * catalog_add_with(). May be NULL. */
	catalog_with with;
	void *with_arg;
	/*
	 * Globs that the user excluded, NULL-terminated, or NULL. A glob
	 * without '/' matches names in any directory, a glob with '/' matches
	 * paths in the root. The globs are recorded in the snapshot, each path
	 * that matches gets a note, and its directory is flagged as incomplete,
	 * so that no reader takes the excluded path for deleted.
	 */
	const char *const *excludes;
	/* tags of the snapshot, in the form of excludes */
	const char *const *tags;
	/* Files with known content, sorted. guard need not be allowed to read
	 * them. */
	const struct ingest_hint *hints;
	size_t hint_count;
	/* Reads contents with plain calls instead of io_uring. */
	bool plain;
	/* Reports progress from the caller's thread; may be NULL. */
	void (*progress)(void *arg, uint64_t files, uint64_t bytes);
	void *progress_arg;
	struct take_stats *stats; /* filled when not NULL */
	/* Unless NULL: set to true when the tree has a meta_foreign() entry. A
	 * caller that looks for these entries need not stat every file of the
	 * other trees, which most are. */
	atomic_bool *foreign;
};

/* Whether a store through a mapping changes a file's times in this file system.
 * On tmpfs it never does; for unknown file systems the result is false. */
bool take_mmap_updates_times(int root_fd);

/*
 * The moment before which a file must have been at rest to prove itself
 * unmodified since `start`. A file whose ctime and mtime are older than the
 * result, and whose mtime is unchanged since `start`, still has its bytes of
 * `start`: a store through a mapping would have changed the time (the rule of
 * the stat cache). {0}: the file system gives no such proof. mtime alone does
 * not show a change whose time was set back by hand.
 */
struct timestamp take_unmodified_before(int root_fd, struct timestamp start);

/*
 * Takes and commits the snapshot; *ret is the caller's to free. A root that
 * cannot be opened is an error, anything below it gets a note. The stat cache
 * is written after the commit point; a failure there is no error. Other errors
 * are the store's.
 */
int take_snapshot(struct store *store, const struct take_options *options,
		  struct snapshot *ret, struct err *err);

/*
 * Stores a single entry without anything below it: name in dirfd ("": dirfd
 * itself). *ret is the caller's to free; content of a directory stays
 * OBJECT_NONE. private_xattrs: prefix of attributes to leave out (overlay's
 * own), or NULL. link_group is the inode number when nlink > 1. -EBUSY: the
 * entry changed during each of three reads; -EACCES: it cannot be read.
 */
int take_entry(struct store *store, int dirfd, const char *name,
	       const char *private_xattrs, struct entry *ret, struct err *err);

/*
 * The start time for moved_since, from the clock that file systems use. All
 * changes before the call have an older ctime: the call waits until the clock's
 * tick is later than `since` (some ms; at most about 100). `since`: the start
 * of this process; 0: now.
 */
struct timestamp take_start_time(struct timestamp since);

#endif
