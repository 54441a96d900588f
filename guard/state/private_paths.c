#include "guard/state/private_paths.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/child.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/state/backups.h"
#include "guard/state/report.h"

/* A file system that answers later is taken for one without a server. */
#define ANSWER_MS 3000

/* Whether a file at the top of a destination is guard's. */
static bool is_own_name(const char *name)
{
	unsigned char space[SEAL_SPACE_LEN];

	return strcmp(name, KEYFILE_NAME) == 0 ||
	       strcmp(name, KEYFILE_SECOND) == 0 ||
	       strcmp(name, DESTINATION_TRY) == 0 ||
	       manifest_space_parse(name, space);
}

static void add_destination_paths(const char *path, const char *project,
				  char ***paths)
{
	auto_close int fd = fd_open_dir(AT_FDCWD, path);
	AUTO(dirlist) struct dirlist list = {0};
	bool whole = project && !path_below(project, path);
	struct err ignored;
	size_t i;

	if (fd < 0 || dirlist_read(fd, &list, &ignored) < 0)
		return;
	for (i = 0; i < list.count; i++)
		whole &= is_own_name(list.items[i].name);
	if (whole) {
		mem_list_add(paths, path);
		return;
	}
	for (i = 0; i < list.count; i++) {
		auto_free char *own = path_join(path, list.items[i].name);

		if (is_own_name(list.items[i].name))
			mem_list_add(paths, own);
	}
}

/* A call on a network file system whose server is away may never return, and
 * its process not end: another process makes the same calls before. */
static void add_paths_there(const char *path, const char *project,
			    char ***paths)
{
	static struct names silent;
	auto_close int process = -1;
	pid_t pid;

	if (names_have(&silent, path))
		return;
	pid = child_fork("guard-reach");
	if (pid == 0) {
		add_destination_paths(path, project, paths);
		_exit(0);
	}
	process = (int)syscall(SYS_pidfd_open, pid, 0);
	if (process < 0 ||
	    poll(&(struct pollfd){process, POLLIN, 0}, 1, ANSWER_MS) != 0) {
		(void)child_wait(pid);
		add_destination_paths(path, project, paths);
		return;
	}
	(void)kill(pid, SIGKILL);
	names_add(&silent, path);
	report_warning("the destination %s does not answer: runs may see the "
		       "backups there",
		       text_quote(path));
}

char **private_paths_list(const struct state *state, const char *project)
{
	AUTO(backups) struct backups known = {0};
	char **paths = NULL;
	struct err ignored;
	auto_free char *settings = state_settings_path(state, &ignored);
	size_t i;

	mem_list_add(&paths, state->path);
	if (project)
		mem_list_add(&paths, settings ?: state->path);
	(void)backups_load(state, &known, &ignored);
	for (i = 0; i < known.count; i++)
		add_paths_there(known.items[i].path, project, &paths);
	return paths;
}
