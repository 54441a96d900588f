/*
 * Interposes the calls that make data durable, plain ones and those through
 * io_uring: each can be traced, fail, or be the last call of the process. Each
 * test program includes its own copy.
 */
#ifndef GUARD_TESTS_UNIT_CALLS_H
#define GUARD_TESTS_UNIT_CALLS_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "snapshot/store/ring.h"
#include "tests/unit/ring_hooks.h"

static struct {
	unsigned int count; /* calls so far */
	unsigned int at; /* the call that is hit; 0: none */
	int error; /* the errno of the failure; 0: the process is killed */
	bool after; /* killed after it, not before */
	struct buf *trace; /* "fdatasync packs\n"... */
} calls;

/* Syncs are counted, but not executed: for tests that kill only processes. */
static bool calls_unsynced;

static bool call_fails(const char *what, const char *detail)
{
	if (calls.trace)
		buf_printf(calls.trace, "%s %s\n", what, detail);
	if (__atomic_add_fetch(&calls.count, 1, __ATOMIC_RELAXED) != calls.at)
		return false;
	if (!calls.error && !calls.after)
		(void)kill(getpid(), SIGKILL);
	errno = calls.error;
	return calls.error != 0;
}

static long call_done(long got)
{
	if (calls.at && calls.count == calls.at && calls.after)
		(void)kill(getpid(), SIGKILL);
	return got;
}

/* The last part of a descriptor's path; packs have random names. */
static const char *fd_text(int fd)
{
	static _Thread_local char text[4096];
	char link[64], *slash;
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, text, sizeof(text) - 1);
	text[n < 0 ? 0 : n] = '\0';
	slash = strrchr(text, '/');
	if (strstr(text, "/pack-"))
		return "pack";
	return slash ? slash + 1 : text;
}

int fdatasync(int fd)
{
	if (call_fails("fdatasync", fd_text(fd)))
		return -1;
	return (int)call_done(calls_unsynced ? 0 : syscall(SYS_fdatasync, fd));
}

int fsync(int fd)
{
	if (call_fails("fsync", fd_text(fd)))
		return -1;
	return (int)call_done(calls_unsynced ? 0 : syscall(SYS_fsync, fd));
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to,
	      unsigned int flags)
{
	if (call_fails("rename", fd_text(to_fd)))
		return -1;
	return (int)call_done(
		syscall(SYS_renameat2, from_fd, from, to_fd, to, flags));
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	return renameat2(from_fd, from, to_fd, to, 0);
}

int fchmodat(int dirfd, const char *name, mode_t mode, int flags)
{
	char text[64];

	(void)flags;
	(void)snprintf(text, sizeof(text), "%s %o", name, mode);
	if (call_fails("chmod", text))
		return -1;
	return (int)call_done(syscall(SYS_fchmodat, dirfd, name, mode));
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
	if (call_fails("write", fd_text(fd)))
		return -1;
	return call_done(syscall(SYS_pwritev, fd, parts, count, offset, 0L));
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
	if (call_fails("write", fd_text(fd)))
		return -1;
	return call_done(syscall(SYS_pwrite64, fd, data, len, offset));
}

static int ring_before(enum ring_call call, int fd)
{
	if (call == RING_READ || !call_fails("fdatasync", fd_text(fd)))
		return 0;
	return errno;
}

/* Other calls may have begun since. */
static void ring_after(enum ring_call call, int fd)
{
	(void)call;
	(void)fd;
	if (calls.at && calls.count >= calls.at && calls.after)
		(void)kill(getpid(), SIGKILL);
}

__attribute__((unused)) static void calls_reset(void)
{
	memset(&calls, 0, sizeof(calls));
	ring_hook(ring_before, ring_after);
}

#endif
