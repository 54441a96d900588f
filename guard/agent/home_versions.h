/*
 * Versions of an agent's home. A snapshot before and after each run makes the
 * home restorable: all of it to the state before a run, or single paths that a
 * discarded run left for the agent's next session.
 *
 * Login files are no part of these snapshots: the store would keep tokens for
 * months. One copy of each (mode 0600) lies beside the home, in logins/.
 */
#ifndef GUARD_AGENT_HOME_VERSIONS_H
#define GUARD_AGENT_HOME_VERSIONS_H

#include "guard/agent/profile.h"
#include "guard/change/changeset.h"

/* In the session's record: the snapshots of the home. */
#define AGENT_BEFORE "agent-before"
#define AGENT_AFTER "agent-after"
/* Reasons of these snapshots. */
#define AGENT_REASON_BEFORE "pre-agent"
#define AGENT_REASON_AFTER "post-agent"

/* The home of an agent, agents/NAME/home in guard's state. */
struct home_versions {
	const char *name; /* the agent's; borrowed */
	char *path; /* absolute */
	char *prefix; /* "~/.claude/", of a real directory; else NULL */
	char **logins; /* absolute paths of the login files; NULL: none */
};

/* Frees all that *h owns. */
void home_versions_free(struct home_versions *h);
/* Finds the home of the agent with this profile. -ENOENT: it has no home
 * yet. */
int home_versions_open(const struct state *state, const char *name,
		       const struct profile *profile, struct home_versions *ret,
		       struct err *err);

/* The user's real directory of the agent, of a `home` line, as runs with
 * --share-login have it. False: there is none. */
bool home_versions_open_shared(const struct state *state, const char *name,
			       const struct profile *profile,
			       const struct profile_item *home,
			       struct home_versions *ret);

/* The snapshot before the last run that could write there; 0: none. */
uint64_t home_versions_last(struct context *c, const struct home_versions *h);

/* Takes a snapshot of a real directory that the run may write to. skip:
 * absolute paths that are left out. */
int home_versions_store_dir(const struct state *state, const struct session *s,
			    struct store *store, const char *path,
			    const char *const *skip, const char *reason,
			    uint64_t *ret_seq, struct err *err);

/*
 * Compares the home for a run that was killed, whose end therefore did not: the
 * home before the run's last command with that before the next run of the
 * agent, or else with the present one, which is stored. Fills the session's
 * record as the end of a run does, without saving it; a run with an end is left
 * alone. below: as for agent_code_compare().
 */
int home_versions_judge_killed(struct context *c, const struct home_versions *h,
			       const struct profile *profile, const char *below,
			       struct session *s, struct err *err);

/* Copies each login file that is not empty to its place beside the home. A
 * failure is no error: the older copy stays. */
void home_versions_keep_logins(const struct home_versions *h,
			       const struct state *state);

/* Whether the home has a login. */
bool home_versions_has_login(const struct home_versions *h);

/* The login files that have a copy beside the home and are gone, as a list to
 * free; NULL: none. */
char **home_versions_lost_logins(const struct home_versions *h,
				 const struct state *state);

/* Warns when the run that took the home from one snapshot to the other has
 * removed a login (had_login: there was one) or conversations (files of the
 * profile's history lines). */
void home_versions_report_losses(const struct home_versions *h,
				 const struct state *state,
				 const struct profile *profile,
				 struct store *store, bool had_login,
				 uint64_t before, uint64_t after);

/* A change of a home back to an older state. */
struct home_undo {
	struct changeset change; /* one root */
	char **kept; /* paths that were changed since, and stay; NULL: none */
	char **lost_logins; /* files that the copies beside the home replace */
};

/* Unlocks the home and frees all that *u owns. */
void home_undo_free(struct home_undo *u);

/* Plans the way back to the state before the agent's last `runs` runs that
 * changed the home, the login or both. -ENOENT: no such state is stored. */
int home_undo_plan_runs(struct context *c, const struct home_versions *h,
			unsigned long runs, struct home_undo *ret,
			struct err *err);
/* Plans to take back what the last `runs` runs that changed a real directory
 * changed there, except for logins. A path that was changed since stays, and is
 * listed in kept. Changes between a run that was killed and the next run count
 * as those of the killed one. */
int home_undo_plan_shared(struct context *c, const struct home_versions *h,
			  unsigned long runs, struct home_undo *ret,
			  struct err *err);
/* Plans to take back the changes of this record's run at the paths; a path that
 * was changed since stays, and is listed in kept. paths: NULL-terminated,
 * sorted. Of a JSON file whose members the record names only these go back,
 * whatever else is in the file now. -ENOENT: the record names no snapshots. */
int home_undo_plan_paths(struct context *c, const struct home_versions *h,
			 const struct profile *profile, const struct session *s,
			 const char *const *paths, struct home_undo *ret,
			 struct err *err);
/* Executes the plan and puts lost logins back. The state before it is stored,
 * too. */
int home_undo_execute(struct home_undo *u, const struct home_versions *h,
		      struct err *err);

#endif
