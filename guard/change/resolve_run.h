/*
 * The run and the paths of the operands "[RUN] [--] [PATHS...]".
 *
 * The first operand is a RUN if it names one and no file of that name exists
 * here (if one exists, it is a path when only a closed run has the name); every
 * operand after "--" is a path. Without RUN the newest pending run of this
 * project is taken, or of the nearest directory above that has one.
 */
#ifndef GUARD_CHANGE_RESOLVE_RUN_H
#define GUARD_CHANGE_RESOLVE_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "guard/change/changes.h"
#include "guard/state/context.h"
#include "overlay/session_list.h"

struct resolved_run {
	struct session session;
	bool named; /* RUN was given */
	bool only; /* half of a move is taken without the other half */
	bool commits; /* commits are taken, and the objects of git-lfs */
	/* A path of one root takes no path of another one with it. */
	bool within_roots;
	/* The paths of each root of the run, relative to the root, in the order
	 * of changes.roots. Each list is NULL-terminated, or NULL when no path
	 * of that root was named. NULL: no path was named at all. */
	char ***paths;
	size_t path_lists;
};

#define RESOLVED_RUN_NONE                                                      \
	{                                                                      \
		.session = {.fd = -1, .lock_fd = -1 }                          \
	}

/* No "--" was given. */
#define NO_DASHES (-1)

static inline int words_before_dashes(int count, int dashed)
{
	return dashed == NO_DASHES ? count : count - dashed;
}

/*
 * The operands are count texts at argv, the last `dashed` of them after "--".
 * The first one names a run or is a path; with a "--" anywhere behind it, it
 * can only name a run.
 * lock: take the run's lock; -EBUSY if the run is live. -ENOENT: no such run,
 * or no pending run; -EXDEV: a path is in none of the run's roots.
 */
int resolve_run_open(struct context *c, int count, char **argv, int dashed,
		     bool lock, struct resolved_run *ret, struct err *err);
/*
 * Opens the run that the text names: "latest" (the newest pending run), a
 * complete id, a name, or the beginning of an id, in this order. Of several
 * runs with the name, a pending one and one of this project come first, then
 * the newest. lock and errors: as above; -EEXIST: ambiguous, or the name of a
 * run of another project.
 */
int resolve_run_text(struct context *c, const char *text, bool lock,
		     struct session *ret, struct err *err);
/* Lists the pending runs among which the newest is taken without RUN, oldest
 * first. */
int resolve_run_pending(struct context *c, struct session_list *ret,
			struct err *err);
/* Whether the glob matches the run's name or id. */
bool resolve_run_matches(const struct session *s, const char *glob);
/* Whether an operand is a glob of runs: it has a wildcard, and no file has this
 * name. */
bool resolve_run_is_glob(const char *text);
/* Releases the lock, for a command in a copy of the run, and takes it again.
 * -EBUSY: another process has the lock, or has changed the run's state. */
void resolve_run_unlock(struct resolved_run *p);
int resolve_run_relock(struct context *c, struct resolved_run *p,
		       struct err *err);
/* Reads the record of a run that is not locked again, after recover_project()
 * has ended an action. */
int resolve_run_reload(struct context *c, struct session *s, struct err *err);

/* Takes the run's lock later (-EBUSY: live) and reads its record again, since
 * recover_project() may have changed it. */
int resolve_run_lock(struct context *c, struct resolved_run *p,
		     struct err *err);
/* "running", "paused", "applying", "in use" (locked by another guard process),
 * or the state. */
const char *resolve_run_state_text(const struct session *s);
/* The run is live and its command has not ended. */
bool resolve_run_is_running(const struct session *s);
/* The absolute path of an operand, with a symbolic link at its end not
 * followed; to free. An empty operand (an unset variable) is an error, not the
 * current directory. */
char *resolve_run_path(const char *arg, struct err *err);
/* At least one path was named. */
bool resolve_run_has_paths(const struct resolved_run *p);
/* The paths of one root, numbered as in changes.roots; NULL: none was named. */
char **resolve_run_paths(const struct resolved_run *p, size_t index);
/* The paths in the home directory, or NULL. */
char **resolve_run_home_paths(const struct resolved_run *p);
/* Whether a path in an additional root was named. */
bool resolve_run_has_extra_paths(const struct resolved_run *p);
/* No paths were named, or each root but the home directory by its own path. */
bool resolve_run_is_complete(const struct resolved_run *p);
/* Whether a path is a .git or a .jj, or below one. */
bool resolve_run_names_git(char *const *paths);
/* changes_check() of every root; changes_filter() by the paths. */
int resolve_run_check(const struct resolved_run *p, const struct changes *c,
		      struct err *err);
void resolve_run_filter(const struct resolved_run *p, struct changes *c);
/* For each move of which the paths name one half: adds the other half to the
 * paths (only: leaves it out), and reports it. done: "applied". The same for
 * the members of a database (restore/plan/unit.h). The changes are complete, in
 * the order of the scan. */
void resolve_run_add_moves(struct resolved_run *p, struct changes *c,
			   const char *done);
/* The same for any lists of paths, one for each root, after
 * changes_find_moves(). Only the first halves are reported by name. */
void resolve_run_add_halves(const struct changes *c, char ***lists, bool only,
			    const char *done);
void resolved_run_free(struct resolved_run *p);

#endif
