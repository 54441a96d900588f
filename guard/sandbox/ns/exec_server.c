#include "guard/sandbox/ns/exec_server.h"

#include "guard/sandbox/ns/message.h"
#include "guard/sandbox/ns/ns_private.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"

struct exec_texts {
	const char *at, *end;
};

static const char *next_exec_text(struct exec_texts *t)
{
	const char *text = t->at;
	const char *nul = memchr(text, '\0', (size_t)(t->end - text));

	if (!nul)
		return NULL;
	t->at = nul + 1;
	return text;
}

/* Takes count texts into a list that starts with `more` unused entries; NULL if
 * there are fewer texts. */
static char **take_text_list(struct exec_texts *t, size_t count, size_t more)
{
	char **list = mem_resize(NULL, more + count + 1, sizeof(*list));
	size_t i;

	for (i = 0; i < count; i++) {
		list[more + i] = (char *)(uintptr_t)next_exec_text(t);
		if (!list[more + i])
			return NULL;
	}
	list[more + count] = NULL;
	return list;
}

static bool is_set_in_environ(char **list, const char *entry)
{
	size_t len = strcspn(entry, "=");

	for (; *list; list++)
		if (strncmp(*list, entry, len) == 0 && (*list)[len] == '=')
			return true;
	return false;
}

/* Merges the environment of the run's first command with the client's
 * variables, which take precedence. */
static char **merge_exec_environment(char *const *first, struct exec_texts *t,
				     size_t count)
{
	size_t have = 0, i, kept = 0;
	char **list;

	while (first[have])
		have++;
	list = take_text_list(t, count, have);
	if (!list)
		return NULL;
	for (i = 0; i < have; i++)
		if (!is_set_in_environ(list + have, first[i]))
			list[kept++] = first[i];
	memmove(list + kept, list + have, (count + 1) * sizeof(*list));
	return list;
}

/* ---- the request ---- */

static int receive_exec_header(int conn, struct exec_header *ret, int *ret_fds,
			       struct err *err)
{
	ssize_t n = fd_message_receive(conn, ret, sizeof(*ret), ret_fds);

	if (n >= (ssize_t)sizeof(ret->version) && ret->version != EXEC_VERSION)
		return fail(err, EPROTO,
			    "the run was started by another version of guard: "
			    "it cannot be entered by this one");
	if (n != sizeof(*ret) || ret_fds[EXEC_FDS - 1] < 0)
		return fail(err, EBADMSG, "odd question at the run's door");
	return 0;
}

/* The socket is in a directory that only this user can open. The check is a
 * second layer. */
static int check_exec_peer(const struct setup *s, int conn, struct err *err)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return fail_errno(err, "ask who is at the run's door");
	if (peer.uid != s->uid)
		return fail(err, EPERM, "the run belongs to another user");
	return 0;
}

/* The texts are never freed: the policy uses them until the exec. */
static int read_exec_texts(const struct exec_header *q, int fd,
			   struct sandbox_policy *p, struct err *err)
{
	struct buf b = {0};
	struct exec_texts t;

	if (q->arguments < 1 || q->arguments > EXEC_TEXT_MAX ||
	    q->variables > EXEC_TEXT_MAX)
		return fail(err, EBADMSG, "odd question at the run's door");
	if (fd_slurp(fd, EXEC_TEXT_MAX, &b, err) < 0)
		return -err->num;
	t = (struct exec_texts){buf_text(&b), buf_text(&b) + b.len};
	p->cwd = *t.at ? t.at : p->cwd;
	if (next_exec_text(&t))
		p->argv = take_text_list(&t, q->arguments, 0);
	else
		p->argv = NULL;
	if (p->argv)
		p->envp = merge_exec_environment(p->envp, &t, q->variables);
	if (!p->argv || !p->envp)
		return fail(err, EBADMSG, "odd question at the run's door");
	return 0;
}

/* ---- the session ---- */

static int install_exec_fds(const int *fds, struct err *err)
{
	int fd;

	for (fd = 0; fd < 3; fd++)
		if (dup2(fds[1 + fd], fd) < 0)
			return fail_errno(err, "take a descriptor over");
	return 0;
}

/* Sets up the session of a client's command. As a child of pid 1 it has every
 * confinement of the run. From the client come only texts and descriptors,
 * never a terminal, and no process of the run can inspect this one. */
static int set_up_exec(struct setup *s, struct sandbox_policy *p,
		       struct err *err)
{
	struct exec_header q;
	int fds[EXEC_FDS], i;

	if (check_exec_peer(s, s->socket, err) < 0 ||
	    receive_exec_header(s->socket, &q, fds, err) < 0 ||
	    read_exec_texts(&q, fds[0], p, err) < 0 ||
	    install_exec_fds(fds, err) < 0)
		return -err->num;
	for (i = 0; i < 3; i++)
		s->replace[i] = q.replace[i];
	s->pipeline = q.pipeline;
	/* pid 1 has the state inherited by the guard that started the run,
	 * perhaps in the background of a script. */
	s->inherited_state = q.inherited_state;
	if (setsid() < 0)
		return fail_errno(err, "new session");
	if (command_terminal(s, err) < 0 || lockdown_descriptors(s, err) < 0)
		return -err->num;
	return command_enter_cwd(s, err);
}

void exec_server_main(const struct setup *first, int conn)
{
	struct sandbox_policy policy = *first->policy;
	struct setup s = *first;
	struct err err;

	s.policy = &policy;
	s.socket = conn;
	s.exec_socket_fd = s.slave_fd = s.master_fd = -1;
	if (set_up_exec(&s, &policy, &err) < 0) {
		(void)message_send(s.socket, MESSAGE_ERROR, err.num, err.text,
				   -1);
		_exit(125);
	}
	pid1_exec(&s);
}
