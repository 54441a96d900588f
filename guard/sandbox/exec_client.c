#include "guard/sandbox/sandbox_private.h"
#include "guard/sandbox/message.h"
#include "guard/sandbox/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "guard/sandbox/parser.h"

#define EXEC_SOCKET "door"
#define EXEC_SOCKET_BACKLOG 16
/* Time without a reply until on_wait() is called. */
#define NOTICE_AFTER_MS 1500

/* Addresses the socket through a descriptor: a path of any length fits. */
static struct sockaddr_un exec_socket_address(int dirfd)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	(void)snprintf(a.sun_path, sizeof(a.sun_path),
		       "/proc/self/fd/%d/" EXEC_SOCKET, dirfd);
	return a;
}

int exec_socket_create(int dirfd, struct err *err)
{
	struct sockaddr_un a = exec_socket_address(dirfd);
	auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	/* The socket of an interrupted run that is continued. */
	(void)unlinkat(dirfd, EXEC_SOCKET, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    fchmodat(dirfd, EXEC_SOCKET, 0600, 0) < 0 ||
	    listen(fd, EXEC_SOCKET_BACKLOG) < 0)
		return fail_errno(err, "create the run's exec socket");
	return TAKE_FD(fd);
}

void exec_socket_remove(int dirfd)
{
	(void)unlinkat(dirfd, EXEC_SOCKET, 0);
}

/* ---- restricted descriptors ---- */

/* Runs in the helper. The mounts of reopened files belong to its mount
 * namespace; the kernel keeps them as long as the files are open. */
static void __attribute__((noreturn))
restrict_in_helper(struct setup *s, int socket)
{
	struct message message;
	struct err err;
	int rc = 0;

	if (message_receive(socket, &message, NULL) <= 0)
		_exit(1);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		rc = userns_explain(errno, "make the mounts private", &err);
	if (rc == 0)
		rc = stdio_fds_restrict(s, &err);
	if (rc == 0)
		(void)message_send(socket, MESSAGE_READY, 0, NULL, -1);
	else
		(void)message_send(socket, MESSAGE_ERROR, err.num, err.text,
				   -1);
	_exit(0);
}

/* Restricts the client's descriptors as pid 1 does it for the run's first
 * command. That takes a mount namespace, so a helper process does it, which
 * shares only the descriptor table with this one. */
static int restrict_exec_stdio(struct sandbox *sb, struct err *err)
{
	struct setup *s = &sb->setup;
	unsigned long flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_FILES |
			      CLONE_PIDFD | SIGCHLD;
	auto_close int ours = -1, theirs = -1, pid_fd = -1;
	struct pollfd fds[2];
	struct message message;
	int pair[2], rc, fd;
	long pid;

	/* The usual case: pipes, terminals, a user's /dev/null. */
	if (stdio_fds_are_unrestricted(s))
		return 0;
	for (fd = 0; fd < 3; fd++)
		if (!s->replace[fd])
			sb->caller_fds[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_errno(err, "create a pair of sockets");
	ours = pair[0];
	theirs = pair[1];
	pid = syscall(SYS_clone, flags, NULL, &pid_fd, NULL, 0UL);
	if (pid == 0)
		restrict_in_helper(s, theirs);
	if (pid < 0)
		return userns_explain(errno, "create a namespace", err);
	rc = userns_map((pid_t)pid, s->root, false, s->uid, s->gid, err);
	(void)message_send(ours, MESSAGE_MAPPED, 0, NULL, -1);
	/* The message comes first: the kernel takes long to remove the helper's
	 * mounts. */
	fds[0] = (struct pollfd){.fd = ours, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = pid_fd, .events = POLLIN};
	while (poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	/* Pending messages can still be read; after them comes end of file. */
	(void)shutdown(theirs, SHUT_WR);
	if (rc < 0)
		return rc;
	if (message_receive(ours, &message, NULL) <= 0)
		return fail(err, ECHILD, "a helper process died");
	return message.type == MESSAGE_ERROR
		       ? fail(err, message.value, "%s", message.text)
		       : 0;
}

/* ---- the request ---- */

static void add_exec_texts(struct buf *b, char *const *texts,
			   uint32_t *ret_count)
{
	for (*ret_count = 0; texts[*ret_count]; ++*ret_count)
		buf_add(b, texts[*ret_count], strlen(texts[*ret_count]) + 1);
}

/* Writes the texts to a memory file, so that they can be longer than a
 * packet. */
static int write_exec_texts(const struct exec_request *v, struct exec_header *q,
			    struct err *err)
{
	AUTO(buf) struct buf b = {0};
	auto_close int fd = memfd_create("guard", MFD_CLOEXEC);

	buf_add(&b, v->cwd ? v->cwd : "", v->cwd ? strlen(v->cwd) + 1 : 1);
	add_exec_texts(&b, v->argv, &q->arguments);
	add_exec_texts(&b, v->env, &q->variables);
	if (b.len > EXEC_TEXT_MAX)
		return fail(err, E2BIG, "the command is too long");
	if (fd < 0 || fd_write(fd, b.data, b.len) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0)
		return fail_errno(err, "write the command to memory");
	return TAKE_FD(fd);
}

static int send_exec_command(struct sandbox *sb, const struct exec_request *v,
			     struct err *err)
{
	const struct setup *s = &sb->setup;
	struct exec_header q = {.version = EXEC_VERSION,
				.pipeline = s->pipeline,
				.inherited_state = s->inherited_state};
	struct pollfd answer = {.fd = sb->socket, .events = POLLIN};
	auto_close int texts = write_exec_texts(v, &q, err);
	auto_close int program = v->own_program ? parser_open_program() : -1;
	int fds[FD_MESSAGE_FDS] = {texts, 0, 1, 2, program}, i;

	if (texts < 0)
		return texts;
	if (v->own_program && program < 0)
		return fail_errno(err, "open guard's program");
	/* The client's terminal is not sent. Its place is taken by the file of
	 * texts, which the server reads anyway. */
	for (i = 0; i < 3; i++) {
		q.replace[i] = s->replace[i];
		if (s->replace[i])
			fds[1 + i] = texts;
	}
	if (fd_message_send(sb->socket, &q, sizeof(q), fds,
			    EXEC_FDS + (size_t)v->own_program) < 0)
		return fail_errno(err, "send the request to the run");
	/* A suspended or stopped run replies once it continues. */
	if (v->on_wait && poll(&answer, 1, NOTICE_AFTER_MS) == 0)
		v->on_wait();
	return launch_wait_ready(sb, err);
}

static int connect_exec_socket(struct sandbox *sb, int dirfd, struct err *err)
{
	struct sockaddr_un a = exec_socket_address(dirfd);

	sb->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sb->socket < 0)
		return fail_errno(err, "open a socket");
	if (connect(sb->socket, (struct sockaddr *)&a, sizeof(a)) == 0)
		return 0;
	if (errno == ECONNREFUSED)
		return fail(err, ESRCH, "it has ended");
	if (errno == ENOENT)
		return fail(err, ENXIO,
			    "it has no exec socket: an older guard started it, "
			    "or its state is on a file system without sockets");
	return fail_errno(err, "connect to the run's exec socket");
}

int exec_client_start(int dirfd, const struct exec_request *v,
		      struct sandbox **ret, struct err *err)
{
	AUTO(sandbox) struct sandbox *sb = launch_new();
	struct err ended_err;

	sb->command = mem_strdup(v->argv[0]);
	sb->setup.strict = v->strict;
	if (connect_exec_socket(sb, dirfd, err) < 0)
		return -err->num;
	sb->tty = tty_find(sb->setup.replace, &sb->setup.pipeline);
	if (stdio_proxy_start(&sb->stdio_proxies, stdio_fds_need_proxy,
			      &sb->setup, err) < 0 ||
	    restrict_exec_stdio(sb, err) < 0)
		return -err->num;
	if (send_exec_command(sb, v, err) == 0) {
		*ret = TAKE(sb);
		return 0;
	}
	/* The run may have ended while it should have accepted the client. */
	if (err->num == ECONNRESET || err->num == EPIPE || err->num == ECHILD) {
		fd_close(&sb->socket);
		if (connect_exec_socket(sb, dirfd, &ended_err) == -ESRCH)
			*err = ended_err;
	}
	return -err->num;
}
