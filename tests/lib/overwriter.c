/*
 * Calls that overwrite a file, inside of a run, and the holder of leases on the
 * files of the run's layer, outside:
 *
 *	overwriter prepare		creates the files of the calls
 *	overwriter calls [NAME]		makes each call, or one, on a file of
 *its own in the current directory: prints "ready NAME", waits for a line, then
 *					prints NAME and errno
 *	overwriter alone		... without a wait
 *	overwriter hold UPPER CMD...	runs CMD, which executes `calls`, takes
 *					a lease on each ready file below the
 *					directory that matches UPPER, and prints
 *					each result with "kept" or "lost": the
 *					earlier content was or was not complete
 *					in the file some time after the break of
 *					the lease, which ends then. ON_BREAK: a
 *					command that takes this time
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- inside ---- */

static bool is_alone, is_preparing;
static const char *only;

/* Creates the file with a content of its own, and waits for its lease. Returns
 * false if the call is not to be made. */
static bool ready(const char *name)
{
	char line[64];
	int fd;

	if (only && strcmp(only, name) != 0)
		return false;
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (fd >= 0 && (dprintf(fd, "old %s\n", name) < 0 || close(fd) < 0))
		err(1, "%s", name);
	if (is_preparing)
		return false;
	if (is_alone)
		return true;
	(void)printf("ready %s\n", name);
	(void)fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		errx(1, "no holder");
	return true;
}

static void show(const char *name, long rc)
{
	(void)printf("done %s %d\n", name, rc < 0 ? errno : 0);
	(void)fflush(stdout);
	if (rc > 2)
		(void)close((int)rc);
}

static long open_how(int dir, const char *path, uint64_t flags,
		     uint64_t resolve)
{
	struct open_how how = {.flags = flags, .resolve = resolve};

	return syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

static int run(const char *command)
{
	int status = system(command);

	errno = WEXITSTATUS(status);
	return status ? -1 : 0;
}

/* Starts the program and waits for the exec. */
static pid_t start_program(char *path)
{
	char *const argv[] = {path, NULL};
	int executed[2], null = open("/dev/null", O_RDWR);
	char byte;
	pid_t pid;

	if (pipe2(executed, O_CLOEXEC) < 0)
		err(1, "pipe");
	pid = fork();
	if (pid == 0) {
		(void)dup2(null, 1);
		(void)execv(path, argv);
		_exit(errno);
	}
	(void)close(executed[1]);
	(void)!read(executed[0], &byte, 1);
	(void)close(executed[0]);
	return pid;
}

/* A program that is executed right after the call. */
static int executed_after(void)
{
	char path[] = "./program";
	int status;

	if (run("cp /bin/true program") < 0 || truncate("program", 1000000) < 0)
		return -1;
	(void)waitpid(start_program(path), &status, 0);
	errno = WEXITSTATUS(status);
	return status ? -1 : 0;
}

static int running_program(void)
{
	char path[] = "./running";
	int rc, num;
	pid_t pid;

	if (run("cp /bin/yes running") < 0)
		return -1;
	pid = start_program(path);
	rc = truncate(path, 0);
	num = errno;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	errno = num;
	return rc;
}

static void make_link(const char *text, const char *name)
{
	if (symlink(text, name) < 0 && errno != EEXIST)
		err(1, "%s", name);
}

static void make_calls(void)
{
	const int empty = O_NONBLOCK | O_WRONLY | O_TRUNC;
	char path[4096];
	int dir, fd;

#define CALL(name, call)                                                       \
	do {                                                                   \
		if (ready(name))                                               \
			show(name, call);                                      \
	} while (0)
	CALL("truncate", truncate("truncate", 0));
	CALL("truncate-longer", truncate("truncate-longer", 5000));
	if (!getcwd(path, sizeof(path) - 32))
		err(1, "getcwd");
	(void)strcat(path, "/truncate-absolute");
	CALL("truncate-absolute", truncate(path, 0));
	make_link("truncate-link", "link");
	CALL("truncate-link", truncate("link", 0));
	(void)strcpy(strrchr(path, '/'), "/link-target");
	make_link(path, "link-absolute");
	CALL("link-target", truncate("link-absolute", 0));
	(void)mkdir("sub", 0755);
	CALL("sub/truncate-below", truncate("./sub/../sub//truncate-below", 0));
	CALL("open-empty", syscall(SYS_openat, AT_FDCWD, "open-empty", empty));
#ifdef SYS_open
	CALL("open-rdwr",
	     syscall(SYS_open, "open-rdwr", O_RDWR | O_TRUNC | O_NONBLOCK));
#endif
	CALL("open-create", open("open-create", empty | O_CREAT, 0644));
	CALL("open-exclusive", open("open-exclusive", empty | O_EXCL));
	CALL("open-mode-3",
	     open("open-mode-3", O_ACCMODE | O_TRUNC | O_NONBLOCK));
	CALL("open-append",
	     open("open-append", O_WRONLY | O_APPEND | O_NONBLOCK));
	CALL("read-only-empty", open("read-only-empty", O_RDONLY | O_TRUNC));
	CALL("read-only-both",
	     open("read-only-both", O_RDONLY | O_TRUNC | O_NONBLOCK));
	dir = open("sub", O_PATH | O_DIRECTORY);
	CALL("sub/at", openat(dir, "at", empty));
	CALL("sub/up", openat(dir, "../sub/up", empty));
	CALL("open2", open_how(AT_FDCWD, "open2", empty, 0));
	CALL("open2-waits",
	     open_how(AT_FDCWD, "open2-waits", O_RDWR | O_TRUNC, 0));
	CALL("sub/open2-beneath",
	     open_how(dir, "open2-beneath", empty, RESOLVE_BENEATH));
	CALL("sub/open2-root",
	     open_how(dir, "/../open2-root", empty, RESOLVE_IN_ROOT));
	CALL("open2-no-links",
	     open_how(AT_FDCWD, "open2-no-links", empty, RESOLVE_NO_SYMLINKS));
	CALL("tar", run("mkdir -p pack && echo new >pack/tar && "
			"tar -cf pack.tar -C pack tar && "
			"tar -xf pack.tar --overwrite tar"));
	CALL("coreutils", run("truncate -s 1 coreutils"));
	/* Root of a namespace may write to it. */
	CALL("no-write-mode",
	     (chmod("no-write-mode", 0444), truncate("no-write-mode", 0)));
	/* Calls that wait in the kernel. */
	CALL("open-waits", open("open-waits", O_WRONLY | O_TRUNC));
	CALL("creat", creat("creat", 0644));
	CALL("ftruncate", ftruncate(open("ftruncate", O_RDWR), 0));
	if (only || is_preparing)
		return;
	/* No lease, but the same result. */
	show("executed-after", executed_after());
	(void)mkfifo("fifo", 0644);
	show("fifo-without-reader", open("fifo", O_WRONLY | O_NONBLOCK));
	fd = open("fifo", O_RDONLY | O_NONBLOCK);
	show("fifo-with-reader", open("fifo", O_WRONLY | O_NONBLOCK));
	show("fifo-truncate", truncate("fifo", 0));
	(void)close(fd);
	show("device", open("/dev/null", O_WRONLY | O_NONBLOCK | O_TRUNC));
	show("missing", truncate("missing", 0));
	show("missing-open", open("missing", O_WRONLY | O_NONBLOCK));
	show("created", open("created", empty | O_CREAT, 0644));
	show("created-exclusive",
	     open("exclusive", empty | O_CREAT | O_EXCL, 0644));
	show("exists", open("exclusive", empty | O_CREAT | O_EXCL, 0644));
	show("directory", truncate(".", 0));
	show("directory-open", open(".", O_WRONLY | O_NONBLOCK));
	make_link("loop", "loop");
	show("loop", truncate("loop", 0));
	show("no-follow", open("link", empty | O_NOFOLLOW));
	show("no-directory", open("truncate", empty | O_DIRECTORY));
	show("slash", open("truncate/", empty));
	show("negative", truncate("truncate", -1));
	show("unreadable-path", syscall(SYS_truncate, 1UL, 0L));
	show("unreadable-how", syscall(SYS_openat2, AT_FDCWD, "truncate", 1UL,
				       sizeof(struct open_how)));
	show("open2-short",
	     syscall(SYS_openat2, AT_FDCWD, "truncate",
		     &(struct open_how){.flags = (uint64_t)empty}, 8UL));
	show("open2-outside",
	     open_how(dir, "../truncate", empty, RESOLVE_BENEATH));
	show("empty-path", truncate("", 0));
	memset(path, 'a', sizeof(path));
	show("long-path", syscall(SYS_truncate, path, 0L));
	show("running", running_program());
	show("proc", open("/proc/self/comm", empty));
	show("tmp", open("/dev/shm/overwritten", empty | O_CREAT, 0644));
	(void)unlink("/dev/shm/overwritten");
}

/* ---- outside ---- */

/* Returns the file below the first match that has the name. */
static int take_lease(const char *upper, const char *name)
{
	char path[4096];
	glob_t found;
	size_t i;
	int fd = -1;

	if (glob(upper, 0, NULL, &found) != 0)
		errx(1, "%s: no match", upper);
	for (i = 0; fd < 0 && i < found.gl_pathc; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", found.gl_pathv[i],
			       name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	globfree(&found);
	if (fd < 0 || fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		err(1, "lease on %s", name);
	return fd;
}

static bool has_earlier_content(int fd, const char *name)
{
	char got[256] = "", wanted[256];

	(void)snprintf(wanted, sizeof(wanted), "old %s\n", name);
	return pread(fd, got, sizeof(got) - 1, 0) > 0 &&
	       strcmp(got, wanted) == 0;
}

/* Returns the fate of the content of the file with the lease. A writer that
 * does not wait has time to destroy it. */
static const char *end_lease(int fd, const char *name)
{
	const char *command = getenv("ON_BREAK");

	if (!command || system(command) < 0)
		(void)usleep(20000);
	return has_earlier_content(fd, name) ? " kept" : " lost";
}

static void hold(const char *upper, char **argv)
{
	int to[2], from[2], fd = -1, number, status;
	char line[256], name[128];
	const char *fate = "";
	struct signalfd_siginfo info;
	struct pollfd fds[2];
	FILE *lines;
	sigset_t io;
	pid_t pid;

	(void)sigemptyset(&io);
	(void)sigaddset(&io, SIGIO);
	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		err(1, "pipe");
	pid = fork();
	if (pid == 0) {
		(void)dup2(to[0], 0);
		(void)dup2(from[1], 1);
		(void)execvp(*argv, argv);
		_exit(127);
	}
	(void)close(to[0]);
	(void)close(from[1]);
	(void)sigprocmask(SIG_BLOCK, &io, NULL);
	fds[0] = (struct pollfd){signalfd(-1, &io, SFD_CLOEXEC), POLLIN, 0};
	fds[1] = (struct pollfd){from[0], POLLIN, 0};
	lines = fdopen(from[0], "r");
	(void)setvbuf(lines, NULL, _IONBF, 0);
	for (;;) {
		(void)poll(fds, 2, -1);
		if (fds[0].revents) {
			(void)!read(fds[0].fd, &info, sizeof(info));
			fate = end_lease(fd, name);
			(void)close(fd);
			fd = -1;
			continue;
		}
		if (!fgets(line, sizeof(line), lines))
			break;
		if (sscanf(line, "ready %127s", name) == 1) {
			fd = take_lease(upper, name);
			fate = " unbroken";
			(void)!write(to[1], "\n", 1);
		} else if (sscanf(line, "done %127s %d", name, &number) == 2) {
			(void)printf("%s %d%s\n", name, number, fate);
			if (fd >= 0)
				(void)close(fd);
			fd = -1;
			fate = "";
		}
	}
	(void)waitpid(pid, &status, 0);
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	is_alone = strcmp(mode, "alone") == 0;
	is_preparing = strcmp(mode, "prepare") == 0;
	only = argc > 2 ? argv[2] : NULL;
	if (strcmp(mode, "hold") == 0 && argc > 3)
		hold(argv[2], argv + 3);
	if (!is_alone && !is_preparing && strcmp(mode, "calls") != 0)
		errx(2, "usage: overwriter calls|alone|prepare|hold ...");
	make_calls();
	return 0;
}
