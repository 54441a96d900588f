#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/agent/agent.h"

char *agent_config_dir(const struct state *state)
{
	const char *config = getenv("XDG_CONFIG_HOME");

	if (config && config[0] == '/')
		return path_join(config, "guard/agents");
	return state->home ? path_join(state->home, ".config/guard/agents")
			   : NULL;
}

/* Reads the file; -ENOENT: no such file. */
static int read_profile_text(int fd, struct buf *to, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail_errno(err, "look at it");
	if (!S_ISREG(st.st_mode))
		return fail(err, EINVAL, "it is no plain file");
	return fd_slurp(fd, PROFILE_BYTES_MAX, to, err);
}

/* A file that others may write would let them decide. */
static int check_owner(int fd, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail_errno(err, "look at it");
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return fail(err, EPERM, "it belongs to uid %u, not to you",
			    (unsigned int)st.st_uid);
	if (st.st_mode & 022)
		return fail(err, EPERM, "others may write it: chmod go-w");
	return 0;
}

/* 1; 0: there is none. */
static int read_user_profile(const struct state *state, const char *name,
			     struct profile *to, struct err *err)
{
	auto_free char *dir = agent_config_dir(state);
	auto_free char *path = dir ? path_join(dir, name) : NULL;
	AUTO(buf) struct buf text = {0};
	auto_close int fd = -1;

	if (!path)
		return 0;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return fail_errno(err, "profile %s", text_quote(path));
	if (check_owner(fd, err) < 0 || read_profile_text(fd, &text, err) < 0)
		return err_context(err, "profile %s", text_quote(path));
	return profile_parse(to, path, false, text.data, text.len, err) < 0
		       ? -err->num
		       : 1;
}

bool agent_known(const struct state *state, const char *name)
{
	auto_free char *dir = agent_config_dir(state);
	auto_free char *path = dir ? path_join(dir, name) : NULL;

	return profile_shipped(name) || (path && access(path, F_OK) == 0);
}

int agent_read(const struct state *state, const char *name, struct profile *to,
	       struct err *err)
{
	const char *text = profile_shipped(name);
	auto_free char *file = mem_printf("guard's own %s", name);
	int got;

	if (text && profile_parse(to, file, false, text, strlen(text), err) < 0)
		return -err->num;
	got = read_user_profile(state, name, to, err);
	return got < 0 ? got : text || got;
}

int agent_read_project(const char *project, struct profile *to, struct err *err)
{
	auto_close int root = fd_open_dir_path(AT_FDCWD, project);
	auto_free char *path = path_join(project, AGENT_PROJECT_FILE);
	AUTO(buf) struct buf text = {0};
	auto_close int fd = -1;

	if (root < 0)
		return fail_errno(err, "open %s", text_quote(project));
	fd = beneath_open(root, AGENT_PROJECT_FILE, O_RDONLY | O_NONBLOCK, 0,
			  err);
	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0;
	if (fd < 0 || read_profile_text(fd, &text, err) < 0)
		return err_context(err, "profile %s", text_quote(path));
	return profile_parse(to, path, true, text.data, text.len, err);
}
