/*
 * Runs a command up to the N-th of the system calls that change files, and
 * there kills the command, fails the call, or cuts the power.
 *
 *	stopat [OPTIONS] -- CMD ARGS
 *
 *	--count FILE	writes the number of such calls and the call that was
 *			hit; calls after a failed one do not count
 *	--at N		the N-th is hit (from 1; 0: none, only counted)
 *	--error NAME	it fails (ENOSPC, EIO, EROFS, EDQUOT, EINTR, ESTALE...)
 *	--on		... and so do all such calls after it
 *	--taking	only calls that need disk space are counted
 *	--reads		opens for reading count as well
 *	--every		any call that can fail counts
 *	--only NAME	only calls with NAME in their name are counted
 *	--later		a call is failed after it was done, and does not count
 *if it fails with that error by itself; for calls that change nothing
 *	--since NAME	... after the first call with NAME in its name below DIR
 *	--below DIR	only calls on descriptors below DIR are counted
 *	--cut DIR	the file system of DIR is shut down there without its
 *			journal: unsynced data is lost (ext4, xfs; root), and
 *			the command is killed
 *
 *	--swap A B	another process exchanges these two names there
 *	--interrupt	the user types Ctrl-C there
 *
 * With none of --error, --swap and --interrupt the command and all its threads
 * and children are killed before the call. Calls of all of them are counted
 * together. A filter stops them at the calls that can count, and nowhere else.
 *
 * Status: the command's own; 137 when it was killed, 99 when this program
 * failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <elf.h>
#include <linux/filter.h>
#include <linux/ptrace.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

/* linux/fs.h has the constant since 6.12; ext4 and xfs know it for longer. */
#define SHUTDOWN _IOR('X', 125, uint32_t)
#define SHUTDOWN_NOLOGFLUSH 2u

enum { STATUS_FAILED = 99, STATUS_KILLED = 137, TRACED_MAX = 256 };

struct job {
	const char *count_file, *below, *cut, *only, *since, *swap[2];
	unsigned long at;
	int error;
	bool on, reads, taking, every, interrupt, later;
	unsigned long count;
	char hit[2 * PATH_MAX]; /* the call, its descriptor, its first name */
	pid_t traced[TRACED_MAX]; /* every thread */
	const struct call *doing[TRACED_MAX]; /* --later: the call is made */
	struct __ptrace_syscall_info asked[TRACED_MAX]; /* ... with these */
	size_t traced_count;
	pid_t first;
	int status;
	bool over; /* nothing is left to do */
};

static void die(const char *what) __attribute__((noreturn));
static void die(const char *what)
{
	(void)fprintf(stderr, "stopat: %s: %s\n", what, strerror(errno));
	exit(STATUS_FAILED);
}

/* --- the counted calls --- */

/* The argument that is a descriptor, or -1: the call has none. */
struct call {
	long nr;
	int fd_argument;
	const char *name;
};

#define CALL(name, fd)                                                         \
	{                                                                      \
		SYS_##name, fd, #name                                          \
	}
static const struct call calls[] = {
	CALL(write, 0),		  CALL(pwrite64, 0),
	CALL(writev, 0),	  CALL(pwritev, 0),
	CALL(pwritev2, 0),	  CALL(ftruncate, 0),
	CALL(fallocate, 0),	  CALL(openat, 0),
	CALL(openat2, 0),	  CALL(mkdirat, 0),
	CALL(mknodat, 0),	  CALL(symlinkat, 1),
	CALL(linkat, 2),	  CALL(unlinkat, 0),
	CALL(renameat, 2),	  CALL(renameat2, 2),
	CALL(fchmod, 0),	  CALL(fchmodat, 0),
	CALL(fchown, 0),	  CALL(fchownat, 0),
	CALL(utimensat, 0),	  CALL(setxattr, -1),
	CALL(lsetxattr, -1),	  CALL(fsetxattr, 0),
	CALL(removexattr, -1),	  CALL(fremovexattr, 0),
	CALL(fsync, 0),		  CALL(fdatasync, 0),
	CALL(syncfs, 0),	  CALL(copy_file_range, 2),
	CALL(io_uring_enter, -1),
#ifdef SYS_rename
	CALL(rename, -1),	  CALL(mkdir, -1),
	CALL(unlink, -1),	  CALL(rmdir, -1),
	CALL(chmod, -1),	  CALL(symlink, -1),
	CALL(link, -1),		  CALL(open, -1),
#endif
};

/* Calls that only read, and calls that create processes or wait for them. */
static const struct call others[] = {
	CALL(read, 0),
	CALL(pread64, 0),
	CALL(lseek, 0),
	CALL(getdents64, 0),
	CALL(mmap, 4),
	CALL(fstat, 0),
	CALL(newfstatat, 0),
	CALL(statx, 0),
	CALL(statfs, -1),
	CALL(fstatfs, 0),
	CALL(readlinkat, 0),
	CALL(faccessat, 0),
	CALL(faccessat2, 0),
	CALL(getxattr, -1),
	CALL(lgetxattr, -1),
	CALL(fgetxattr, 0),
	CALL(listxattr, -1),
	CALL(llistxattr, -1),
	CALL(flistxattr, 0),
	CALL(ioctl, 0),
	CALL(fcntl, 0),
	CALL(flock, 0),
	CALL(fadvise64, 0),
	CALL(pipe2, -1),
	CALL(dup3, 0),
	CALL(socket, -1),
	CALL(socketpair, -1),
	CALL(clone, -1),
	CALL(clone3, -1),
	CALL(wait4, -1),
	CALL(kill, -1),
	CALL(setsid, -1),
	CALL(fchdir, 0),
	CALL(chdir, -1),
	CALL(getcwd, -1),
	CALL(name_to_handle_at, 0),
	CALL(io_uring_setup, -1),
	CALL(io_uring_register, -1),
#ifdef SYS_rename
	CALL(access, -1),
	CALL(stat, -1),
	CALL(lstat, -1),
	CALL(readlink, -1),
	CALL(poll, -1),
	CALL(fork, -1),
	CALL(vfork, -1),
#endif
	CALL(ppoll, -1),
};

static const struct call *find_in(const struct call *list, size_t count,
				  uint64_t nr)
{
	size_t i;

	for (i = 0; i < count; i++)
		if ((uint64_t)list[i].nr == nr)
			return &list[i];
	return NULL;
}

static const struct call *find_call(uint64_t nr, bool every)
{
	const struct call *c =
		find_in(calls, sizeof(calls) / sizeof(calls[0]), nr);

	return c || !every ? c
			   : find_in(others, sizeof(others) / sizeof(others[0]),
				     nr);
}
/* Calls that a full disk refuses. */
static bool takes_room(uint64_t nr)
{
	static const long taking[] = {
		SYS_write,     SYS_pwrite64,  SYS_writev,	   SYS_pwritev,
		SYS_pwritev2,  SYS_fallocate, SYS_openat,	   SYS_mkdirat,
		SYS_mknodat,   SYS_symlinkat, SYS_linkat,	   SYS_setxattr,
		SYS_lsetxattr, SYS_fsetxattr, SYS_copy_file_range,
	};
	size_t i;

	for (i = 0; i < sizeof(taking) / sizeof(taking[0]); i++)
		if ((uint64_t)taking[i] == nr)
			return true;
	return false;
}

static bool opens_only(pid_t pid, const struct __ptrace_syscall_info *info)
{
	const uint64_t *a = info->entry.args;
	uint64_t flags = 0;

	if (info->entry.nr == SYS_openat)
		flags = a[2];
#ifdef SYS_open
	else if (info->entry.nr == SYS_open)
		flags = a[1];
#endif
	else if (info->entry.nr == SYS_openat2) {
		struct iovec to = {&flags, sizeof(flags)};
		struct iovec from = {(void *)(uintptr_t)a[2], sizeof(flags)};

		if (process_vm_readv(pid, &to, 1, &from, 1, 0) < 0)
			return false;
	} else {
		return false;
	}
	/* O_TMPFILE has O_DIRECTORY in it. */
	return !(flags & (O_CREAT | O_TRUNC)) &&
	       (flags & O_TMPFILE) != O_TMPFILE;
}

static bool is_below(const struct job *j, pid_t pid, const struct call *c,
		     const struct __ptrace_syscall_info *info)
{
	size_t len = strlen(j->below);
	char link[64], path[PATH_MAX];
	ssize_t n;
	int fd;

	if (c->fd_argument < 0)
		return false;
	fd = (int)info->entry.args[c->fd_argument];
	(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", pid, fd);
	if (fd == AT_FDCWD)
		(void)snprintf(link, sizeof(link), "/proc/%d/cwd", pid);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return false;
	path[n] = '\0';
	return strncmp(path, j->below, len) == 0 &&
	       (path[len] == '/' || !path[len]);
}

static void tell(struct job *j, pid_t pid, const struct call *c,
		 const struct __ptrace_syscall_info *info)
{
	char link[64], path[PATH_MAX] = "", name[64] = "";
	struct iovec to = {name, sizeof(name) - 1}, from = to;
	ssize_t n = 0;

	if (c->fd_argument >= 0) {
		(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", pid,
			       (int)info->entry.args[c->fd_argument]);
		n = readlink(link, path, sizeof(path) - 1);
		from.iov_base =
			(void *)(uintptr_t)info->entry.args[c->fd_argument + 1];
		(void)process_vm_readv(pid, &to, 1, &from, 1, 0);
	}
	path[n < 0 ? 0 : n] = '\0';
	(void)snprintf(j->hit, sizeof(j->hit), "%s %s %s", c->name, path, name);
	for (n = 0; j->hit[n]; n++)
		if (j->hit[n] < ' ' || j->hit[n] > '~')
			j->hit[n] = '?';
}

/* Output on the terminal changes no file. */
static bool to_screen(const struct __ptrace_syscall_info *info)
{
	return (info->entry.nr == SYS_write || info->entry.nr == SYS_writev) &&
	       (info->entry.args[0] == 1 || info->entry.args[0] == 2);
}

static bool counts(struct job *j, pid_t pid, const struct call *c,
		   const struct __ptrace_syscall_info *info)
{
	if (!c || (j->taking && !takes_room(info->entry.nr)) ||
	    (!j->reads && !j->every && opens_only(pid, info)) ||
	    to_screen(info))
		return false;
	/* The ring's own answer would be lost, not made to fail. */
	if (j->error && info->entry.nr == SYS_io_uring_enter)
		return false;
	if (j->below && !is_below(j, pid, c, info))
		return false;
	if (j->since) {
		if (strstr(c->name, j->since))
			j->since = NULL;
		return false;
	}
	return !j->only || strstr(c->name, j->only);
}

/* --- the action at the call --- */

static void kill_all(struct job *j)
{
	size_t i;

	for (i = 0; i < j->traced_count; i++)
		(void)kill(j->traced[i], SIGKILL);
}

static void cut_power(const struct job *j)
{
	uint32_t how = SHUTDOWN_NOLOGFLUSH;
	int fd = open(j->cut, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, SHUTDOWN, &how) < 0)
		die(j->cut);
	(void)close(fd);
}

#if defined(__x86_64__)
#define SET_CALL(regs, value) ((regs).orig_rax = (value))
#define SET_RESULT(regs, value) ((regs).rax = (value))
#elif defined(__aarch64__)
#define SET_CALL(regs, value) ((void)(regs))
#define SET_RESULT(regs, value) ((regs).regs[0] = (value))
#define OWN_CALL_SET 1
#else
#error "how does a tracer change a call here?"
#endif

/* The stopped call is not made, if it was not yet, and returns value. */
static void set_result(pid_t pid, bool made, long value)
{
	struct user_regs_struct regs;
	struct iovec io = {&regs, sizeof(regs)};

#ifdef OWN_CALL_SET
	int nr = -1;
	struct iovec call = {&nr, sizeof(nr)};

	if (!made)
		(void)ptrace(PTRACE_SETREGSET, pid, 0x404, &call);
#endif
	if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &io) < 0)
		return;
	if (!made)
		SET_CALL(regs, -1UL);
	SET_RESULT(regs, (unsigned long)value);
	(void)ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &io);
}

static size_t slot_of(struct job *j, pid_t pid)
{
	size_t i;

	for (i = 0; i < j->traced_count; i++)
		if (j->traced[i] == pid)
			return i;
	if (j->traced_count == TRACED_MAX) {
		errno = E2BIG;
		die("threads");
	}
	j->doing[i] = NULL;
	j->traced[j->traced_count++] = pid;
	return i;
}

/* How a stopped process goes on. */
enum next { NEXT_STOP = PTRACE_CONT, NEXT_RESULT = PTRACE_SYSCALL, NEXT_NONE };

/* A call that counts, before it is made, or with --later after it. */
static enum next at_call(struct job *j, pid_t pid, const struct call *c,
			 const struct __ptrace_syscall_info *info)
{
	j->count++;
	if (!j->at || (j->on ? j->count < j->at : j->count != j->at))
		return NEXT_STOP;
	if (!j->hit[0])
		tell(j, pid, c, info);
	if (j->error) {
		set_result(pid, j->later, -j->error);
		j->over = !j->on;
		return NEXT_STOP;
	}
	if (j->swap[1]) {
		/* A missing name cannot be exchanged. */
		(void)renameat2(AT_FDCWD, j->swap[0], AT_FDCWD, j->swap[1],
				RENAME_EXCHANGE);
		return NEXT_STOP;
	}
	if (j->interrupt) {
		(void)kill(j->first, SIGINT);
		return NEXT_STOP;
	}
	/* A process that continued could see a call succeed that has nothing
	 * left to do, such as fsync of a directory of xfs, and report success.
	 */
	if (j->cut)
		cut_power(j);
	kill_all(j);
	return NEXT_NONE;
}

static enum next stopped(struct job *j, pid_t pid)
{
	struct __ptrace_syscall_info info = {0};
	size_t slot = slot_of(j, pid);
	const struct call *c;

	if (j->over ||
	    ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) < 0)
		return NEXT_STOP;
	if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
		c = j->doing[slot];
		j->doing[slot] = NULL;
		if (!c || info.exit.rval == -j->error)
			return NEXT_STOP;
		info = j->asked[slot];
		return at_call(j, pid, c, &info);
	}
	if (info.op != PTRACE_SYSCALL_INFO_SECCOMP)
		return NEXT_STOP;
	c = find_call(info.entry.nr, j->every);
	if (!counts(j, pid, c, &info))
		return NEXT_STOP;
	if (!j->later)
		return at_call(j, pid, c, &info);
	j->doing[slot] = c;
	j->asked[slot] = info;
	return NEXT_RESULT;
}

static void follow(struct job *j)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		enum next next = NEXT_STOP;
		int signal = 0;

		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			if (pid == j->first)
				j->status = WIFEXITED(status)
						    ? WEXITSTATUS(status)
						    : 128 + WTERMSIG(status);
			continue;
		}
		(void)slot_of(j, pid);
		if (WSTOPSIG(status) == (SIGTRAP | 0x80) ||
		    status >> 16 == PTRACE_EVENT_SECCOMP) {
			next = stopped(j, pid);
			if (next == NEXT_NONE)
				continue;
		} else if (!(status >> 16) && WSTOPSIG(status) != SIGSTOP &&
			   WSTOPSIG(status) != SIGTRAP) {
			signal = WSTOPSIG(status);
		}
		(void)ptrace((enum __ptrace_request)next, pid, 0, signal);
	}
}

/* Whether a call with this name and number can count. */
static bool can_count(const struct job *j, const struct call *c)
{
	if (j->since && strstr(c->name, j->since))
		return true;
	return (!j->only || strstr(c->name, j->only)) &&
	       (!j->taking || takes_room((uint64_t)c->nr));
}

/* Stops this process and its children at calls that can count, and at no other:
 * each stop costs two changes of the process. */
static void stop_at_calls(const struct job *j)
{
	const size_t counts[] = {sizeof(calls) / sizeof(calls[0]),
				 sizeof(others) / sizeof(others[0])};
	const struct call *const lists[] = {calls, others};
	struct sock_filter
		f[2 * (sizeof(calls) + sizeof(others)) / sizeof(calls[0]) + 2];
	struct sock_fprog program = {.filter = f};
	size_t n = 0, i, l;

	f[n++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (l = 0; l < (j->every ? 2 : 1); l++)
		for (i = 0; i < counts[l]; i++) {
			if (!can_count(j, &lists[l][i]))
				continue;
			f[n++] = (struct sock_filter)BPF_JUMP(
				BPF_JMP | BPF_JEQ | BPF_K,
				(uint32_t)lists[l][i].nr, 0, 1);
			f[n++] = (struct sock_filter)BPF_STMT(
				BPF_RET | BPF_K, SECCOMP_RET_TRACE);
		}
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
					      SECCOMP_RET_ALLOW);
	program.len = (unsigned short)n;
	/* A process without privileges gives up those of setuid programs. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	     prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0))
		die("filter");
}

static int begin(struct job *j, char **argv)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL |
			     PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
			     PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC |
			     PTRACE_O_TRACESECCOMP;
	int status;

	j->first = fork();
	if (j->first < 0)
		die("fork");
	if (!j->first) {
		(void)ptrace(PTRACE_TRACEME, 0, 0, 0);
		(void)raise(SIGSTOP);
		stop_at_calls(j);
		(void)execvp(argv[0], argv);
		die(argv[0]);
	}
	if (waitpid(j->first, &status, __WALL) < 0 || !WIFSTOPPED(status))
		die("wait");
	if (ptrace(PTRACE_SETOPTIONS, j->first, 0, options) < 0 ||
	    ptrace(PTRACE_CONT, j->first, 0, 0) < 0)
		die("trace");
	follow(j);
	return j->status;
}

static int error_number(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} names[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},	     {"EROFS", EROFS},
		     {"EDQUOT", EDQUOT}, {"EINTR", EINTR},   {"EAGAIN", EAGAIN},
		     {"EBUSY", EBUSY},	 {"EACCES", EACCES}, {"ENOENT", ENOENT},
		     {"ENOMEM", ENOMEM}, {"ESTALE", ESTALE}, {"EMFILE", EMFILE},
		     {"EPERM", EPERM},	 {"ENFILE", ENFILE}};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].number;
	errno = EINVAL;
	die(name);
}

static bool set_flag(struct job *j, const char *option)
{
	if (strcmp(option, "--on") == 0)
		j->on = true;
	else if (strcmp(option, "--reads") == 0)
		j->reads = true;
	else if (strcmp(option, "--taking") == 0)
		j->taking = true;
	else if (strcmp(option, "--every") == 0)
		j->every = true;
	else if (strcmp(option, "--later") == 0)
		j->later = true;
	else if (strcmp(option, "--interrupt") == 0)
		j->interrupt = true;
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	struct job j = {.status = STATUS_FAILED};
	int i, status;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const char *option = argv[i];

		if (set_flag(&j, option))
			continue;
		if (++i >= argc)
			break;
		if (strcmp(option, "--swap") == 0 && i + 1 < argc) {
			j.swap[0] = argv[i];
			j.swap[1] = argv[++i];
			continue;
		}
		if (strcmp(option, "--count") == 0)
			j.count_file = argv[i];
		else if (strcmp(option, "--at") == 0)
			j.at = strtoul(argv[i], NULL, 10);
		else if (strcmp(option, "--error") == 0)
			j.error = error_number(argv[i]);
		else if (strcmp(option, "--only") == 0)
			j.only = argv[i];
		else if (strcmp(option, "--since") == 0)
			j.since = argv[i];
		else if (strcmp(option, "--below") == 0)
			j.below = argv[i];
		else if (strcmp(option, "--cut") == 0)
			j.cut = argv[i];
		else
			break;
	}
	if (i >= argc || strcmp(argv[i], "--") != 0 || !argv[i + 1]) {
		(void)fprintf(stderr, "usage: stopat [OPTIONS] -- CMD ARGS\n");
		return STATUS_FAILED;
	}
	status = begin(&j, argv + i + 1);
	if (j.count_file) {
		FILE *f = fopen(j.count_file, "we");

		if (!f || fprintf(f, "%lu %s\n", j.count, j.hit) < 0 ||
		    fclose(f) < 0)
			die(j.count_file);
	}
	return status;
}
