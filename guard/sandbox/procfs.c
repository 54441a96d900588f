#include "guard/sandbox/procfs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/fd.h"

#define STAT_MAX 4096
#define STATUS_MAX (1 << 14)
#define TABLE_MAX (64 << 20)

bool procfs_stat(const char *dir, struct procfs_stat *ret)
{
	auto_free char *path = mem_printf("%s/stat", dir);
	AUTO(buf) struct buf b = {0};
	struct err ignored;
	struct procfs_stat s;
	const char *at;

	if (fd_slurp_at(AT_FDCWD, path, STAT_MAX, &b, &ignored) < 0)
		return false;
	/* Fields 3, 4, 20, 22 and 24 of proc_pid_stat(5). They follow the
	 * name, which may contain any character. */
	at = strrchr(buf_text(&b), ')');
	if (!at ||
	    sscanf(at + 1,
		   " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d "
		   "%*d %*d %*d %d %*d %" SCNu64 " %*u %" SCNu64,
		   &s.state, &s.parent, &s.threads, &s.start, &s.pages) != 5)
		return false;
	*ret = s;
	return true;
}

bool procfs_stat_of(pid_t pid, struct procfs_stat *ret)
{
	char dir[32];

	(void)snprintf(dir, sizeof(dir), "/proc/%d", (int)pid);
	return procfs_stat(dir, ret);
}

bool procfs_status(pid_t pid, struct buf *ret)
{
	struct err ignored;
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	return pid > 0 &&
	       fd_slurp_at(AT_FDCWD, path, STATUS_MAX, ret, &ignored) >= 0;
}

const char *procfs_field(struct buf *status, const char *name)
{
	const char *line = buf_text(status);
	size_t len = strlen(name);

	for (; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, len) == 0 &&
		    strncmp(line + len, ":\t", 2) == 0)
			return line + len + 2;
	}
	return NULL;
}

void procfs_lines(const char *path, struct names *ret)
{
	AUTO(buf) struct buf b = {0};
	struct err ignored;
	char *save = NULL, *line;

	if (fd_slurp_at(AT_FDCWD, path, TABLE_MAX, &b, &ignored) < 0)
		return;
	(void)buf_text(&b);
	line = strtok_r((char *)b.data, "\n", &save);
	for (; line; line = strtok_r(NULL, "\n", &save))
		names_add(ret, line);
}

int procfs_namespace(pid_t pid, const char *name)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

char *procfs_cgroup(const char *process, const char *controller)
{
	auto_free char *file = mem_printf("/proc/%s/cgroup", process);
	auto_free char *pattern = mem_printf(":%s:", controller);
	AUTO(names) struct names lines = {0};
	size_t i;

	procfs_lines(file, &lines);
	for (i = 0; i < lines.count; i++) {
		const char *at = strchr(lines.items[i], ':');

		if (at && strncmp(at, pattern, strlen(pattern)) == 0)
			return mem_strdup(at + strlen(pattern));
	}
	return mem_strdup("");
}
