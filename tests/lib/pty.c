/*
 * A user at a terminal, for tests: runs a command on a pseudo terminal of its
 * own, types, and checks the output.
 *
 *	pty SCRIPT CMD [ARGS]
 *
 * Lines of SCRIPT:
 *
 *	> TEXT		type it; \r \n \e \xHH as in C
 *	< TEXT		wait until it is printed, after the previous match
 *	! TEXT		not printed since the previous match
 *	size ROWS COLUMNS
 *	prompt TEXT	wait for TEXT, the shell's prompt, and record the
 *			terminal's modes
 *	sane		the modes are the recorded ones again
 *	runs NAME	wait until a process of that name exists
 *	stopped NAME	wait until a process of that name is stopped
 *	gone NAME	wait until no process has that name
 *	kill NAME	send SIGKILL to it, as soon as it exists
 *	hangup		close the terminal
 *	end STATUS	wait for the command's end
 *	# ...		ignored
 *
 * Queries (ESC [ 5 n, 6 n, c) are answered as terminals do. "sane" also fails
 * when a mode that the output switched on (alternate screen, mouse, paste,
 * cursor off, letters, keys) is still on.
 *
 * Waits at most a minute for any line. Ends with 0, or with 1 after printing
 * the failed line and the last output on stderr.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 60000
#define OUT_MAX (4 << 20)

static char out[OUT_MAX];
static size_t out_len, found, asked;
static int master = -1;
static pid_t child;
static struct termios modes;
static int line_number;
static const char *line_text;

static long now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void die(const char *format, ...) __attribute__((format(printf, 1, 2)))
__attribute__((noreturn));

static void die(const char *format, ...)
{
	size_t from = out_len > 1500 ? out_len - 1500 : 0, i;
	va_list ap;

	fprintf(stderr, "pty: line %d: %s\npty: ", line_number, line_text);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fprintf(stderr, "\npty: printed last (found up to %zu of %zu): \"",
		found, out_len);
	for (i = from; i < out_len; i++)
		if (isprint((unsigned char)out[i]))
			fputc(out[i], stderr);
		else
			fprintf(stderr, "\\x%02x", (unsigned char)out[i]);
	fputs("\"\n", stderr);
	if (child > 0)
		(void)kill(child, SIGKILL);
	exit(1);
}

/* ---- the terminal ---- */

static void type(const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(master, text, len);

		if (n < 0 && errno != EINTR && errno != EAGAIN)
			die("type: %s", strerror(errno));
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
}

static void answer_questions(void)
{
	static const struct {
		const char *question, *answer;
	} known[] = {
		{"\033[5n", "\033[0n"},
		{"\033[6n", "\033[1;1R"},
		{"\033[c", "\033[?62;22c"},
		{"\033[>c", "\033[>41;354;0c"},
	};
	size_t i, len;

	for (; asked < out_len; asked++)
		for (i = 0; i < sizeof(known) / sizeof(*known); i++) {
			len = strlen(known[i].question);
			if (out_len - asked >= len &&
			    memcmp(out + asked, known[i].question, len) == 0)
				type(known[i].answer, strlen(known[i].answer));
		}
}

/* False at the end of the terminal, or after ms without output. */
static bool look(int ms)
{
	struct pollfd p = {.fd = master, .events = POLLIN};
	ssize_t n;

	if (master < 0 || poll(&p, 1, ms) <= 0)
		return false;
	if (out_len + 1 >= OUT_MAX)
		die("too much output");
	n = read(master, out + out_len, OUT_MAX - out_len - 1);
	if (n <= 0)
		return false;
	out_len += (size_t)n;
	answer_questions();
	return true;
}

static void await(const char *text, size_t len)
{
	long until = now_ms() + WAIT_MS;

	for (;;) {
		char *at = memmem(out + found, out_len - found, text, len);

		if (at) {
			found = (size_t)(at - out) + len;
			return;
		}
		if (now_ms() > until)
			die("it does not come");
		(void)look(100);
	}
}

/* The position of the last match; NULL: none. */
static const char *last_of(const char *text)
{
	const char *at = out, *last = NULL;

	while ((at = memmem(at, (size_t)(out + out_len - at), text,
			    strlen(text))))
		last = at++;
	return last;
}

static void check_modes(void)
{
	static const char *const pairs[][2] = {
		{"\033[?1049h", "\033[?1049l"}, {"\033[?1047h", "\033[?1047l"},
		{"\033[?47h", "\033[?47l"},	{"\033[?1000h", "\033[?1000l"},
		{"\033[?1002h", "\033[?1002l"}, {"\033[?1003h", "\033[?1003l"},
		{"\033[?1004h", "\033[?1004l"}, {"\033[?1006h", "\033[?1006l"},
		{"\033[?2004h", "\033[?2004l"}, {"\033[?25l", "\033[?25h"},
		{"\033[?1h", "\033[?1l"},	{"\033(0", "\033(B"},
		{"\033[>1u", "\033[<"},
	};
	struct termios now;
	size_t i;

	while (look(200))
		;
	if (tcgetattr(master, &now) < 0)
		die("modes: %s", strerror(errno));
	if (now.c_lflag != modes.c_lflag || now.c_iflag != modes.c_iflag ||
	    now.c_oflag != modes.c_oflag)
		die("modes: %x %x %x instead of %x %x %x", now.c_iflag,
		    now.c_oflag, now.c_lflag, modes.c_iflag, modes.c_oflag,
		    modes.c_lflag);
	for (i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (last_of(pairs[i][0]) > last_of(pairs[i][1]))
			die("\\e%s is left on", pairs[i][0] + 1);
}

/* ---- processes ---- */

/* The first process of that name, 0 for none; its state in *state. */
static pid_t find(const char *name, char *state)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	pid_t pid = 0;

	while (proc && !pid && (e = readdir(proc))) {
		char path[300], text[400], *end;
		FILE *f;

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fgets(text, sizeof(text), f) &&
		    (end = strrchr(text, ')')) && end[1] == ' ') {
			char *begin = strchr(text, '(');

			*end = '\0';
			*state = end[2];
			if (begin && strcmp(begin + 1, name) == 0 &&
			    *state != 'Z')
				pid = atoi(e->d_name);
		}
		(void)fclose(f);
	}
	if (proc)
		(void)closedir(proc);
	return pid;
}

/* state 0: any */
static void await_process(const char *name, char state, bool there)
{
	long until = now_ms() + WAIT_MS;
	char now = 0;

	for (;;) {
		pid_t pid = find(name, &now);

		if (there ? pid && (!state || now == state) : !pid)
			return;
		if (now_ms() > until)
			die("%s: %s, in state %c", name,
			    pid ? "is there" : "is not there", now ? now : '-');
		(void)look(20);
	}
}

static void await_end(int status)
{
	long until = now_ms() + WAIT_MS;
	int got;

	while (waitpid(child, &got, WNOHANG) == 0) {
		if (now_ms() > until)
			die("the command does not end");
		(void)look(20);
	}
	child = 0;
	got = WIFEXITED(got) ? WEXITSTATUS(got) : 128 + WTERMSIG(got);
	if (got != status)
		die("the command ended with %d", got);
}

/* ---- the script ---- */

static size_t unescape(char *text)
{
	char *from = text, *to = text;
	unsigned int value;

	while (*from) {
		if (*from != '\\') {
			*to++ = *from++;
			continue;
		}
		from++;
		if (*from == 'x' && sscanf(from + 1, "%2x", &value) == 1) {
			*to++ = (char)value;
			from += 3;
		} else if (*from) {
			*to++ = *from == 'n'   ? '\n'
				: *from == 'r' ? '\r'
				: *from == 'e' ? '\033'
					       : *from;
			from++;
		}
	}
	*to = '\0';
	return (size_t)(to - text);
}

static void set_size(const char *text)
{
	struct winsize size = {0};

	if (sscanf(text, "%hu %hu", &size.ws_row, &size.ws_col) != 2 ||
	    ioctl(master, TIOCSWINSZ, &size) < 0)
		die("size");
}

static void kill_process(const char *name)
{
	long until = now_ms() + WAIT_MS;
	char state;
	pid_t pid;

	while (!(pid = find(name, &state)) && now_ms() <= until)
		(void)look(20);
	if (!pid || kill(pid, SIGKILL) < 0)
		die("kill %s: %s", name, pid ? strerror(errno) : "none");
}

static void act(char *line)
{
	char *rest = strchr(line, ' ');
	size_t len;

	if (rest)
		*rest++ = '\0';
	else
		rest = line + strlen(line);
	len = unescape(rest);
	if (strcmp(line, ">") == 0) {
		type(rest, len);
	} else if (strcmp(line, "<") == 0) {
		await(rest, len);
	} else if (strcmp(line, "prompt") == 0) {
		await(rest, len);
		while (look(200))
			;
		(void)tcgetattr(master, &modes);
	} else if (strcmp(line, "!") == 0) {
		while (look(100))
			;
		if (memmem(out + found, out_len - found, rest, len))
			die("it was printed");
	} else if (strcmp(line, "size") == 0) {
		set_size(rest);
	} else if (strcmp(line, "sane") == 0) {
		check_modes();
	} else if (strcmp(line, "runs") == 0) {
		await_process(rest, 0, true);
	} else if (strcmp(line, "stopped") == 0) {
		await_process(rest, 'T', true);
	} else if (strcmp(line, "gone") == 0) {
		await_process(rest, 0, false);
	} else if (strcmp(line, "kill") == 0) {
		kill_process(rest);
	} else if (strcmp(line, "hangup") == 0) {
		(void)close(master);
		master = -1;
	} else if (strcmp(line, "end") == 0) {
		await_end(atoi(rest));
	} else {
		die("what does that mean?");
	}
}

static void start(char **argv)
{
	struct winsize size = {.ws_row = 24, .ws_col = 80};
	char *name;
	int slave;

	master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 ||
	    !(name = ptsname(master)) || ioctl(master, TIOCSWINSZ, &size) < 0)
		die("no terminal: %s", strerror(errno));
	child = fork();
	if (child == 0) {
		(void)setsid();
		slave = open(name, O_RDWR);
		(void)ioctl(slave, TIOCSCTTY, 0);
		if (dup2(slave, 0) < 0 || dup2(slave, 1) < 0 ||
		    dup2(slave, 2) < 0)
			_exit(127);
		if (slave > 2)
			(void)close(slave);
		(void)execvp(argv[0], argv);
		_exit(127);
	}
}

int main(int argc, char **argv)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	FILE *script;

	line_text = "(start)";
	if (argc < 3 || !(script = fopen(argv[1], "re")))
		die("usage: pty SCRIPT CMD [ARGS]");
	start(argv + 2);
	while ((len = getline(&line, &room, script)) > 0) {
		char *copy;

		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		line_number++;
		if (!line[0] || line[0] == '#')
			continue;
		copy = strdup(line);
		line_text = copy;
		act(line);
		free(copy);
		line_text = "";
	}
	free(line);
	(void)fclose(script);
	if (child > 0) {
		(void)close(master);
		(void)kill(child, SIGKILL);
		(void)waitpid(child, NULL, 0);
	}
	return 0;
}
