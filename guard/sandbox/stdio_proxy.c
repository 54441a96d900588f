#include "guard/sandbox/stdio_proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/child.h"

#define FROM 0
#define TO 1
#define FIRST_FREE 2

/* Time for written data to arrive. */
#define DRAIN_MS 3000

/* The caller may have set O_NONBLOCK on the descriptor; the proxy still
 * blocks. */
static void wait_stdio_ready(int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};

	(void)poll(&p, 1, -1);
}

static bool write_stdio(const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(TO, data, len);

		if (n < 0 && errno == EAGAIN)
			wait_stdio_ready(TO, POLLOUT);
		else if (n < 0 && errno != EINTR)
			return false;
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
	return true;
}

/* Moves both descriptors to new numbers and closes all others. */
static void __attribute__((noreturn))
copy_stdio(int from, int to, bool is_output)
{
	static char data[65536];
	ssize_t n;

	/* The run's output is copied even if guard is killed; the end of file
	 * ends the proxy. */
	if (is_output)
		(void)prctl(PR_SET_PDEATHSIG, 0);
	from = fcntl(from, F_DUPFD, FIRST_FREE + 1);
	to = fcntl(to, F_DUPFD, FIRST_FREE + 1);
	if (from < 0 || to < 0 || dup2(from, FROM) < 0 || dup2(to, TO) < 0 ||
	    syscall(SYS_close_range, (unsigned int)FIRST_FREE, ~0U, 0U) < 0)
		_exit(1);
	while ((n = read(FROM, data, sizeof(data))) != 0) {
		if (n < 0 && errno == EAGAIN)
			wait_stdio_ready(FROM, POLLIN);
		else if (n < 0 && errno != EINTR)
			break;
		if (n > 0 && !write_stdio(data, (size_t)n))
			break;
	}
	_exit(0);
}

int stdio_proxy_start(struct stdio_proxies *f,
		      bool (*is_wanted)(void *arg, int fd), void *arg,
		      struct err *err)
{
	struct stat one, other;
	bool wanted[3];
	int fd, ends[2];
	pid_t pid;

	for (fd = 0; fd < 3; fd++)
		wanted[fd] = is_wanted(arg, fd);
	for (fd = 0; fd < 3; fd++) {
		auto_close int original_fd = -1, ours = -1, theirs = -1;
		bool out = fd != 0;

		if (!wanted[fd])
			continue;
		/* stdout and stderr are one file: one proxy keeps the order of
		 * the output. */
		if (fd == 2 && f->items[1].pid && fstat(2, &one) == 0 &&
		    fstat(f->items[1].original_fd, &other) == 0 &&
		    one.st_dev == other.st_dev && one.st_ino == other.st_ino) {
			f->items[2].original_fd = fcntl(2, F_DUPFD_CLOEXEC, 3);
			f->items[2].is_output = true;
			if (f->items[2].original_fd < 0 || dup2(1, 2) < 0)
				return fail_errno(err, "replace descriptor 2");
			continue;
		}
		original_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (original_fd < 0 || pipe2(ends, O_CLOEXEC) < 0)
			return fail_errno(err, "create a pipe");
		ours = ends[out ? 0 : 1];
		theirs = ends[out ? 1 : 0];
		pid = child_fork("guard-ferry");
		if (pid == 0)
			copy_stdio(out ? ours : original_fd,
				   out ? original_fd : ours, out);
		if (pid < 0)
			return fail_errno(
				err, "start the proxy process of descriptor %d",
				fd);
		if (dup2(theirs, fd) < 0)
			return fail_errno(err, "replace descriptor %d", fd);
		f->items[fd] =
			(struct stdio_proxy){pid, TAKE_FD(original_fd), out};
	}
	return 0;
}

void stdio_proxy_stop(struct stdio_proxies *f)
{
	int fd;

	/* guard's own copies of the pipes: closed, the proxies see end of
	 * file. */
	for (fd = 0; fd < 3; fd++) {
		if (!f->items[fd].original_fd)
			continue;
		(void)dup2(f->items[fd].original_fd, fd);
		(void)close(f->items[fd].original_fd);
		f->items[fd].original_fd = 0;
	}
	for (fd = 0; fd < 3; fd++) {
		struct stdio_proxy *one = &f->items[fd];
		auto_close int watch = -1;
		struct pollfd ended;

		if (!one->pid)
			continue;
		if (!one->is_output)
			(void)kill(one->pid, SIGKILL);
		/* Another process may still hold the pipe open: then the proxy
		 * continues alone. */
		watch = (int)syscall(SYS_pidfd_open, one->pid, 0);
		ended = (struct pollfd){.fd = watch, .events = POLLIN};
		if (watch >= 0 && poll(&ended, 1, DRAIN_MS) != 0)
			(void)child_wait(one->pid);
		one->pid = 0;
	}
}
