/*
 * Reading one entry of the user's files so that what is kept is what was
 * there: everything is looked at before and after, and read again, up to
 * three times, when it was not at rest meanwhile.
 *
 * What cannot be read is no failure: `incomplete` and `why` say so. Failures
 * are the store's, and end the whole snapshot.
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
	uint64_t size; /* bytes kept of a regular file */
	/* meta.chattr is whole, not only what stat tells of it. */
	bool has_chattr;
	bool ask_chattr; /* open it for that alone */
	bool incomplete;
	bool unstable; /* changed while it was read, every time */
	char why[160]; /* for the note */
};

void stable_read_free(struct stable_read *r);

/*
 * Reads name in dirfd ("" = dirfd): metadata, attributes, a file's bytes, a
 * link's text; of a folder nothing below it. -ENOENT: it is gone; -EXDEV: a
 * folder of another file system than *dev (NULL: no matter). known: of a file
 * (longfile.h), or NULL.
 */
int stable_read_entry(struct store *store, int dirfd, const char *name,
		      const char *private_xattrs, const uint64_t *dev,
		      const struct longfile_hints *hints,
		      struct stable_read *ret, struct err *err);

/*
 * Reads the attributes alone, into r->attrs and r->meta.chattr. Of a small file
 * that was read without a descriptor of its own only such flags are seen as
 * stat tells, unless there are any, or ask_chattr is set: most come from the
 * folder. Of a run's layer (private_xattrs) none.
 */
int stable_read_attrs(struct store *store, int dirfd, const char *name,
		      const char *private_xattrs, struct stable_read *r,
		      struct err *err);

/* Marks it as incomplete, unless it is already; num: an errno, or 0. */
void stable_read_add_fault(struct stable_read *r, const char *what, int num);

/* Moves everything into an entry called name; r is empty then. */
void stable_read_make_entry(struct stable_read *r, const char *name,
			    struct entry *ret);

/* For tests: called after the bytes of name were read and before it is looked
 * at again. */
void stable_read_set_hook(void (*hook)(int dirfd, const char *name));
void stable_read_call_hook(int dirfd, const char *name);

#endif
