#include "guard/acp/acp_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/inside.h"
#include "base/text.h"
#include "guard/acp/acp_message.h"

/* A peer that reads nothing stops what fills its queue at so many bytes: an
 * editor the agent, an agent its editor and its own requests. */
#define QUEUE_MAX ((size_t)32 << 20)
/* After the agent's end the editor must read within this time. */
#define DRAIN_MS 3000
/* From the editor's end to that of the run. */
#define GRACE_MS 2000

const char acp_filter_name[] = "guard-acp";
const char acp_filter_nested_name[] = "guard-acp-nested";

/* The editor or the agent: in and out are this process's ends, or -1. */
struct peer {
	int in, out;
	struct buf line; /* the beginning of a message that it sends */
	struct buf queue; /* messages to it; `sent` bytes of it are written */
	size_t sent;
};

struct filter {
	struct peer editor, agent;
	int signal_fd; /* SIGCHLD */
	pid_t child; /* the agent */
	bool is_nested;
	bool has_ended; /* the agent, with `status` of waitpid(2) */
	int status;
};

static void __attribute__((noreturn)) give_up(void)
{
	(void)dprintf(STDERR_FILENO, "guard: --acp: %s\n", strerror(errno));
	_exit(125);
}

/* ---- the agent's process ---- */

static bool is_one_file(int one, int other)
{
	struct stat a, b;

	return fstat(one, &a) == 0 && fstat(other, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void __attribute__((noreturn))
execute(char **argv, int in, int out, const sigset_t *signals)
{
	int num;

	(void)dup2(in, 0);
	if (is_one_file(1, 2))
		(void)dup2(out, 2);
	(void)dup2(out, 1);
	(void)sigprocmask(SIG_SETMASK, signals, NULL);
	(void)execvp(argv[0], argv);
	num = errno;
	(void)dprintf(STDERR_FILENO, "guard: --acp: run %s: %s\n",
		      text_quote(argv[0]), strerror(num));
	_exit(num == ENOENT ? 127 : 126);
}

/* pid 1 sends the signals of terminals, shells and timeout(1) to the process
 * group, which the agent belongs to. Here they are blocked, but for the stop:
 * the agent decides about its end. */
static void start_agent(struct filter *f, char **argv)
{
	int to[2], from[2];
	sigset_t set, before;

	(void)sigfillset(&set);
	(void)sigdelset(&set, SIGTSTP);
	(void)sigprocmask(SIG_SETMASK, &set, &before);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	f->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (f->signal_fd < 0 || pipe2(to, O_CLOEXEC) < 0 ||
	    pipe2(from, O_CLOEXEC) < 0)
		give_up();
	f->child = fork();
	if (f->child < 0)
		give_up();
	if (f->child == 0)
		execute(argv, to[0], from[1], &before);
	(void)close(to[0]);
	(void)close(from[1]);
	f->agent.in = from[0];
	f->agent.out = to[1];
	(void)fcntl(from[0], F_SETFL, O_NONBLOCK);
	(void)fcntl(to[1], F_SETFL, O_NONBLOCK);
}

/* ---- messages ---- */

static void pass_line(struct filter *f, struct peer *from)
{
	const char *line = buf_text(&from->line);

	if (from == &f->editor)
		acp_message_from_editor(line, from->line.len, &f->agent.queue);
	else
		acp_message_from_agent(line, from->line.len, &f->editor.queue,
				       &f->agent.queue);
	buf_clear(&from->line);
}

static ssize_t read_peer(struct filter *f, struct peer *from)
{
	static char data[65536];
	const char *at = data;
	ssize_t n = read(from->in, data, sizeof(data));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return n;
	if (n <= 0)
		fd_close(&from->in);
	if (n <= 0 && from->line.len)
		pass_line(f, from);
	while (at < data + n) {
		size_t len = text_line_len(at, data + n);
		bool is_complete = at + len < data + n;

		buf_add(&from->line, at, len + is_complete);
		at += len + is_complete;
		if (is_complete)
			pass_line(f, from);
	}
	return n;
}

/* ---- the end of the agent ---- */

/* The processes that the agent leaves behind end with it, as without this
 * process. Beside other commands of the run they stay, and may write without an
 * end; the agent's own last messages are in the pipe by now. */
static void handle_signal(struct filter *f)
{
	struct signalfd_siginfo info;
	ssize_t n = 1;
	int left = 0;

	(void)!read(f->signal_fd, &info, sizeof(info));
	if (waitpid(f->child, &f->status, WNOHANG) <= 0)
		return;
	f->has_ended = true;
	if (!f->is_nested)
		(void)kill(-1, SIGKILL);
	(void)ioctl(f->agent.in, FIONREAD, &left);
	for (; left > 0 && n > 0; left -= (int)n)
		n = read_peer(f, &f->agent);
	fd_close(&f->agent.in);
	if (f->agent.line.len)
		pass_line(f, &f->agent);
}

static size_t pending(const struct peer *p)
{
	return p->out < 0 ? 0 : p->queue.len - p->sent;
}

/* A pipe or socket that poll(2) calls writable takes PIPE_BUF bytes at once.
 * The editor's cannot be made non-blocking: other processes share it. */
static void write_peer(struct peer *to)
{
	size_t len = pending(to);
	ssize_t n = write(to->out, to->queue.data + to->sent,
			  len < PIPE_BUF ? len : PIPE_BUF);

	to->sent += n > 0 ? (size_t)n : 0;
	/* Reported without anything to write: its reader has closed it. */
	if (!len || (n < 0 && errno != EAGAIN && errno != EINTR))
		fd_close(&to->out);
	if (!pending(to)) {
		buf_clear(&to->queue);
		to->sent = 0;
	}
}

/* Returns at the end of the agent, or after that of the editor. */
static void exchange_messages(struct filter *f)
{
	struct peer *editor = &f->editor, *agent = &f->agent;
	int got = 1;

	while (got && !(f->has_ended && !pending(editor))) {
		bool has_space = pending(agent) < QUEUE_MAX;
		bool both_have = has_space && pending(editor) < QUEUE_MAX;
		struct pollfd fds[] = {
			{f->signal_fd, POLLIN, 0},
			{has_space ? editor->in : -1, POLLIN, 0},
			{both_have ? agent->in : -1, POLLIN, 0},
			{editor->out, pending(editor) ? POLLOUT : 0, 0},
			{agent->out, pending(agent) ? POLLOUT : 0, 0},
		};

		got = poll(fds, ARRAY_SIZE(fds),
			   editor->out < 0 ? GRACE_MS
			   : f->has_ended  ? DRAIN_MS
					   : -1);
		if (got < 0 && errno != EINTR)
			give_up();
		if (fds[0].revents)
			handle_signal(f);
		if (fds[4].revents)
			write_peer(agent);
		if (fds[3].revents)
			write_peer(editor);
		if (fds[1].revents)
			(void)read_peer(f, editor);
		if (fds[2].revents)
			(void)read_peer(f, agent);
		/* No process reads the output any more. */
		if (editor->out < 0)
			fd_close(&agent->in);
		if (editor->out < 0 || (editor->in < 0 && !pending(agent)))
			fd_close(&agent->out);
	}
}

char **acp_filter_argv(const char *name, char *const *command)
{
	char **argv = NULL;

	mem_list_add(&argv, name);
	for (; *command; command++)
		mem_list_add(&argv, *command);
	return argv;
}

static void __attribute__((constructor)) become_filter(int argc, char **argv)
{
	/* The status is for an agent that outlives its editor. */
	struct filter f = {.editor = {.in = 0, .out = 1}, .status = SIGKILL};
	int fd;

	/* Elsewhere than in a run the end would kill the user's processes. */
	f.is_nested = argc > 1 && strcmp(argv[0], acp_filter_nested_name) == 0;
	if (argc < 2 ||
	    (!f.is_nested && strcmp(argv[0], acp_filter_name) != 0) ||
	    !inside_run())
		return;
	/* Before the agent runs: see the header. */
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		give_up();
	(void)prctl(PR_SET_NAME, acp_filter_name);
	/* The caller may have closed descriptors and ignore SIGCHLD. */
	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	(void)close(fd);
	(void)signal(SIGCHLD, SIG_DFL);
	start_agent(&f, argv + 1);
	exchange_messages(&f);
	if (!f.has_ended)
		(void)kill(f.child, SIGKILL);
	_exit(WIFEXITED(f.status) ? WEXITSTATUS(f.status)
				  : 128 + WTERMSIG(f.status));
}
