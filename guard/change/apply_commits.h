/*
 * `apply --commits`: the files of a run together with its commits on the branch
 * of HEAD, or on a new branch that the run switched to.
 *
 *	apply_plan_load()	with a->commits set
 *	apply_commits_make()	before apply_plan_make(): adds the branch and
 *				the index to the trees of the plan
 *	apply_commits_write()	the run's objects, and refs below
 *				refs/guard/RUN/
 *	apply_plan_execute()	one transaction: files, branch and index
 *	apply_commits_free()
 *
 * The branch is a step of the plan like a file: its earlier id is compared
 * before it is replaced, the journal has both ids, and undo moves it back. HEAD
 * follows to a new branch in the same way, and a detached HEAD moves as it is;
 * a branch that the user had is moved only where HEAD is at it. Of the user's
 * .git nothing else changes, whatever the run wrote into its own: the index is
 * the user's, moved by git from one commit to the other.
 *
 * Repositories of submodules and others below the roots move in the same
 * transaction. One outside of the project (a linked worktree) is a root of the
 * transaction of its own, behind those of the run.
 */
#ifndef GUARD_CHANGE_APPLY_COMMITS_H
#define GUARD_CHANGE_APPLY_COMMITS_H

#include "guard/change/apply_plan.h"
#include "guard/change/commit_files.h"
#include "guard/change/importer.h"

/* The move of a HEAD and its branch. */
struct commits_move {
	struct importer_repository *repo; /* borrowed from the importer */
	char *own; /* the directory of HEAD below that of the repository */
	struct githead from; /* the user's */
	struct githead to; /* the run's */
	bool is_new; /* HEAD moves to a branch that the run created */
	bool apart; /* only the branch is created, of a worktree of the run */
	/* A named one, which is taken with its directory; or NULL. */
	const struct worktree *worktree;
	struct gitimport_distance distance;
};

struct apply_commits {
	struct importer importer;
	struct commit_files files; /* the critical ones need a consent */
	VEC(struct commits_move) moves; /* the project's HEAD first */
};

/*
 * -EBUSY: the branch moved, or an operation of git is in progress; -ENODATA:
 * the run has no commits on the branch; -EEXIST: staged changes are in the way;
 * -ENOTSUP: a repository or state of HEAD that the import alone supports;
 * errors of importer_open(). The texts name the remedy.
 */
int apply_commits_make(struct apply_plan *a, struct apply_commits *ret,
		       struct err *err);
/* Whether apply_commits_make() will refuse because an operation of git is in
 * progress in the project or after the run's changes of it. */
bool apply_commits_must_wait(const struct session *s,
			     const struct change_list *list);
int apply_commits_write(struct apply_plan *a, struct apply_commits *ac,
			struct err *err);
/* The branch without refs/heads/; "HEAD": it is detached. */
const char *apply_commits_branch(const struct githead *head);
/* The branch in quotes, or "no branch"; to free. */
char *apply_commits_head(const struct githead *head);
/* After a run with these changes, below git ("" or ".git") those of the
 * project's repository: says to push if HEAD's branch has an upstream. */
void apply_commits_report_push(const struct session *s,
			       const struct change_list *list, const char *git);
/* Whether the changes look like commits that apply_commits_make() moves; those
 * on a branch in ".git" are left to the caller. */
bool apply_commits_seen(const struct session *s, const struct change_list *list,
			const char *git);
void apply_commits_free(struct apply_commits *ac);

#endif
