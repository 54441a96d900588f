#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/text.h"

int lock_take(int dirfd, const char *name, bool exclusive, bool wait,
	      struct err *err)
{
	auto_close int fd = openat(
		dirfd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	int got;

	if (fd < 0 && errno == EROFS)
		return fail(err, EROFS,
			    "open lock %s: this file system is read-only; only "
			    "log, ls, show and diff work",
			    text_quote(name));
	if (fd < 0)
		return fail_errno(err, "open lock %s", text_quote(name));
	do {
		got = flock(fd, (exclusive ? LOCK_EX : LOCK_SH) |
					(wait ? 0 : LOCK_NB));
	} while (got < 0 && errno == EINTR);
	if (got < 0 &&
	    (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS))
		return fail(err, errno,
			    "lock %s: this file system does not support locks; "
			    "set GUARD_HOME to a directory on another one",
			    text_quote(name));
	if (got < 0)
		return fail_errno(err, "lock %s", text_quote(name));
	return TAKE_FD(fd);
}

/*
 * A visible lock consists of two locks of one descriptor. flock(2) decides
 * which process has it. A query uses the write lock (F_OFD_SETLK), which
 * F_OFD_GETLK tests without taking it. A query by flock(2) would take the lock
 * for a short time, and another process's real attempt would fail.
 */
int lock_take_visible(int dirfd, const char *name, bool wait, struct err *err)
{
	struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	auto_close int fd = lock_take(dirfd, name, true, wait, err);

	if (fd < 0)
		return fd;
	if (fcntl(fd, F_OFD_SETLK, &range) < 0)
		return fail_errno(err, "lock %s", text_quote(name));
	return TAKE_FD(fd);
}

int lock_is_held(int dirfd, const char *name, struct err *err)
{
	struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	auto_close int fd = RETRY_ENOENT(
		openat(dirfd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC));

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fcntl(fd, F_OFD_GETLK, &range) < 0)
		return fail_errno(err, "stat lock %s", text_quote(name));
	return range.l_type != F_UNLCK;
}

void lock_release(int *fd)
{
	struct flock range = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

	if (*fd <= 0)
		return;
	(void)fcntl(*fd, F_OFD_SETLK, &range);
	(void)flock(*fd, LOCK_UN);
	fd_close(fd);
}

/*
 * A file that was deleted before it was locked has no name any more and is
 * created again. No name is used twice: a process that clears the directory
 * deletes by name and may have opened a file of that name earlier.
 */
int lock_create_temp(int dirfd, const char *prefix, char ret[LOCK_TEMP_LEN],
		     int *ret_lock, struct err *err)
{
	uint64_t random;
	struct stat st;
	int lock, num;

	for (;;) {
		auto_close int fd = -1, second = -1;

		mem_random(&random, sizeof(random));
		(void)snprintf(ret, LOCK_TEMP_LEN, "%s-%016" PRIx64 ".tmp",
			       prefix, random);
		fd = openat(dirfd, ret,
			    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0400);
		if (fd < 0)
			return fd_fail(dirfd, "create a file in", err);
		if (ret_lock)
			second = openat(dirfd, ret,
					O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		lock = ret_lock ? second : fd;
		num = lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0 ? errno
								     : 0;
		if (!num && fstat(fd, &st) == 0 && st.st_nlink == 1) {
			if (ret_lock)
				*ret_lock = TAKE_FD(second);
			return TAKE_FD(fd);
		}
		if (num && num != ENOENT && num != EWOULDBLOCK) {
			(void)unlinkat(dirfd, ret, 0);
			return fail_num(err, num, "lock %s", text_quote(ret));
		}
	}
}

#define LOCKS_MAX (1u << 20)

/* "guard review", or the name of another program. */
static void add_holder_program(struct buf *to, int pid)
{
	AUTO(buf) struct buf comm = {0}, line = {0};
	auto_free char *comm_path = mem_printf("/proc/%d/comm", pid);
	auto_free char *line_path = mem_printf("/proc/%d/cmdline", pid);
	const char *verb;
	struct err ignored;

	(void)fd_slurp_at(AT_FDCWD, comm_path, 64, &comm, &ignored);
	(void)fd_slurp_at(AT_FDCWD, line_path, LOCKS_MAX, &line, &ignored);
	if (comm.len && comm.data[comm.len - 1] == '\n')
		comm.len--;
	if (!comm.len)
		return;
	buf_add_text(to, " (");
	text_escape(to, buf_text(&comm), comm.len, false);
	verb = buf_text(&line);
	verb += strlen(verb) + 1 < line.len ? strlen(verb) + 1 : strlen(verb);
	if (strcmp(buf_text(&comm), "guard") == 0 && *verb &&
	    strspn(verb, "abcdefghijklmnopqrstuvwxyz") == strlen(verb))
		buf_printf(to, " %s", verb);
	buf_add_char(to, ')');
}

char *lock_holders(int fd)
{
	AUTO(buf) struct buf locks = {0};
	struct buf names = {0};
	char *line, *rest;
	struct err ignored;
	struct stat st;

	if (fstat(fd, &st) == 0)
		(void)fd_slurp_at(AT_FDCWD, "/proc/locks", LOCKS_MAX, &locks,
				  &ignored);
	(void)buf_text(&locks);
	for (line = strtok_r((char *)locks.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		unsigned long long inode;
		int pid;

		if (sscanf(line, "%*d: FLOCK %*s %*s %d %*x:%*x:%llu", &pid,
			   &inode) != 2 ||
		    inode != st.st_ino || pid <= 0 || pid == getpid())
			continue;
		buf_printf(&names, "%sprocess %d", names.len ? ", " : "", pid);
		add_holder_program(&names, pid);
	}
	if (!names.len)
		buf_add_text(&names, "another guard process");
	return buf_take_text(&names);
}

char *lock_holders_at(int dirfd, const char *name)
{
	auto_close int fd =
		openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return lock_holders(fd);
}
