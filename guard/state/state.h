/*
 * Directory of guard's own data: $GUARD_HOME, else $XDG_DATA_HOME/guard
 * (~/.local/share/guard; for root /var/lib/guard). Mode 0700, one for each
 * user. A run never sees it.
 *
 * 	store/ workspaces/ runs/ trash/ opened/ derived/ oplog reserve
 * 	pending-runs clock backups/ last-backup
 */
#ifndef GUARD_STATE_STATE_H
#define GUARD_STATE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct state {
	char *path; /* absolute, without symbolic links */
	char *store_path; /* path/store */
	char *home; /* the user's home directory, or NULL */
	int fd, runs_fd, workspaces_fd, trash_fd;
};

/* Returns $HOME, else the home directory of the user database; to free. NULL
 * when this is no directory of the user: guard could neither cover it nor
 * protect its state there. why->num: 0, or an error that leaves the answer
 * unknown. */
char *state_find_home(struct err *why);

/* -EPERM inside a run, where the state is masked. */
int state_check_outside(struct err *err);

/*
 * Opens the state and creates missing parts; the caller closes it with
 * state_close(). Refused: a process inside a run, and a state that is a
 * symbolic link, belongs to another user, or is accessible for others.
 */
int state_open(struct state *ret, struct err *err);
void state_close(struct state *st);

/* Whether there is a state that state_open() would not create. */
bool state_exists(void);

/* The file of the settings (guard/retention/settings.h): `config` in the state,
 * or where a symbolic link of this name leads; to free. */
char *state_settings_path(const struct state *st, struct err *err);

/*
 * The project around `dir` (NULL: the current directory): the git work tree
 * that contains it, else the directory itself; absolute, without symbolic
 * links, to free. Refused, with the remedy: "/", the state, directories in it
 * or above it, $HOME, and directories above it.
 */
enum project_use {
	PROJECT_FIND, /* only resolve, refuse no directory */
	PROJECT_RUN,
	PROJECT_STORE,
};
char *state_project(const struct state *st, const char *dir,
		    enum project_use use, struct err *err);
/* Checks the same rules before the state is created. */
int state_check_project(const char *dir, enum project_use use, struct err *err);

/*
 * A directory that the user names to be stored: absolute, without symbolic
 * links, to free. Unlike a project, no work tree above it is used. Refused: a
 * path that is no directory, "/", the state and directories below it. A
 * directory above the state is accepted, and the state is excluded.
 */
char *state_directory(const struct state *st, const char *path,
		      struct err *err);

/* Whether the last call for the file `stamp` of the state with this answer was
 * so many seconds ago: its mtime, which is set to now then. Also where it is of
 * the future. */
bool state_is_due(const struct state *st, const char *stamp, int64_t seconds);

/* Appends a line to oplog (JSON), with the action, e.g. "apply", and key/value
 * pairs, ended by NULL; time, user and pid are added. Best effort. */
void state_log(const struct state *st, const char *action, ...)
	__attribute__((sentinel));

#endif
