/*
 * The user's own git settings, and his difftool. git reads them from the global
 * and the system configuration, and from the user's environment, never from a
 * repository: it is called with GIT_DIR=/dev/null outside of the project, since
 * a run may have written the project's configuration.
 */
#ifndef GUARD_CLI_USER_GIT_H
#define GUARD_CLI_USER_GIT_H

#include "base/err.h"
#include "base/mem.h"

/* The value of a setting, to free; NULL: it is not set, or git is missing. */
char *user_git_setting(const char *key);

/* In a new process: leaves the project for `dir`, and lets git commands of the
 * program that follows see no repository. false: dir cannot be entered. */
bool user_git_leave(const char *dir);

/*
 * Opens both sides of a text in the difftool of the user's settings, or in
 * `tool` unless it is NULL, and waits for its end. The sides are read-only
 * files in a new directory below TMPDIR (/tmp), which is removed at the end;
 * their names have harmless characters of the path's last part only. side NULL:
 * there is none.
 *
 * -ENOENT: git is not installed; -ECANCELED: the tool was killed, or failed.
 */
int user_git_difftool(const char *tool, const char *path, const struct buf *old,
		      const struct buf *now, struct err *err);

#endif
