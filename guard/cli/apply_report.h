/*
 * Reports of an apply, for the verbs apply and review. The parameter `counts`
 * has the steps of the apply's plans, see plan_summary_count().
 */
#ifndef GUARD_CLI_APPLY_REPORT_H
#define GUARD_CLI_APPLY_REPORT_H

#include "guard/change/apply_commits.h"
#include "guard/cli/plan_summary.h"
#include "restore/git/gitcommit.h"

/* A path below root as a command names it where the user is, to free. */
char *apply_report_path(const char *root, const char *path);

/* The directory that is changed, for a question. */
const char *apply_report_where(const struct apply_plan *a);
/* Names the files with conflict markers and returns the exit status: they must
 * not be overlooked. */
int apply_report_markers(const struct apply_plan *a,
			 const struct plan_counts *counts, bool done);
/* Report the changes in a .git, and in the home directory, that were not
 * applied. */
void apply_report_git_left(const struct apply_plan *a);
void apply_report_gits_left(const struct plan *plan, const char *root,
			    const char *run);
void apply_report_home_left(const struct apply_plan *a);
/* Names the branches if HEAD is at another one than when the run began. */
void apply_report_head(const struct session *s);
/* --commits: how the branches move (verb: "moved", "would move") or come to be
 * (creates: "created"), and the number of refs of the run that are below
 * refs/guard/ only. */
void apply_report_branches(const struct apply_commits *ac, const char *verb,
			   const char *creates);
void apply_report_refs(const struct apply_commits *ac);
/* The end of an apply: moves the branch to the commit, unless that is NULL,
 * says what of the run is left (left false: that is about to be discarded), and
 * returns the exit status or the error of committing_point(). */
int apply_report_done(struct apply_plan *a, const struct plan_counts *counts,
		      bool left, struct gitcommit *commit, struct err *err);

#endif
