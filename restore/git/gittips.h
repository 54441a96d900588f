/*
 * The new tips of a run's repository: every ref, stash entry, detached HEAD and
 * reflog entry that the repository did not have before the run.
 *
 * The tips are read as text from the trees in the store: neither git nor a
 * library opens the repository, and the run's configuration is not used.
 * git ends at a packed ref with a dangerous name, and skips ids of SHA-256
 * without an error. It would also need copies of the files of both trees and
 * four more processes, which make a small import a third slower.
 *
 * Entries that cannot be imported (a link in place of a ref, a name that git
 * does not allow) are named in the notes.
 */
#ifndef GUARD_RESTORE_GIT_GITTIPS_H
#define GUARD_RESTORE_GIT_GITTIPS_H

#include <stdbool.h>

#include "base/mem.h"
#include "snapshot/tree/entry.h"

#define GITID_HEX 40

/* The id of one of git's objects as text: SHA-1, 40 lower-case hex digits. */
struct gitid {
	char hex[GITID_HEX + 1];
};

/* Reads the first 40 characters; false: these are no id. */
bool gittips_read_id(const char *text, struct gitid *ret);
/* Compares two ids as qsort(3) and bsearch(3) want it. */
int gittips_compare_ids(const void *a, const void *b);

/* Whether the name is valid as a complete ref ("refs/heads/x"), as
 * git-check-ref-format(1) has it, and no longer than a file's may be. */
bool gittips_ref_ok(const char *name);

/* Receives a ref: its full name, and its id; NULL: the ref is symbolic. */
typedef int gitid_each_ref(void *arg, const char *name, const struct gitid *id,
			   struct err *err);

/* More new refs than this are refused. */
#define GITTIPS_MAX 10000
#define GITTIPS_LOG_MAX 100000

struct gittip {
	/* The name below a prefix: "heads/x", "tags/v1", "stash/0", "HEAD",
	 * "worktrees/w/HEAD"; NULL: from a reflog only. */
	char *name;
	struct gitid id;
};

struct gittips {
	struct gittip *items; /* sorted by name; tips without a name last */
	size_t count, capacity;
	struct names notes; /* skipped parts with the reason */
	/* Why objects may be missing, as text; NULL: no reason is known. */
	const char *incomplete;
};

/* HEAD. */
struct githead {
	char *branch; /* "refs/heads/main"; NULL: HEAD is detached */
	struct gitid id; /* "": the branch has no commit yet */
};

void githead_free(struct githead *h);
/*
 * In the functions below git is the entry of a directory with objects and refs.
 *
 * Reads a HEAD in the directory own of it, "" or "worktrees/NAME", and its
 * branch. -ENOTSUP: a kind of ref that guard does not read.
 */
int githead_read(struct store *store, const struct entry *git, const char *own,
		 struct githead *ret, struct err *err);

/* Reads one ref, loose or packed; "": it is missing. The errors of
 * githead_read(). */
int githead_find(struct store *store, const struct entry *git, const char *name,
		 struct gitid *ret, struct err *err);

/* Whether a branch can be created. -EEXIST: it exists, or another one is named
 * like one of its directories or lies below it; the errors of githead_read().
 */
int githead_check_new(struct store *store, const struct entry *git,
		      const char *name, struct err *err);

/* Frees all that *t owns. */
void gittips_free(struct gittips *t);

/*
 * base: the same directory before the run, or NULL. -ENOTSUP: its ids are not
 * SHA-1, or its refs are in files of another form; -E2BIG: too many.
 */
int gittips_read(struct store *store, const struct entry *base,
		 const struct entry *git, struct gittips *ret, struct err *err);
/* Whether HEAD or a branch is at a commit that no ref of a remote names. */
bool gittips_has_local(const struct gittips *t);

#endif
