/*
 * Where guard keeps what is its own: $GUARD_HOME, else
 * $XDG_DATA_HOME/guard (~/.local/share/guard; for root /var/lib/guard). Mode
 * 0700, one a user. A run never sees it.
 *
 *	store/ workspaces/ runs/ trash/ opened/ oplog reserve
 */
#ifndef GUARD_STATE_H
#define GUARD_STATE_H

#include "base/err.h"

struct state {
	char *path; /* absolute, without links */
	char *store_path; /* path/store */
	char *home; /* the user's own home folder, or NULL */
	int fd, runs_fd, workspaces_fd, trash_fd;
};

/* Makes what is missing. Refused: inside a run (GUARD=1 and no state to be
 * seen), a folder of another owner, a link, one that others may enter. */
int state_open(struct state *ret, struct err *err);
void state_close(struct state *st);

/*
 * The project around `dir` (NULL: the current folder): the git work tree it
 * lies in, else the folder itself; absolute, without links, to free. Refused
 * with the way out: "/", the state or what holds it, $HOME and what holds it.
 */
enum project_use {
	PROJECT_FIND, /* only the resolving, nothing is refused */
	PROJECT_RUN,
	PROJECT_STORE,
};
char *state_project(const struct state *st, const char *dir,
		    enum project_use use, struct err *err);
/* The same refusals before a state is made; it may not be there yet. */
int state_check_project(const char *dir, enum project_use use, struct err *err);

/*
 * A folder that the user names to be stored, absolute, without links, to free:
 * not the project around it. Refused: what is no folder, "/", the state and
 * what is in it. One that holds the state is fine: the state is left out.
 */
char *state_directory(const struct state *st, const char *path,
		      struct err *err);

/* One line more in oplog (JSON), e.g. action "apply", with key/value pairs
 * behind it, ended by NULL; time, user and pid are added. Best effort. */
void state_log(const struct state *st, const char *action, ...)
	__attribute__((sentinel));

#endif
