/*
 * Entries of the store against what lies on disk: is it that, make it that.
 */
#ifndef GUARD_RESTORE_ENTRY_COMPARE_H
#define GUARD_RESTORE_ENTRY_COMPARE_H

#include "snapshot/store/content.h"
#include "snapshot/tree/tree.h"

struct entry_compare {
	struct store *store;
	/* take_unmodified_before() the entry's snapshot: what lies in a folder
	 * and is older needs no reading ({0}: read everything). */
	struct timestamp unmodified_since;
	/* The file of this number was older just before guard itself renamed
	 * it: when it is what is asked for, and has its mtime still, its bytes
	 * need no reading. 0: none was. */
	uint64_t unmodified_ino;
	bool no_writers; /* of what lies in a folder, see writers.h */
	int workspace_fd; /* of the project, see shut.h */
	/* Asked while long files are compared, or NULL. */
	const struct content_watch *watch;
};

/*
 * Whether name in dirfd is what the entry says, folders with all below: 1, 0
 * or negative. Times are not looked at. A folder's right to be written by its
 * owner is not looked at on top: a rename may need it.
 */
int entry_compare_equal(const struct entry_compare *o, int dirfd,
			const char *name, const struct entry *e,
			struct err *err);

/* Nobody can have written to the file since the entry's snapshot, whose
 * take_unmodified_before() is given ({0}: nobody knows). */
bool entry_compare_unmodified(const struct meta *m, const struct entry *e,
			      struct timestamp unmodified_since);

/* Whether it is of that kind and has those bytes (or link text), whatever its
 * metadata; not for folders. */
int entry_compare_content(struct store *store, int dirfd, const char *name,
			  const struct entry *e, struct err *err);

/*
 * Gives the open thing (may be O_PATH) owner, attributes, mode and time.
 * Writes only what differs. What only root may do is left when we are not:
 * another owner, attributes of the system. Immutable and append-only come last
 * of all, when the transaction is finished: with them a thing can be neither
 * renamed nor taken back.
 */
int entry_apply_meta(struct store *store, int fd, const struct entry *e,
		     struct err *err);
/* Who owns what is made so by this process: only root gives things away. */
uint32_t entry_apply_owner(const struct entry *e);
/* Sets the flags of chattr(1) in mask, as far as the file system and our rights
 * allow; a failure is no error. fd may be O_PATH. */
void entry_apply_chattr(int fd, uint32_t mask, uint32_t chattr);

/* Its mtime, of a folder in which names have come or gone. What is another
 * owner's, or can only be read, keeps its own. */
int entry_apply_time(int fd, struct timestamp mtime, struct err *err);

#endif
