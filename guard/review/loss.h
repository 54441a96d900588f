/*
 * What a run would destroy: for each deletion, overwrite and truncation,
 * whether the bytes that were there are in the user's git repository, elsewhere
 * in the result of the run, or nowhere; and the commits that a branch, tag,
 * stash or detached HEAD no longer reaches.
 *
 * "No other copy" means outside of guard: the snapshot from before the run has
 * the bytes, too. Read are the user's files and repository, and the layer of
 * the run; no program is run. The repository is the real one, never the .git of
 * the run: of that, only refs and reflogs are read, as text.
 */
#ifndef GUARD_REVIEW_LOSS_H
#define GUARD_REVIEW_LOSS_H

#include "guard/review/view.h"
#include "restore/plan/plan.h"

/* A ref that lost commits. */
struct loss_ref {
	char *text; /* "master moved back by 2 commits", escaped */
	char *brief; /* "master -2" */
	char *path; /* the file of the ref: ".git/refs/heads/master" */
};

struct losses {
	bool repository; /* one was there; without it, no file has a loss */
	char *unread; /* why it could not be read, or NULL */
	VEC(struct loss_ref) refs;
};

void losses_free(struct losses *l);

/* Files of this size are compared in memory. */
#define LOSS_TEXT_MAX CHANGES_READ_MAX
/* Bytes that are read to find copies of larger files; without a copy at its
 * path, a file beyond that counts as lost. */
#define LOSS_READ_MAX ((uint64_t)256 << 20)

/* Fills in the losses of a view of a live layer over the directory path.
 * Unreadable files are LOSS_UNKNOWN. */
void loss_judge(struct view *v, const char *path, struct losses *ret);

/* Which conflicts are over a file that tools make again, and that git does not
 * track: both sides changed, made or deleted it. path: the directory of the
 * view; ret: one for each. */
void loss_find_generated(struct view *v, const char *path,
			 const struct conflict_list *list, bool *ret);

/* Takes back the losses of refs that the user has moved since the run began.
 */
void loss_drop_edited_refs(const struct view *v, struct losses *l);

/* The deletions of a home directory, which are compared with nothing. */
void loss_judge_home(struct view *v);

#endif
