/*
 * Reads one entry of the user's files so that the stored bytes are a state that
 * the entry really had. The entry is read between two calls of stat. When both
 * differ, it is read again, up to STABLE_READ_TRIES times.
 *
 * An unreadable entry is no failure: `incomplete` and `why` describe it.
 * Failures are those of the store, and a lack of descriptors or memory
 * (err_is_exhaustion()); they end the whole snapshot.
 */
#ifndef GUARD_SNAPSHOT_WALK_STABLE_READ_H
#define GUARD_SNAPSHOT_WALK_STABLE_READ_H

#include "snapshot/store/content.h"
#include "snapshot/tree/tree.h"

#define STABLE_READ_TRIES 3

struct stable_read {
	struct meta meta;
	struct oid content, attrs;
	char *link;
	uint64_t size; /* stored bytes of a regular file */
	/* meta.chattr is complete, not only the part that statx(2) reports. */
	bool has_chattr;
	bool ask_chattr; /* open the file for its chattr flags */
	/* No process had the file open for writing when the read began. */
	bool no_writers;
	bool incomplete;
	bool unstable; /* changed during every attempt */
	char why[160]; /* text of the note */
};

/* Frees the strings and empties *r. */
void stable_read_free(struct stable_read *r);

/*
 * Reads name in dirfd ("": dirfd itself): metadata, attributes, the bytes of a
 * file, the target of a link; for a directory nothing below it. *ret is the
 * caller's to free. private_xattrs: prefix of attributes to leave out, or NULL.
 * hints: see longfile.h, or NULL. -ENOENT: the entry is gone.
 */
int stable_read_entry(struct store *store, int dirfd, const char *name,
		      const char *private_xattrs,
		      const struct longfile_hints *hints,
		      struct stable_read *ret, struct err *err);

/*
 * Reads only the attributes, into r->attrs and r->meta.chattr. A small file
 * that was read without a descriptor of its own is opened for its chattr flags
 * only if statx(2) reports some, chattr_may_have(), or ask_chattr is set: most
 * flags are inherited from the directory. Entries of a run's layer
 * (private_xattrs) have no chattr flags.
 */
int stable_read_attrs(struct store *store, int dirfd, const char *name,
		      const char *private_xattrs, struct stable_read *r,
		      struct err *err);

/* Marks the entry as incomplete and sets `why`; the first fault stays. num: an
 * errno, or 0. Fails for err_is_exhaustion(). */
int stable_read_add_fault(struct stable_read *r, const char *what, int num,
			  struct err *err);

/* Moves all values into an entry called name, the caller's to free; r is empty
 * then. */
void stable_read_make_entry(struct stable_read *r, const char *name,
			    struct entry *ret);

#endif
