/*
 * What a run's repository points at: every ref, stash entry, detached HEAD and
 * reflog entry that the repository did not have before the run.
 *
 * Read from the trees in the store, as text: no git and no library sees it,
 * nothing of the run's configuration is asked. What cannot be taken over (a
 * link where a ref should be, a name that git does not allow) is named in the
 * notes.
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

/* More new refs than this are refused. */
#define GITTIPS_MAX 10000
#define GITTIPS_LOG_MAX 100000

struct gittip {
	/* What it is to be called below a prefix: "heads/x", "tags/v1",
	 * "stash/0", "HEAD", "worktrees/w/HEAD"; NULL: from a reflog only. */
	char *name;
	struct gitid id;
};

struct gittips {
	struct gittip *items; /* by name; those without one last */
	size_t count, capacity;
	struct names notes; /* skipped parts with the reason */
	/* Why objects may be missing, as text; NULL: no reason is known. */
	const char *incomplete;
};

void gittips_free(struct gittips *t);

/* Whether the name is valid as a complete ref ("refs/heads/x"), as
 * git-check-ref-format(1) has it, and no longer than a file's may be. */
bool gittips_ref_ok(const char *name);

/*
 * base: the project's root before the run, or NULL; result: as the run left
 * it. -ENOENT: the run left no .git folder; -ENOTDIR: its .git is a file (a
 * linked worktree or a submodule); -ENOTSUP: its ids are not SHA-1; -E2BIG:
 * too many.
 */
int gittips_read(struct store *store, const struct entry *base,
		 const struct entry *result, struct gittips *ret,
		 struct err *err);

#endif
