/*
 * The apply of what a review accepted. The session (review_session.c) calls
 * this module, and not the reverse.
 */
#ifndef GUARD_CLI_REVIEW_SESSION_PRIVATE_H
#define GUARD_CLI_REVIEW_SESSION_PRIVATE_H

#include "guard/cli/apply_selection.h"
#include "guard/cli/conflict_session.h"
#include "guard/cli/plan_summary.h"
#include "guard/cli/review_session.h"
#include "guard/cli/review_ui.h"
#include "guard/cli/verdict_show.h"

struct review_session {
	struct apply_plan *a;
	const struct review_session_options *o;
	struct selected_root *parts; /* the project's first */
	size_t count;
	char *scratch; /* the run's directory */
	struct review **reviews; /* one for each part */
	struct review_ui ui;
	struct judged_run judged; /* losses and verdict */
	bool lost; /* another process has the run now */
	struct conflict_session conflicts;
	struct plan_counts counts; /* sums over the plans to apply */
};

/* left: the rest of the run stays pending. 1: done, with its status; 0: back to
 * the review. */
int review_apply_accepted(struct review_session *v, bool left, int *ret_status,
			  struct err *err);
/* The accepted tree of each root; *ret_complete: all changes of the run;
 * *ret_git: some in a .git. */
int review_apply_trees(struct review_session *v, bool *ret_complete,
		       bool *ret_git, struct err *err);
/* 1: it can be applied; 0: back to the review. Steps that were not shown yet
 * are shown. */
int review_apply_conflicts(struct review_session *v, struct apply_plan *a,
			   struct err *err);
/* An answer to a critical change alone is a consent to it. */
void review_apply_agreed(const struct review_session *v, size_t index,
			 struct apply_plan *to);

#endif
