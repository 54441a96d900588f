/*
 * Which run and which paths the operands "[RUN] [--] [PATHS...]" mean.
 *
 * The first operand is a RUN when it is the beginning of a run's id and no
 * file here has that name; everything behind "--" is a path. Without RUN: the
 * newest pending run of this project, or of the nearest folder above that has
 * one.
 */
#ifndef GUARD_RESOLVE_RUN_H
#define GUARD_RESOLVE_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "guard/changes.h"
#include "guard/context.h"
#include "overlay/session.h"

struct resolved_run {
	struct session session;
	bool named; /* RUN was given */
	/* The paths in each root of the run, relative to it, in the order of
	 * changes.roots; each NULL-terminated, or NULL: none was named in that
	 * root. NULL: no path was named at all. */
	char ***paths;
	size_t path_lists;
};

#define RESOLVED_RUN_NONE                                                      \
	{                                                                      \
		.session = {.fd = -1, .lock_fd = -1 }                          \
	}

/*
 * operands: count of them at argv, the last `dashed` stood behind "--". lock:
 * take the run's lock; -EBUSY when it is live. -ENOENT: no such run, or no
 * run that waits; -EXDEV: a path lies elsewhere.
 */
int resolve_run_open(struct context *c, int count, char **argv, int dashed,
		     bool lock, struct resolved_run *ret, struct err *err);
/* Takes the run's lock afterwards (-EBUSY: live) and reads its state anew:
 * recover_project() may have changed it in between. */
int resolve_run_lock(struct context *c, struct resolved_run *p,
		     struct err *err);
/* "running", "applying", "in use" (another guard holds it), or the state. */
const char *resolve_run_state_text(const struct session *s);
/* Its command has not ended yet. */
bool resolve_run_is_running(const struct session *s);
/* The absolute path of an operand, a link at its end not followed; to free.
 * An empty one (a variable that was not set) is an error, not this folder. */
char *resolve_run_path(const char *arg, struct err *err);
/* Some paths were named at all. */
bool resolve_run_has_paths(const struct resolved_run *p);
/* The paths in one root, counted as in changes.roots; NULL: none were named in
 * it. */
char **resolve_run_paths(const struct resolved_run *p, size_t index);
/* The paths in the home directory, or NULL. */
char **resolve_run_home_paths(const struct resolved_run *p);
/* Some paths were named in a directory of --cow. */
bool resolve_run_has_extra_paths(const struct resolved_run *p);
/* All of the project is meant, and nothing but the project. */
bool resolve_run_is_complete(const struct resolved_run *p);
/* One of the paths names a .git or something in one. */
bool resolve_run_names_git(char *const *paths);
/* changes_check() of every folder; changes_filter() of what was named. */
int resolve_run_check(const struct resolved_run *p, const struct changes *c,
		      struct err *err);
void resolve_run_filter(const struct resolved_run *p, struct changes *c);
void resolved_run_free(struct resolved_run *p);

#endif
