#include "guard/cli/user_git.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/child.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "restore/git/gitrun.h"

#define SETTING_MAX 4096u
#define NAME_MAX_KEPT 100u

bool user_git_leave(const char *dir)
{
	static const char *const repository[] = {
		"GIT_WORK_TREE", "GIT_COMMON_DIR",    "GIT_INDEX_FILE",
		"GIT_CONFIG",	 "GIT_EXTERNAL_DIFF", NULL,
	};
	size_t i;

	for (i = 0; repository[i]; i++)
		(void)unsetenv(repository[i]);
	return chdir(dir) == 0 && setenv("GIT_DIR", "/dev/null", 1) == 0;
}

char *user_git_setting(const char *key)
{
	const char *git = gitrun_program();
	auto_free char *name = mem_strdup(key);
	char *const argv[] = {"git", "config", "--get", name, NULL};
	AUTO(buf) struct buf value = {0};

	if (!git || child_output(git, argv, user_git_leave, "/", SETTING_MAX,
				 &value) != 0)
		return NULL;
	while (value.len && value.data[value.len - 1] == '\n')
		value.len--;
	return buf_take_text(&value);
}

/* --- difftool --- */

/* "new-main.c": no name in the directory begins with a dot or dash, so that no
 * program takes one for its settings or an option. */
static char *side_name(const char *side, const char *path)
{
	const char *name = path_name(path);
	const size_t len = strlen(name);
	char *text, *at;

	if (len > NAME_MAX_KEPT)
		name += len - NAME_MAX_KEPT;
	text = mem_printf("%s-%s", side, name);
	for (at = text; *at; at++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwx"
			    "yz0123456789._-",
			    *at))
			*at = '_';
	return text;
}

static int write_side(const char *dir, const char *name,
		      const struct buf *bytes, struct err *err)
{
	auto_free char *path = path_join(dir, name);
	auto_close int fd = -1;

	if (!bytes)
		return 0;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		  0400);
	if (fd < 0 || fd_write(fd, bytes->data, bytes->len) < 0)
		return fail_errno(err, "write %s", text_quote(path));
	return 0;
}

static int run_difftool(const char *dir, const char *tool, char *old, char *now,
			struct err *err)
{
	const char *git = gitrun_program();
	auto_free char *named = mem_printf("--tool=%s", tool ?: "");
	char *const arguments[] = {
		(char *)"git",
		(char *)"difftool",
		(char *)"--no-prompt",
		tool ? named : (char *)"--no-index",
		(char *)"--no-index",
		(char *)"--",
		old,
		now,
		NULL,
	};
	void (*interrupt)(int);
	int status;
	pid_t pid;

	if (!git)
		return fail(err, ENOENT,
			    "git is not installed: it starts the "
			    "tool");
	(void)fflush(stdout);
	/* Ctrl-C is the tool's. */
	interrupt = signal(SIGINT, SIG_IGN);
	pid = fork();
	if (pid == 0) {
		(void)signal(SIGINT, SIG_DFL);
		if (user_git_leave(dir))
			(void)execv(git, arguments);
		_exit(127);
	}
	status = child_wait(pid);
	(void)signal(SIGINT, interrupt);
	if (pid < 0)
		return fail_errno(err, "start git");
	/* 1: the sides differ. */
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
		return fail(err, ECANCELED,
			    "the difftool failed or was interrupted");
	return 0;
}

int user_git_difftool(const char *tool, const char *path, const struct buf *old,
		      const struct buf *now, struct err *err)
{
	const char *temp = getenv("TMPDIR");
	auto_free char *dir = mem_printf("%s/guard-diff.XXXXXX",
					 temp && *temp == '/' ? temp : "/tmp");
	auto_free char *old_name = side_name("old", path);
	auto_free char *new_name = side_name("new", path);
	char none[] = "/dev/null";
	struct err ignored;
	int got;

	if (!mkdtemp(dir))
		return fail_errno(err, "create %s", text_quote(dir));
	got = write_side(dir, old_name, old, err);
	if (got == 0)
		got = write_side(dir, new_name, now, err);
	if (got == 0)
		got = run_difftool(dir, tool, old ? old_name : none,
				   now ? new_name : none, err);
	(void)dirtree_remove(AT_FDCWD, dir, &ignored);
	return got;
}
