#include "guard/sandbox/edits.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/child.h"
#include "base/fd.h"
#include "base/text.h"
#include "guard/sandbox/message.h"
#include "guard/sandbox/mount.h"
#include "guard/sandbox/procfs.h"

/* Any number: no other program sends SIGURG with a value to guard. */
#define ASK_VALUE 0x67756172

void edits_open(struct edits *e, pid_t pid1)
{
	e->user_fd = procfs_namespace(pid1, "user");
	e->mount_fd = procfs_namespace(pid1, "mnt");
}

void edits_close(struct edits *e)
{
	fd_close(&e->user_fd);
	fd_close(&e->mount_fd);
}

/* One mount of each layer is enough: the names belong to the file system. */
static bool is_shown_before(const struct mountinfo *m, size_t index)
{
	size_t i;

	for (i = 0; i < index; i++)
		if (strcmp(m->items[i].dev, m->items[index].dev) == 0)
			return true;
	return false;
}

static bool enter_run(const struct edits *e)
{
	return setns(e->user_fd, CLONE_NEWUSER) == 0 &&
	       setns(e->mount_fd, CLONE_NEWNS) == 0;
}

static void __attribute__((noreturn))
show_in_run(const struct edits *e, const struct mountinfo *m)
{
	size_t i;
	int fd;

	if (!enter_run(e))
		_exit(1);
	for (i = 0; i < m->count; i++) {
		if (strcmp(m->items[i].type, "overlay") != 0 ||
		    is_shown_before(m, i))
			continue;
		fd = (int)syscall(SYS_fspick, AT_FDCWD, m->items[i].point,
				  FSPICK_CLOEXEC | FSPICK_NO_AUTOMOUNT);
		if (fd >= 0)
			(void)syscall(SYS_fsconfig, fd,
				      FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0);
		fd_close(&fd);
	}
	_exit(0);
}

void edits_show(const struct edits *e, pid_t pid1)
{
	AUTO(mountinfo) struct mountinfo m = {0};
	struct err ignored;
	pid_t child;

	if (e->user_fd < 0 || e->mount_fd < 0 ||
	    mountinfo_load(pid1, &m, &ignored) < 0)
		return;
	/* A process that has joined a user namespace cannot leave it. */
	child = child_fork("guard-edits");
	if (child == 0)
		show_in_run(e, &m);
	(void)child_wait(child);
}

static void __attribute__((noreturn))
open_in_run(const struct edits *e, const char *path, int socket)
{
	int fd = enter_run(e) ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
						   O_CLOEXEC)
			      : -1;
	int number = fd < 0 ? errno : 0;

	_exit(message_send(socket, MESSAGE_READY, number, NULL, fd) < 0);
}

int edits_open_dir(const struct edits *e, const char *path, struct err *err)
{
	struct message m = {.value = ECHILD};
	int pair[2], fd = -1;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_errno(err, "create a socket");
	child = child_fork("guard-edits");
	if (child == 0)
		open_in_run(e, path, pair[1]);
	(void)close(pair[1]);
	(void)message_receive(pair[0], &m, &fd);
	(void)close(pair[0]);
	(void)child_wait(child);
	errno = m.value;
	return fd >= 0 ? fd
		       : fail_errno(err, "open %s in the run",
				    text_quote(path));
}

int edits_ask(int supervisor_pidfd)
{
	siginfo_t info = {
		.si_signo = SIGURG,
		.si_code = SI_QUEUE,
	};

	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_int = ASK_VALUE;
	return (int)syscall(SYS_pidfd_send_signal, supervisor_pidfd, SIGURG,
			    &info, 0);
}

bool edits_asked(int code, int value)
{
	return code == SI_QUEUE && value == ASK_VALUE;
}
