/*
 * Measures commands against each other: every round runs each of them once, so
 * that a noisy minute of the machine affects all of them alike.
 *
 *	measure [-n ROUNDS] [-b SECONDS] [-w ROUNDS] \
 *		NAME [-p PREPARE] [-d DIR] [-f FILE] [-t TEXT] CMD [ARGS] \
 *		';;' NAME ...
 *
 * -n rounds (3), -w rounds before them that are not counted (0), -b begin no
 * new round after so many seconds (at least one is made). -p: a shell command
 * before each run, not timed. -d: the command's working directory. -f: a file
 * that the command has open for reading as descriptor 3; a second one as 4. -t:
 * its output goes to a pipe, which is read until the first line that begins
 * with TEXT, and on to its end. The command is executed directly, without a
 * shell, stdin from /dev/null.
 *
 * Prints one line per command, fields by TAB: name, rounds, milliseconds of
 * wall time (median, least, most), until the time that the command printed as
 * CLOCK_MONOTONIC nanoseconds, or until the line of -t (median; 0 when it
 * printed none), until the last
 * of its descendants had ended, also detached ones (median), peak resident
 * kilobytes of any one process, processor time of all of them (median, user and
 * system).
 *
 * A command that fails ends all, after its messages on stderr.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_COMMANDS 16
#define MAX_ROUNDS 200
#define MAX_FILES 4

struct command {
	const char *name, *prepare, *folder, *files[MAX_FILES], *text;
	char **argv;
	double wall[MAX_ROUNDS], start[MAX_ROUNDS], all[MAX_ROUNDS];
	double cpu[MAX_ROUNDS];
	int rounds;
	long peak_kb;
};

static struct command commands[MAX_COMMANDS];
static int command_count;
static int out_fd, err_fd;
static volatile pid_t running;
static volatile sig_atomic_t stopped;

static int64_t now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void on_stop(int sig)
{
	stopped = sig;
	if (running > 0)
		(void)kill(running, SIGTERM);
}

static void empty(int fd)
{
	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		err(1, "empty an output");
}

__attribute__((noreturn)) static void fail_with_output(const struct command *c,
						       int status)
{
	char buf[4096];
	ssize_t n = pread(err_fd, buf, sizeof(buf), 0);

	if (stopped)
		exit(128 + stopped);
	(void)fprintf(stderr, "measure: %s: status %d%s\n", c->name,
		      WIFEXITED(status) ? WEXITSTATUS(status)
					: 128 + WTERMSIG(status),
		      n > 0 ? ", it said:" : "");
	if (n > 0)
		(void)fwrite(buf, 1, (size_t)n, stderr);
	exit(1);
}

/* Past the reach of the descriptors first, so that none is in the way. */
static void open_files(const struct command *c)
{
	int fds[MAX_FILES], i, count;

	for (count = 0; count < MAX_FILES && c->files[count]; count++) {
		int fd = open(c->files[count], O_RDONLY | O_CLOEXEC);

		fds[count] = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 100);
		if (fds[count] < 0)
			err(126, "%s", c->files[count]);
	}
	for (i = 0; i < count; i++)
		(void)dup2(fds[i], 3 + i);
}

/* fork() and exec, not posix_spawn(): that is what shells do. */
static pid_t start(const struct command *c, char **argv, int output)
{
	pid_t pid;

	empty(out_fd);
	empty(err_fd);
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (pid == 0) {
		(void)dup2(output, STDOUT_FILENO);
		(void)dup2(err_fd, STDERR_FILENO);
		if (c->folder && chdir(c->folder) < 0)
			err(126, "%s", c->folder);
		open_files(c);
		(void)execvp(argv[0], argv);
		err(127, "%s", argv[0]);
	}
	running = pid;
	return pid;
}

static double milliseconds(struct timeval time)
{
	return (double)time.tv_sec * 1e3 + (double)time.tv_usec / 1e3;
}

/* Waits for one child, -1 any of those that were left behind too. */
static bool reap(struct command *c, pid_t pid, int *status)
{
	struct rusage usage;
	pid_t got;

	do
		got = wait4(pid, status, 0, &usage);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return false;
	if (usage.ru_maxrss > c->peak_kb)
		c->peak_kb = usage.ru_maxrss;
	c->cpu[c->rounds] +=
		milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
	return true;
}

static void prepare(const struct command *c)
{
	char sh[] = "sh", dash_c[] = "-c";
	char *argv[] = {sh, dash_c, strdup(c->prepare), NULL};
	struct command unused = {0};
	pid_t pid = start(c, argv, out_fd);
	int status, rest;

	if (!reap(&unused, pid, &status))
		err(1, "wait");
	running = 0;
	while (reap(&unused, -1, &rest))
		;
	if (status != 0)
		fail_with_output(c, status);
	free(argv[2]);
}

/* Reads to the end; the time when the first line with the text came, 0 if none
 * did. */
static int64_t wait_for_line(const char *wanted, int fd)
{
	char buf[65536];
	int64_t found = 0;
	size_t have = 0, i;
	bool line = true; /* the next byte begins one */
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		for (i = 0; i < (size_t)n && !found; i++) {
			if (line)
				have = 0;
			line = buf[i] == '\n';
			have = have < SIZE_MAX && buf[i] == wanted[have]
				       ? have + 1
				       : SIZE_MAX;
			if (have < SIZE_MAX && !wanted[have])
				found = now_ns();
		}
	}
	return found;
}

static void run(struct command *c, bool counted)
{
	char text[32] = "";
	int64_t begin, printed;
	pid_t pid;
	int status, rest, i = c->rounds, ends[2];

	if (c->prepare)
		prepare(c);
	if (stopped)
		exit(128 + stopped);
	c->cpu[i] = 0;
	if (c->text && pipe2(ends, O_CLOEXEC) < 0)
		err(1, "pipe");
	begin = now_ns();
	pid = start(c, c->argv, c->text ? ends[1] : out_fd);
	printed = 0;
	if (c->text) {
		(void)close(ends[1]);
		printed = wait_for_line(c->text, ends[0]);
		(void)close(ends[0]);
	}
	if (!reap(c, pid, &status))
		err(1, "wait");
	c->wall[i] = (double)(now_ns() - begin) / 1e6;
	running = 0;
	while (reap(c, -1, &rest))
		;
	c->all[i] = (double)(now_ns() - begin) / 1e6;
	if (status != 0 || stopped)
		fail_with_output(c, status);
	if (!c->text && pread(out_fd, text, sizeof(text) - 1, 0) > 0)
		printed = strtoll(text, NULL, 10);
	c->start[i] = printed > begin ? (double)(printed - begin) / 1e6 : 0;
	if (counted)
		c->rounds++;
	else
		c->peak_kb = 0;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sorts the values. */
static double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), compare);
	return count % 2 ? values[count / 2]
			 : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void print(struct command *c)
{
	double wall = median(c->wall, c->rounds);

	(void)printf("%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%ld\t%.3f\n",
		     c->name, c->rounds, wall, c->wall[0],
		     c->wall[c->rounds - 1], median(c->start, c->rounds),
		     median(c->all, c->rounds), c->peak_kb,
		     median(c->cpu, c->rounds));
}

/* One command's words, up to ";;" or the end; returns where it ended. */
static char **parse_command(char **at)
{
	struct command *c = &commands[command_count++];
	size_t files = 0;

	if (command_count > MAX_COMMANDS)
		errx(2, "too many commands");
	c->name = *at++;
	for (; *at && at[1] && (*at)[0] == '-'; at += 2) {
		if (strcmp(*at, "-p") == 0)
			c->prepare = at[1];
		else if (strcmp(*at, "-d") == 0)
			c->folder = at[1];
		else if (strcmp(*at, "-f") == 0 && files < MAX_FILES)
			c->files[files++] = at[1];
		else if (strcmp(*at, "-t") == 0)
			c->text = at[1];
		else
			errx(2, "no option %s", *at);
	}
	c->argv = at;
	while (*at && strcmp(*at, ";;") != 0)
		at++;
	if (at == c->argv)
		errx(2, "%s: no command", c->name);
	if (*at)
		*at++ = NULL;
	return at;
}

static void set_up(void)
{
	struct sigaction sa = {.sa_handler = on_stop};
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	out_fd = memfd_create("stdout", MFD_CLOEXEC);
	err_fd = memfd_create("stderr", MFD_CLOEXEC);
	if (null_fd < 0 || out_fd < 0 || err_fd < 0)
		err(1, "open outputs");
	(void)dup2(null_fd, STDIN_FILENO);
	(void)sigaction(SIGINT, &sa, NULL);
	(void)sigaction(SIGTERM, &sa, NULL);
	(void)sigaction(SIGHUP, &sa, NULL);
	/* Orphaned descendants of a command become children of this process,
	 * which waits for them. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		err(1, "become a subreaper");
}

int main(int argc, char **argv)
{
	int opt, rounds = 3, warm_ups = 0, i, r;
	int64_t budget = INT64_MAX, begin;
	char **at;

	while ((opt = getopt(argc, argv, "+n:w:b:")) != -1) {
		if (opt == 'n')
			rounds = atoi(optarg);
		else if (opt == 'w')
			warm_ups = atoi(optarg);
		else if (opt == 'b')
			budget = atoll(optarg) * 1000000000;
		else
			return 2;
	}
	if (rounds < 1 || rounds > MAX_ROUNDS || optind == argc)
		errx(2, "see the top of measure.c");
	for (at = argv + optind; *at;)
		at = parse_command(at);
	set_up();
	begin = now_ns();
	for (r = -warm_ups; r < rounds; r++) {
		if (r > 0 && now_ns() - begin > budget)
			break;
		for (i = 0; i < command_count; i++)
			run(&commands[i], r >= 0);
	}
	for (i = 0; i < command_count; i++)
		print(&commands[i]);
	return 0;
}
