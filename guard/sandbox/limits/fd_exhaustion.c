#include "guard/sandbox/limits/fd_exhaustion.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "guard/sandbox/limits/procfs.h"

/* Shells and debuggers open single files at high numbers. Below this limit such
 * a number makes the descriptor table as large as the limit. */
#define TABLE_MIN 1024u
/* A lower limit was set on purpose. */
#define FILES_MIN 32u

/* Leaves out 1/64: descriptors that a program opens and closes all the time. */
static bool is_nearly_exhausted(uint64_t count, uint64_t max_count)
{
	return count && count >= max_count - max_count / 64;
}

/* The number of open descriptors, and the highest one. */
static bool count_open_fds(const char *path, uint64_t *ret_count,
			   uint64_t *ret_highest)
{
	struct dirent *e;
	DIR *dir = opendir(path);

	*ret_count = *ret_highest = 0;
	if (!dir)
		return false;
	while ((e = readdir(dir))) {
		uint64_t number = strtoull(e->d_name, NULL, 10);

		if (e->d_name[0] == '.')
			continue;
		++*ret_count;
		if (number > *ret_highest)
			*ret_highest = number;
	}
	(void)closedir(dir);
	return true;
}

/* Reads the name and the size of the descriptor table from proc(5)'s status. */
static bool read_fd_status(pid_t pid, struct fd_exhaustion *f,
			   uint64_t *ret_table)
{
	AUTO(buf) struct buf status = {0};
	const char *name, *table;

	if (!procfs_status(pid, &status))
		return false;
	name = procfs_field(&status, "Name");
	table = procfs_field(&status, "FDSize");
	if (!name || !table)
		return false;
	(void)snprintf(f->name, sizeof(f->name), "%.*s",
		       (int)strcspn(name, "\n"), name);
	*ret_table = strtoull(table, NULL, 10);
	return true;
}

/* Descriptors that are still open at high numbers were put there on purpose
 * (valgrind does it). */
static bool was_fd_table_full(const char *path, uint64_t max_count)
{
	uint64_t count, highest;

	return max_count >= TABLE_MIN &&
	       count_open_fds(path, &count, &highest) &&
	       (is_nearly_exhausted(count, max_count) ||
		highest < max_count / 2);
}

bool fd_exhaustion_check(pid_t pid, bool ending, struct fd_exhaustion *ret)
{
	struct fd_exhaustion f = {0};
	struct rlimit limit;
	uint64_t table, highest, count;
	struct stat st;
	char path[48];
	bool is_exhausted;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	if (pid <= 0 || prlimit(pid, RLIMIT_NOFILE, NULL, &limit) < 0 ||
	    stat(path, &st) < 0)
		return false;
	/* Since Linux 6.2 the size is the number of open descriptors. */
	count = (uint64_t)st.st_size;
	f.max_count = limit.rlim_cur;
	f.hard_limit = limit.rlim_max;
	if (f.max_count < FILES_MIN ||
	    (count && !ending && !is_nearly_exhausted(count, f.max_count)))
		return false;
	if (!read_fd_status(pid, &f, &table) || table < f.max_count)
		return false;
	if (!count)
		(void)count_open_fds(path, &count, &highest);
	is_exhausted = is_nearly_exhausted(count, f.max_count) ||
		       (ending && was_fd_table_full(path, f.max_count));
	if (is_exhausted)
		*ret = f;
	return is_exhausted;
}

/* ---- inotify ---- */

/* Half of the machine's limit, as proc.c sets it: the limit of the namespace
 * itself is not readable here. */
static uint64_t read_half_of(const char *path)
{
	AUTO(buf) struct buf b = {0};
	struct err ignored;

	if (fd_slurp_at(AT_FDCWD, path, 64, &b, &ignored) < 0)
		return 0;
	return strtoull(buf_text(&b), NULL, 10) / 2;
}

static bool has_inotify_instance(pid_t pid)
{
	char path[48], target[32];
	bool has = false;
	struct dirent *e;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	while (dir && !has && (e = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), e->d_name, target,
				       sizeof(target) - 1);

		target[n > 0 ? n : 0] = '\0';
		has = strcmp(target, "anon_inode:inotify") == 0;
	}
	if (dir)
		(void)closedir(dir);
	return has;
}

bool fd_exhaustion_check_inotify(pid_t pid, struct fd_exhaustion *ret)
{
	auto_close int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct fd_exhaustion f = {.kind = FD_EXHAUSTION_INSTANCES};
	uint64_t ignored;

	if (fd < 0 && errno == EMFILE) {
		f.max_count =
			read_half_of("/proc/sys/fs/inotify/max_user_instances");
	} else if (fd >= 0 && has_inotify_instance(pid) &&
		   inotify_add_watch(fd, "/", IN_DELETE_SELF) < 0 &&
		   errno == ENOSPC) {
		f.kind = FD_EXHAUSTION_WATCHES;
		f.max_count =
			read_half_of("/proc/sys/fs/inotify/max_user_watches");
	}
	if (!f.max_count || !read_fd_status(pid, &f, &ignored))
		return false;
	*ret = f;
	return true;
}

/* ---- as a message ---- */

void fd_exhaustion_format(const struct fd_exhaustion *f,
			  char text[FD_EXHAUSTION_TEXT_LEN])
{
	(void)snprintf(text, FD_EXHAUSTION_TEXT_LEN, "%d %llu %llu %s",
		       (int)f->kind, (unsigned long long)f->max_count,
		       (unsigned long long)f->hard_limit, f->name);
}

bool fd_exhaustion_parse(const char *text, struct fd_exhaustion *ret)
{
	struct fd_exhaustion f = {0};
	char *rest;

	f.kind = (enum fd_exhaustion_kind)strtoul(text, &rest, 10);
	f.max_count = strtoull(rest, &rest, 10);
	f.hard_limit = strtoull(rest, &rest, 10);
	if (!f.max_count || f.kind > FD_EXHAUSTION_WATCHES || *rest != ' ')
		return false;
	(void)snprintf(f.name, sizeof(f.name), "%s", rest + 1);
	*ret = f;
	return true;
}
