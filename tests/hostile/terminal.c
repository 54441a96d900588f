/*
 * Attacks on the caller's terminal. This program makes a terminal, starts
 * `guard run` or the bare attack on it, and inspects the output at the other
 * side.
 *
 *	PROGRAM --on-terminal CMD ARGS	CMD on a new terminal; prints the rest
 *					of its input queue, the modes that are
 *					left on, and its name: "typed: TEXT",
 *					"modes: ...", "device: PATH"
 */
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>

#include "tests/hostile/attack.h"

static int sti(void)
{
	return verdict(ioctl(0, TIOCSTI, "x"), "TIOCSTI");
}

static int sti_high(void)
{
	return verdict(syscall(SYS_ioctl, 0, 1UL << 32 | TIOCSTI, "x"),
		       "TIOCSTI with high bits");
}

static int discipline(void)
{
	int n = 21; /* n_gsm; a missing module gives another error than EPERM */

	if (ioctl(0, TIOCSETD, &n) < 0 && errno == EPERM)
		return verdict(-1, "TIOCSETD");
	return tell(WORKED, "TIOCSETD reached the kernel");
}

static int selection(void)
{
	char code = 6;

	if (ioctl(0, TIOCLINUX, &code) < 0 && errno == EPERM)
		return verdict(-1, "TIOCLINUX");
	return tell(WORKED, "TIOCLINUX reached the kernel");
}

static int console(void)
{
	/* On a descriptor that is no terminal the kernel gives its own error.
	 */
	if (ioctl(1000, TIOCCONS) < 0 && errno == EPERM)
		return verdict(-1, "TIOCCONS");
	return tell(WORKED, "TIOCCONS reached the kernel");
}

/* Reads input that the user types after the end. */
static int linger(void)
{
	char text[16];
	ssize_t n;

	if (fork() > 0)
		return tell(WORKED, "left");
	(void)setsid();
	n = read(0, text, sizeof(text));
	if (n > 0) {
		int fd = open("/srv/service/heard",
			      O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		(void)!write(fd, text, (size_t)n);
	}
	_exit(0);
}

static int write_other(void)
{
	const char *path = getenv("HOSTILE_TTY");
	int fd = path ? open(path, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;

	if (fd < 0)
		return verdict(-1, path ? path : "no name");
	/* Inside, /dev/pts/N is the run's own terminal: its output stays there.
	 */
	return verdict(ioctl(fd, TIOCSTI, "y"), path);
}

static const struct attack table[] = {
	{"P57", "type at the terminal (TIOCSTI)", "filter, own terminal",
	 PROOF_CLAIM, .options = "TTY", .play = sti},
	{"P58", "the same, high bits set", "filter on the low bits",
	 PROOF_CLAIM, .options = "TTY", .play = sti_high},
	{"P59", "TIOCSETD", "filter", PROOF_CLAIM, .options = "TTY",
	 .play = discipline},
	{"P59l", "TIOCLINUX", "filter", PROOF_CLAIM, .options = "TTY",
	 .play = selection},
	{"P59c", "TIOCCONS", "filter", PROOF_CLAIM, .options = "TTY",
	 .play = console},
	{"P60", "read what is typed after the run",
	 "own terminal, PID namespace", PROOF_HOST, .options = "TTY",
	 .play = linger},
	{"P61", "answers of the terminal are typed at the shell",
	 "drained at the end", PROOF_SECRET, .options = "TTY",
	 .shell = "stty raw -echo; printf '\\033[5n'; sleep 0.2"},
	{"P62", "leave the terminal in another mode", "restored at the end",
	 PROOF_SECRET, .options = "TTY",
	 .shell = "stty -echo raw; printf '\\033[?1049h\\033[?25l"
		  "\\033[?1000h\\033[?2004h\\033(0'"},
	{"P63", "type at another terminal", "own devpts, filter", PROOF_CLAIM,
	 .options = "TTY", .play = write_other},
	{0},
};

/* ---- the terminal ---- */

/* The size of the kernel's c_cc; the C library's is larger. */
#define KERNEL_CONTROLS 19

static int open_terminal(char *name, size_t len)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 ||
	    ptsname_r(master, name, len) != 0)
		exit(99);
	return master;
}

/* A session leader like a shell: it stays with the terminal after the command's
 * end. The command's status comes through the pipe. */
static void lead(pid_t command, int status_fd)
{
	int status = 99;

	(void)waitpid(command, &status, 0);
	(void)!write(status_fd, &status, sizeof(status));
	(void)pause();
	_exit(0);
}

static pid_t start(const char *name, char **argv, int status_fd)
{
	pid_t pid = fork();
	int fd, i;

	if (pid != 0)
		return pid;
	(void)setsid();
	fd = open(name, O_RDWR);
	(void)ioctl(fd, TIOCSCTTY, 0);
	(void)signal(SIGTTOU, SIG_IGN);
	pid = fork();
	if (pid != 0) {
		(void)setpgid(pid, pid);
		(void)tcsetpgrp(fd, pid);
		lead(pid, status_fd);
	}
	(void)setpgid(0, 0);
	(void)tcsetpgrp(fd, getpid());
	(void)signal(SIGTTOU, SIG_DFL);
	(void)setenv("HOSTILE_TTY", name, 1);
	for (i = 0; i < 3; i++)
		(void)dup2(fd, i);
	(void)execvp(argv[0], argv);
	_exit(127);
}

/* The modes that a terminal would have after this output. */
static void watch(const char *text, ssize_t len, int master, char *modes)
{
	static const char *const names[] = {"\033[?1049", "\033[?25",
					    "\033[?1000", "\033[?2004"};
	/* A mode may appear twice in the output: the last one counts. */
	static char all[1 << 16];
	static size_t used;
	size_t i;

	if (used + (size_t)len >= sizeof(all))
		return;
	memcpy(all + used, text, (size_t)len);
	if (memmem(all + used, (size_t)len, "\033[5n", 4))
		(void)!write(master, "\033[0n", 4);
	used += (size_t)len;
	for (i = 0; i < 4; i++) {
		const char *at = all, *hit;

		while ((hit = memmem(at, used - (size_t)(at - all), names[i],
				     strlen(names[i])))) {
			at = hit + strlen(names[i]);
			modes[i] = *at;
		}
	}
}

static int on_terminal(char **argv)
{
	struct termios before, after;
	char name[64], modes[5] = "lhll", text[4096];
	int master = open_terminal(name, sizeof(name));
	int slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC), status = 0;
	int waiting = 0, changed, up[2];
	pid_t pid;

	(void)alarm(30);
	(void)tcgetattr(slave, &before);
	if (pipe2(up, O_CLOEXEC | O_NONBLOCK) < 0)
		return 99;
	pid = start(name, argv, up[1]);
	for (;;) {
		struct pollfd p = {.fd = master, .events = POLLIN};
		int got = poll(&p, 1, 50);

		if (got > 0) {
			ssize_t n = read(master, text, sizeof(text));

			if (n > 0) {
				watch(text, n, master, modes);
				(void)!write(1, text, (size_t)n);
			}
			continue;
		}
		if (read(up[0], &status, sizeof(status)) > 0)
			break;
	}
	(void)tcgetattr(slave, &after);
	changed = before.c_iflag != after.c_iflag ||
		  before.c_oflag != after.c_oflag ||
		  before.c_lflag != after.c_lflag ||
		  memcmp(before.c_cc, after.c_cc, KERNEL_CONTROLS) != 0;
	(void)ioctl(slave, FIONREAD, &waiting);
	if (after.c_lflag & ICANON) {
		/* Input without the end of its line is not counted. */
		after.c_lflag &= ~(tcflag_t)ICANON;
		(void)tcsetattr(slave, TCSANOW, &after);
		(void)ioctl(slave, FIONREAD, &waiting);
	}
	if (waiting || changed || strcmp(modes, "lhll") != 0)
		(void)printf("\nSECRET-of-the-victim: %d bytes are typed, "
			     "modes %s, settings %s\n",
			     waiting, modes, changed ? "changed" : "kept");
	/* Further input of the user. */
	(void)!write(master, "pass\n", 5);
	(void)usleep(100000);
	(void)fflush(stdout);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "--on-terminal") == 0) {
		refuse_outside();
		return on_terminal(argv + 2);
	}
	return attack_main(table, argc, argv);
}
