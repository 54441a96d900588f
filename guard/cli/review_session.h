/*
 * A review from beginning to end: shows, asks, and applies the accepted
 * changes. For `guard review` and `guard apply -p`.
 */
#ifndef GUARD_CLI_REVIEW_SESSION_H
#define GUARD_CLI_REVIEW_SESSION_H

#include "guard/change/committing.h"

struct review_session_options {
	bool no_pager;
	bool plain; /* asks line by line, also where a full screen is possible
		     */
	bool mouse; /* of the full screen */
	bool short_head; /* no summary in front */
	bool kinds; /* asks about kinds of hunks first */
	bool forget; /* drops the decisions of an earlier review first */
	const char *test; /* command for the screen's key t, or NULL */
	enum plan_resolve resolve;
	struct committing_options commit;
};

/* a: picked and locked, not loaded. The exit status, or negative. Without a
 * terminal the review is printed, and how to go on is said. */
int review_session_run(struct apply_plan *a,
		       const struct review_session_options *o, struct err *err);

#endif
