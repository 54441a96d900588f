#include "guard/acp/acp_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/text.h"
#include "guard/acp/acp_message.h"

/* A peer that reads nothing stops the other one at so many bytes. */
#define QUEUE_MAX ((size_t)32 << 20)
/* After the agent's end the editor must read within this time. */
#define DRAIN_MS 3000
/* From the editor's end to that of the run. */
#define GRACE_MS 2000

const char acp_filter_name[] = "guard-acp";

/* The editor or the agent: in and out are this process's ends, or -1. */
struct peer {
	int in, out;
	struct buf line; /* the beginning of a message that it sends */
	struct buf queue; /* messages to it; `sent` bytes of it are written */
	size_t sent;
};

struct filter {
	struct peer editor, agent;
	int signal_fd;
	pid_t child; /* the agent */
	bool has_ended; /* the agent, with `status` of waitpid(2) */
	int status;
	bool is_left; /* no editor reads any more */
};

static void __attribute__((noreturn)) give_up(void)
{
	acp_message_report("%s", strerror(errno));
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
	acp_message_report("run %s: %s", text_quote(argv[0]), strerror(num));
	_exit(num == ENOENT ? 127 : 126);
}

static void start_agent(struct filter *f, char **argv)
{
	int to[2], from[2];
	sigset_t set, before;

	(void)sigfillset(&set);
	(void)sigdelset(&set, SIGTSTP);
	(void)sigprocmask(SIG_SETMASK, &set, &before);
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

/* pid 1 sends the signals of terminals, shells and timeout(1) to the process
 * group, which the agent belongs to. */
static bool is_for_group(int sig)
{
	return sig == SIGINT || sig == SIGQUIT || sig == SIGHUP ||
	       sig == SIGTERM || sig == SIGCONT || sig == SIGWINCH;
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

/* Returns the number of bytes. */
static size_t read_peer(struct filter *f, struct peer *from)
{
	static char data[65536];
	const char *at = data;
	ssize_t n = read(from->in, data, sizeof(data));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
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
	return n > 0 ? (size_t)n : 0;
}

/* The agent has ended. A process that it left may write without an end, so only
 * those bytes count that are in the pipe. */
static void take_rest(struct filter *f)
{
	int left = 0;

	f->has_ended = true;
	if (f->agent.in >= 0 && ioctl(f->agent.in, FIONREAD, &left) < 0)
		left = 0;
	while (left > 0 && f->agent.in >= 0)
		left -= (int)read_peer(f, &f->agent);
	fd_close(&f->agent.in);
	if (f->agent.line.len)
		pass_line(f, &f->agent);
}

static void handle_signal(struct filter *f)
{
	struct signalfd_siginfo info;
	int sig;

	if (read(f->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	sig = (int)info.ssi_signo;
	if (sig == SIGCHLD && waitpid(f->child, &f->status, WNOHANG) > 0)
		take_rest(f);
	else if (sig != SIGCHLD && sig != SIGPIPE && !f->has_ended &&
		 !is_for_group(sig))
		(void)kill(f->child, sig);
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
	if (!len || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		fd_close(&to->out);
		to->sent = to->queue.len;
	}
	if (to->sent * 2 >= to->queue.len) {
		to->queue.len -= to->sent;
		memmove(to->queue.data, to->queue.data + to->sent,
			to->queue.len);
		to->sent = 0;
	}
}

/* No process reads the output any more. */
static void leave_editor(struct filter *f)
{
	f->is_left = true;
	fd_close(&f->editor.in);
	fd_close(&f->editor.out);
	fd_close(&f->agent.in);
	fd_close(&f->agent.out);
}

static struct pollfd poll_input(const struct peer *from, const struct peer *to)
{
	return (struct pollfd){.fd = pending(to) < QUEUE_MAX ? from->in : -1,
			       .events = POLLIN};
}

static struct pollfd poll_output(const struct peer *to)
{
	return (struct pollfd){.fd = to->out,
			       .events = pending(to) ? POLLOUT : 0};
}

/* Returns at the end of the agent, or after that of the editor. */
static void exchange_messages(struct filter *f)
{
	struct peer *editor = &f->editor, *agent = &f->agent;
	int got = 1;

	while (got) {
		struct pollfd fds[] = {
			{.fd = f->signal_fd, .events = POLLIN},
			poll_input(editor, agent),
			poll_input(agent, editor),
			poll_output(editor),
			poll_output(agent),
		};

		got = poll(fds, sizeof(fds) / sizeof(*fds),
			   f->has_ended ? (pending(editor) ? DRAIN_MS : 0)
			   : f->is_left ? GRACE_MS
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
		if (fds[2].revents && agent->in >= 0)
			(void)read_peer(f, agent);
		if (!f->is_left && editor->out < 0)
			leave_editor(f);
		if (editor->in < 0 && !pending(agent))
			fd_close(&agent->out);
	}
}

static void __attribute__((constructor)) become_filter(int argc, char **argv)
{
	/* The status is for an agent that outlives its editor. */
	struct filter f = {.editor = {.in = 0, .out = 1}, .status = SIGKILL};

	if (argc < 2 || strcmp(argv[0], acp_filter_name) != 0)
		return;
	/* Before the agent runs: see the header. */
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		give_up();
	(void)prctl(PR_SET_NAME, acp_filter_name);
	start_agent(&f, argv + 1);
	exchange_messages(&f);
	_exit(WIFEXITED(f.status) ? WEXITSTATUS(f.status)
				  : 128 + WTERMSIG(f.status));
}
