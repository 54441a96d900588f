#include "guard/sandbox/inherited_state.h"
#include "guard/sandbox/filter.h"
#include "guard/sandbox/namespaces_private.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"

/* Opens a terminal from the run's own devpts. On the caller's terminal a
 * process that outlives the command could read input that is typed after the
 * run. */
int command_terminal(struct setup *s, struct err *err)
{
	auto_close int master = -1, slave = -1;
	int unlock = 0;

	if (!s->replace[0] && !s->replace[1] && !s->replace[2])
		return 0;
	master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) < 0)
		return fail_errno(err, "create the run's terminal");
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return fail_errno(err, "open the run's terminal");
	if (ioctl(slave, TIOCSCTTY, 0) < 0)
		return fail_errno(err, "take the run's terminal");
	if (s->policy->has_user &&
	    fchown(slave, s->policy->user, (gid_t)-1) < 0)
		return fail_errno(err, "send the run's terminal");
	s->master_fd = TAKE_FD(master);
	s->slave_fd = TAKE_FD(slave);
	return 0;
}

/* The length of the topmost directory in path without search permission; 0:
 * none. */
static size_t closed_dir_len(const char *path)
{
	size_t len = 0;

	for (;;) {
		auto_free char *above = NULL;

		len += strspn(path + len, "/");
		if (!path[len + strcspn(path + len, "/")])
			return 0;
		len += strcspn(path + len, "/");
		above = mem_strndup(path, len);
		if (faccessat(AT_FDCWD, above, X_OK, AT_EACCESS) < 0)
			return len;
	}
}

int command_explain_closed(const struct setup *s, const char *path, int num,
			   struct err *err)
{
	auto_free char *below = mem_printf("%s/.", path);
	size_t len = *path == '/' ? closed_dir_len(path) : 0;
	auto_free char *by = s->policy->has_user
				     ? mem_printf("user %u of --user",
						  (unsigned int)s->policy->user)
				     : mem_strdup("you");
	auto_free char *closed = NULL;
	struct stat st;

	if (!len && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		len = *path == '/' ? closed_dir_len(below) : 0;
	if (!len && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	    access(path, X_OK) < 0)
		return fail(err, num, "%s may not execute it (chmod)", by);
	if (!len && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return fail(err, num, "it is a directory");
	if (!len)
		return fail(err, num,
			    "its interpreter has no execute permission, or its "
			    "file system is mounted noexec");
	closed = mem_strndup(path, len);
	return fail(err, num,
		    "%s may not enter %s: change its mode or group (chmod, "
		    "chgrp), or use another directory",
		    by, text_quote(closed));
}

/* Runs with the permissions of the command. */
int command_enter_cwd(const struct setup *s, struct err *err)
{
	const char *cwd = s->policy->cwd;
	auto_free char *now = NULL;

	if (chdir(cwd) < 0 && errno == EACCES) {
		(void)command_explain_closed(s, cwd, EACCES, err);
		return err_context(err, "enter %s inside the run",
				   text_quote(cwd));
	}
	if (chdir(cwd) < 0)
		return fail_errno(err, "enter %s inside the run",
				  text_quote(cwd));
	now = getcwd(NULL, 0);
	if (!now || now[0] != '/')
		return fail(err, EXDEV, "%s does not exist inside the run",
			    text_quote(cwd));
	return 0;
}

/* The command's process reports here until its exec. */
struct exec_result {
	const struct setup *s;
	volatile int num; /* errno of the exec; 0: executed */
	volatile int listener;
};

/* execvp(3) puts a script's arguments on the stack. Only address space: unused
 * pages take no memory. */
#define EXEC_STACK ((size_t)8 << 20)

/* execvp(3) returns EACCES if one directory of PATH may not be searched, even
 * when the name exists in none of them. */
static bool is_in_path(const char *name)
{
	const char *at = getenv("PATH");
	struct stat st;

	for (; at && *at; at += *at == ':') {
		size_t len = strcspn(at, ":");
		auto_free char *path =
			mem_printf("%.*s/%s", (int)len, at, name);

		if (stat(path, &st) == 0)
			return true;
		at += len;
	}
	return false;
}

/* Returns only if the exec fails. */
static int exec_command(void *arg)
{
	struct exec_result *b = arg;
	const struct setup *s = b->s;
	int num;

	(void)setpgid(0, 0);
	/* In the background of a pipeline the command is stopped when it
	 * reads. */
	if (s->slave_fd >= 0 && !s->pipeline)
		(void)tcsetpgrp(s->slave_fd, getpid());
	inherited_state_restore(&s->inherited_state);
	environ = (char **)(uintptr_t)s->policy->envp;
	b->listener = filter_load_notifier(s->filters->notifier.data,
					   s->filters->notifier.len);
	if (s->program_fd >= 0)
		(void)execveat(s->program_fd, "", s->policy->argv, environ,
			       AT_EMPTY_PATH);
	else
		(void)execvp(s->policy->argv[0], s->policy->argv);
	num = errno;
	if (num == EACCES && !strchr(s->policy->argv[0], '/') &&
	    !is_in_path(s->policy->argv[0]))
		num = ENOENT;
	b->num = num;
	/* Status 0: with any other the seccomp filter would notify pid 1, which
	 * waits for this process. */
	_exit(0);
}

/* Starts the command as vfork(2) does: pid 1 has no other work until the exec,
 * and a copy of its memory takes longer than all other steps. The shared
 * descriptor table gives pid 1 the listener for renames. */
int command_start(const struct setup *s, pid_t *ret, int *ret_listener)
{
	struct exec_result b = {.s = s, .listener = -1};
	char *stack = mmap(
		NULL, EXEC_STACK, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	pid_t pid;

	if (stack == MAP_FAILED)
		return errno;
	pid = clone(exec_command, stack + EXEC_STACK,
		    CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, &b);
	if (pid < 0)
		b.num = errno;
	(void)munmap(stack, EXEC_STACK);
	*ret_listener = b.listener;
	*ret = pid > 0 ? pid : 0;
	if (pid > 0)
		(void)setpgid(pid, pid);
	return b.num;
}
