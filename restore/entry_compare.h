/*
 * Comparison of stored entries with files on disk, and setting of their
 * metadata.
 *
 * entry_compare_*() read only. entry_apply_*() change one open file or
 * directory and are called by the transaction alone.
 */
#ifndef GUARD_RESTORE_ENTRY_COMPARE_H
#define GUARD_RESTORE_ENTRY_COMPARE_H

#include "snapshot/store/content.h"
#include "snapshot/tree/tree.h"

struct entry_compare {
	struct store *store;
	/* Result of take_unmodified_before() for the entry's snapshot. The
	 * bytes of a file below a directory are not read when its times are
	 * older; {0}: read all files. */
	struct timestamp unmodified_since;
	/* Inode whose times were older than unmodified_since just before guard
	 * renamed it. Its bytes are not read when it is the compared entry and
	 * its mtime is unchanged. 0: no such inode. */
	uint64_t unmodified_ino;
	bool no_writers; /* fail with -EBUSY for a file below a directory that
			    is open for writing, see open_writers.h */
	int workspace_fd; /* the project's, for unreadable_dirs.h */
	/* Called while long files are compared, or NULL. */
	const struct content_watch *watch;
};

/*
 * Compares the entry `name` of dirfd with e, a directory with all entries below
 * it. Returns 1 when equal, 0 when different, a negative errno on failure.
 * Times are ignored. The owner's write bit of the top directory is ignored,
 * because guard may have set it for a rename.
 */
int entry_compare_equal(const struct entry_compare *o, int dirfd,
			const char *name, const struct entry *e,
			struct err *err);

/* Whether the file cannot have been written to since the snapshot that holds
 * e: its size and mtime are those of e, and ctime and mtime are older than
 * unmodified_since, the take_unmodified_before() of that snapshot. {0}: always
 * false. */
bool entry_compare_unmodified(const struct meta *m, const struct entry *e,
			      struct timestamp unmodified_since);

/* Compares kind and bytes (or link target) and ignores metadata. Not for
 * directories. Returns 1, 0 or a negative errno. */
int entry_compare_content(struct store *store, int dirfd, const char *name,
			  const struct entry *e, struct err *err);

/* Compares the xattrs of an open entry (O_PATH is enough) with those of e.
 * Returns 1, 0 or a negative errno. */
int entry_compare_attrs(struct store *store, int fd, const struct entry *e,
			struct err *err);

/*
 * Sets owner, xattrs, mode and mtime of an open file or directory (O_PATH is
 * enough). Writes only the values that differ. An owner or a system attribute
 * that only root may set is skipped for a plain user. Immutable and append-only
 * flags are not set here: they would prevent the rename and the rollback, so
 * txn_finish() sets them last.
 */
int entry_apply_meta(struct store *store, int fd, const struct entry *e,
		     struct err *err);
/* The uid of a file that this process creates for e: only root can give files
 * away. */
uint32_t entry_apply_owner(const struct entry *e);
/* Sets the chattr(1) flags in mask to those of chattr. Flags that the file
 * system or the permissions do not allow are skipped without an error. fd may
 * be O_PATH. */
void entry_apply_chattr(int fd, uint32_t mask, uint32_t chattr);

/* Sets the mtime of a directory in which entries were created or removed. A
 * directory of another owner, or on a read-only mount, keeps its mtime without
 * an error. */
int entry_apply_time(int fd, struct timestamp mtime, struct err *err);

#endif
