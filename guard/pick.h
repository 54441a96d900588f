/*
 * Which run and which paths the operands "[RUN] [--] [PATHS...]" mean.
 *
 * The first operand is a RUN when it is the beginning of a run's id and no
 * file here has that name; everything behind "--" is a path. Without RUN: the
 * newest pending run of this project, or of the nearest folder above that has
 * one.
 */
#ifndef GUARD_PICK_H
#define GUARD_PICK_H

#include <stdbool.h>
#include <stddef.h>

#include "guard/changes.h"
#include "guard/context.h"
#include "overlay/session.h"

struct pick {
	struct session session;
	bool named; /* RUN was given */
	/* Below the project / below the covered home; NULL-terminated, NULL
	 * when none was given in either. */
	char **paths, **home_paths;
	char ***extra_paths; /* one list a folder of session.extras, or NULL */
};

#define PICK_NONE                                                              \
	{                                                                      \
		.session = {.fd = -1, .lock_fd = -1 }                          \
	}

/*
 * operands: count of them at argv, the last `dashed` stood behind "--". lock:
 * take the run's lock; -EBUSY when it is live. -ENOENT: no such run, or no
 * run that waits; -EXDEV: a path lies elsewhere.
 */
int pick_run(struct context *c, int count, char **argv, int dashed, bool lock,
	     struct pick *ret, struct err *err);
/* Takes the run's lock afterwards (-EBUSY: live) and reads its state anew:
 * recover_project() may have changed it in between. */
int pick_lock(struct context *c, struct pick *p, struct err *err);
/* "running", "applying", "in use" (another guard holds it), or the state. */
const char *pick_state_text(const struct session *s);
/* Its command has not ended yet. */
bool pick_is_going(const struct session *s);
/* The absolute path of an operand, a link at its end not followed; to free.
 * An empty one (a variable that was not set) is an error, not this folder. */
char *pick_path(const char *arg, struct err *err);
/* Some paths were named at all. */
bool pick_named_paths(const struct pick *p);
/* Those of one folder beside the project; NULL: none were named in it. */
char **pick_extra_paths(const struct pick *p, size_t index);
/* All of the project is meant, and nothing but the project. */
bool pick_whole(const struct pick *p);
/* One of the paths names a .git or something in one. */
bool pick_names_git(char *const *paths);
/* changes_check() of every folder; changes_keep() of what was named. */
int pick_check(const struct pick *p, const struct changes *c, struct err *err);
void pick_keep(const struct pick *p, struct changes *c);
void pick_free(struct pick *p);

#endif
