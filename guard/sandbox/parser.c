#include "guard/sandbox/parser.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/child.h"
#include "base/mem.h"
#include "guard/sandbox/filter.h"
#include "guard/sandbox/namespaces.h"

#define STACK ((size_t)64 << 10)
#define NOBODY 65534
/* Descriptors of the child before they get their final numbers. */
#define ASIDE 10

/* --- the start --- */

/* Read and written by the child, which shares guard's memory until its exec. */
struct launch {
	const char *word;
	char *libraries; /* LD_LIBRARY_PATH=..., or NULL */
	int program, socket, null;
	bool user; /* in a user namespace of its own */
	char uids[48], gids[48];
	volatile int num; /* errno of a failure */
};

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

/* Only system calls: the child shares guard's memory. uid 0 of the namespace
 * keeps its capabilities in the exec. */
static int launch_child(void *arg)
{
	struct launch *l = arg;
	char *argv[] = {(char *)(uintptr_t)PARSER_NAME,
			(char *)(uintptr_t)l->word, NULL};
	char *env[] = {l->libraries, NULL};
	int i, program, socket, null;

	if (l->user && (write_file("/proc/self/setgroups", "deny") < 0 ||
			write_file("/proc/self/uid_map", l->uids) < 0 ||
			write_file("/proc/self/gid_map", l->gids) < 0)) {
		l->num = errno;
		_exit(1);
	}
	program = fcntl(l->program, F_DUPFD_CLOEXEC, ASIDE);
	socket = fcntl(l->socket, F_DUPFD_CLOEXEC, ASIDE);
	null = fcntl(l->null, F_DUPFD_CLOEXEC, ASIDE);
	for (i = 0; i < 3; i++)
		(void)dup2(null, i);
	if (program >= 0 && socket >= 0 && null >= 0 &&
	    dup2(socket, PARSER_SOCKET) >= 0 &&
	    syscall(SYS_close_range, PARSER_SOCKET + 1, ~0U,
		    CLOSE_RANGE_CLOEXEC) == 0 &&
	    setsid() >= 0)
		(void)syscall(SYS_execveat, program, "", argv, env,
			      AT_EMPTY_PATH);
	l->num = errno;
	_exit(1);
}

static pid_t clone_child(struct launch *l, int flags)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	sigset_t all, old;
	pid_t pid;

	if (stack == MAP_FAILED)
		return -1;
	l->num = 0;
	l->user = flags & CLONE_NEWUSER;
	/* A handler of guard's must not run in the child. */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &old);
	pid = clone(launch_child, stack + STACK,
		    CLONE_VM | CLONE_VFORK | SIGCHLD | flags, l);
	if (pid < 0)
		l->num = errno;
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	(void)munmap(stack, STACK);
	if (pid > 0 && l->num) {
		(void)child_wait(pid);
		pid = -1;
	}
	return pid;
}

int parser_open_program(void)
{
	int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);

	/* Without /proc: the path that this program was started by. */
	return fd >= 0 ? fd
		       : open((const char *)getauxval(AT_EXECFN),
			      O_PATH | O_CLOEXEC);
}

int parser_start(const char *word, pid_t *ret_pid, int *ret_fd, struct err *err)
{
	/* Root gets a pid namespace and becomes another user; in a container
	 * without that privilege, and as a plain user, a user namespace is
	 * needed for it. */
	static const int flags[] = {CLONE_NEWPID, CLONE_NEWUSER | CLONE_NEWPID,
				    0};
	auto_close int program = parser_open_program();
	auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	auto_close int own = -1, other = -1;
	const char *libraries = getenv("LD_LIBRARY_PATH");
	auto_free char *variable =
		libraries ? mem_printf("LD_LIBRARY_PATH=%s", libraries) : NULL;
	struct launch l = {.word = word,
			   .libraries = variable,
			   .program = program,
			   .null = null};
	int pair[2];
	pid_t pid = -1;
	size_t i;

	if (program < 0 || null < 0)
		return fail_errno(err, "start the parsing worker");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_errno(err, "create a socket to the parsing worker");
	own = pair[0];
	other = l.socket = pair[1];
	(void)snprintf(l.uids, sizeof(l.uids), "0 %u 1", geteuid());
	(void)snprintf(l.gids, sizeof(l.gids), "0 %u 1", getegid());
	for (i = geteuid() != 0; pid < 0 && i < ARRAY_SIZE(flags); i++)
		pid = clone_child(&l, flags[i]);
	if (pid < 0)
		return fail_num(err, l.num, "start the parsing worker");
	*ret_pid = pid;
	*ret_fd = TAKE_FD(own);
	return 0;
}

/* --- in the worker --- */

/*
 * An empty, read-only root. Only in a mount namespace of its own; a failure of
 * the later steps leaves a root from which no call of the list can open a file.
 */
static void empty_root(void)
{
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("guard", "/proc", "tmpfs",
		  MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k") < 0)
		return;
	if (chdir("/proc") == 0 && syscall(SYS_pivot_root, ".", ".") == 0)
		(void)umount2(".", MNT_DETACH);
	(void)!chdir("/");
}

/* Without a privilege, and where an id is not mapped, these calls fail. */
static int drop_ids(struct err *err)
{
	if (geteuid() == 0) {
		(void)setgroups(0, NULL);
		(void)!setresgid(NOBODY, NOBODY, NOBODY);
		(void)!setresuid(NOBODY, NOBODY, NOBODY);
	}
	if (lockdown_drop_all() < 0)
		return fail_errno(err, "drop all capabilities");
	return 0;
}

static void limit_parser(void)
{
	/* The address sanitizer reserves terabytes. */
#ifndef __SANITIZE_ADDRESS__
	(void)setrlimit(RLIMIT_AS,
			&(struct rlimit){PARSER_MEMORY, PARSER_MEMORY});
#endif
	(void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	/* Standard descriptors, the socket, two memfds. */
	(void)setrlimit(RLIMIT_NOFILE, &(struct rlimit){8, 8});
}

int parser_lock_down(struct err *err)
{
	AUTO(buf) struct buf program = {0};

	/* All but the socket: a library may have opened others. */
	if (syscall(SYS_close_range, PARSER_SOCKET + 1, ~0U, 0) < 0)
		return fail_errno(err, "close all descriptors");
	(void)unshare(CLONE_NEWNET);
	(void)unshare(CLONE_NEWIPC);
	empty_root();
	if (drop_ids(err) < 0)
		return -err->num;
	limit_parser();
	/* After the last change of credentials, which clears both. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return fail_errno(err, "close the parsing worker");
	if (landlock_deny_all(err) < 0)
		return -err->num;
#ifdef __SANITIZE_ADDRESS__
	return 0;
#else
	filter_make_parser(getpid(), &program);
	return filter_load(program.data, program.len, err);
#endif
}
