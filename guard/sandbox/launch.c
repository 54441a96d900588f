#include "guard/sandbox/sandbox_private.h"
#include "guard/sandbox/inherited_state.h"
#include "guard/sandbox/network.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "guard/sandbox/grant.h"
#include "guard/sandbox/parser.h"

/* No useful program needs more threads. */
#define PIDS_DEFAULT 1024

static int prepare_launch(struct sandbox *sb,
			  const struct sandbox_policy *policy, struct err *err)
{
	struct setup *s = &sb->setup;
	int pair[2];

	s->policy = policy;
	s->filters = &sb->filters;
	s->exec_socket_fd = policy->exec_socket_fd;
	if (policy->own_program && (s->program_fd = parser_open_program()) < 0)
		return fail_errno(err, "open guard's program");
	s->tmp_path = fd_path(policy->tmp_fd);
	s->var_tmp_path = fd_path(policy->var_tmp_fd);
	s->strict = policy->strict;
	s->pids_limit = policy->pids_limit ? policy->pids_limit : PIDS_DEFAULT;
	cgroup_make(&sb->cgroup, "/sys/fs/cgroup", policy);
	s->pin = policy->cpus_milli && !sb->cgroup.holds[CGROUP_CPU];
	lockdown_core();
	sockets_find(s);
	if (policy->net == SANDBOX_NET_PRIVATE && !pasta_find())
		return fail(
			err, ENOENT,
			"--net private needs pasta, which is not installed: "
			"apt install passt (other systems use this package "
			"name too), or use --net none or host");
	if (policy->net == SANDBOX_NET_PRIVATE &&
	    network_find(&s->network, err) < 0)
		return -err->num;
	sb->timeout_ms = policy->timeout_ms;
	sb->command = mem_strdup(policy->argv ? policy->argv[0] : "");
	if (filters_make(
		    &(struct filter_options){.nested = policy->nested,
					     .pinned = s->pin,
					     .perf = policy->allow_perf,
					     .io_uring = policy->allow_io_uring,
					     .userfaultfd =
						     policy->allow_userfaultfd,
					     .i386 = policy->allow_32bit},
		    &sb->filters, err) < 0)
		return -err->num;
	sb->tty = tty_find(s->replace, &s->pipeline);
	if (stdio_proxy_start(&sb->stdio_proxies, stdio_fds_need_proxy, s,
			      err) < 0)
		return -err->num;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_errno(err, "create a socket to the run");
	sb->socket = s->guard_socket = pair[0];
	s->socket = pair[1];
	return 0;
}

/* Creates pid 1 with all namespaces in one clone(2), otherwise like fork(2):
 * the caller has no threads. */
static int clone_pid1(struct sandbox *sb, struct err *err)
{
	unsigned long flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
			      CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
			      CLONE_PIDFD | SIGCHLD;
	long pid;

	if (sb->setup.policy->net != SANDBOX_NET_HOST)
		flags |= CLONE_NEWNET;
	pid = syscall(SYS_clone, flags, NULL, &sb->pid_fd, NULL, 0UL);
	if (pid < 0) {
		sb->pid_fd = -1;
		return userns_explain(errno, "create the run's namespaces",
				      err);
	}
	if (pid == 0)
		child_main(&sb->setup);
	sb->pid = (pid_t)pid;
	fd_close(&sb->setup.socket);
	return 0;
}

int sandbox_check_proc(struct err *err)
{
	if (access("/proc/self/status", F_OK) == 0)
		return 0;
	/* A mount of /proc would not help. */
	if (userns_is_chrooted())
		return userns_explain(EPERM, "", err);
	return fail(err, ENOENT,
		    "/proc is not mounted: sudo mount -t proc proc /proc");
}

/* Prefers the error that pid 1 reported before it ended to the error that guard
 * got from its absence. */
static int prefer_setup_error(struct sandbox *sb, struct err *err)
{
	struct pollfd ready = {.fd = sb->socket, .events = POLLIN};
	struct message message;

	if (poll(&ready, 1, 0) == 1 &&
	    message_receive(sb->socket, &message, NULL) > 0 &&
	    message.type == MESSAGE_ERROR)
		return userns_explain_step(message.value, message.text, err);
	if (access("/proc/self/status", F_OK) < 0)
		return sandbox_check_proc(err);
	return -err->num;
}

int launch_wait_ready(struct sandbox *sb, struct err *err)
{
	struct message message;
	int fd, rc;

	rc = message_receive(sb->socket, &message, &fd);
	if (rc < 0)
		return fail_errno(err, "receive from the run's pid 1");
	if (rc == 0)
		return fail(err, ECHILD,
			    "the run's first process died while it was set "
			    "up");
	if (message.type == MESSAGE_ERROR)
		return userns_explain_step(message.value, message.text, err);
	if (message.type != MESSAGE_READY || (sb->tty && fd < 0))
		return fail(err, EBADMSG,
			    "unexpected message from the run's pid 1: please "
			    "report this bug");
	if (sb->tty)
		tty_attach(sb->tty, fd);
	return 0;
}

struct sandbox *launch_new(void)
{
	struct sandbox *sb = mem_zalloc(sizeof(*sb));

	sb->pid_fd = sb->socket = sb->signal_fd = -1;
	sb->caller_fds[0] = sb->caller_fds[1] = sb->caller_fds[2] = -1;
	sb->pasta = (struct pasta){.pid_fd = -1, .ready_fd = -1, .log_fd = -1};
	sb->cgroup = CGROUP_NONE;
	sb->edits = (struct edits)EDITS_NONE;
	sb->watch.kernel_quotas = KERNEL_QUOTAS_CLOSED;
	sb->setup = (struct setup){
		.uid = geteuid(),
		.gid = getegid(),
		.root = geteuid() == 0,
		.inherited_state = *inherited_state_get(),
		.socket = -1,
		.guard_socket = -1,
		.program_fd = -1,
		.exec_socket_fd = -1,
		.tmp_fd = -1,
		.var_tmp_fd = -1,
		.root_fd = -1,
		.old_dev = -1,
		.scratch_fd = -1,
		.master_fd = -1,
		.slave_fd = -1,
	};
	return sb;
}

int sandbox_start(const struct sandbox_policy *policy, struct sandbox **ret,
		  struct err *err)
{
	AUTO(sandbox) struct sandbox *sb = launch_new();
	const struct setup *s = &sb->setup;
	bool private = policy->net == SANDBOX_NET_PRIVATE;
	auto_free char *oom_score = NULL;
	auto_close int fd = -1;

	if (prepare_launch(sb, policy, err) < 0 || clone_pid1(sb, err) < 0)
		return sb->socket >= 0 ? prefer_setup_error(sb, err)
				       : -err->num;
	/* The kernel kills the run first when memory runs out. A run cannot
	 * lower root's setting; a plain user's it can. */
	oom_score = mem_printf("/proc/%d/oom_score_adj", (int)sb->pid);
	fd = open(oom_score, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)!write(fd, "500", 3);
	fd_close(&fd);
	/* pasta joins the namespaces while pid 1 is still in the first user
	 * namespace. */
	if (cgroup_enter(&sb->cgroup, sb->pid, err) < 0 ||
	    userns_map(sb->pid, s->root, false, s->uid, s->gid, err) < 0 ||
	    (private &&
	     pasta_start(&sb->pasta, &s->network, policy, sb->pid, err) < 0))
		return prefer_setup_error(sb, err);
	edits_open(&sb->edits, sb->pid);
	if (message_send(sb->socket, MESSAGE_MAPPED, 0, NULL, -1) < 0) {
		(void)fail_errno(err, "send to the run's pid 1");
		return prefer_setup_error(sb, err);
	}
	if ((policy->during_setup &&
	     policy->during_setup(policy->during_setup_arg, sb, err) < 0) ||
	    (private && pasta_wait(&sb->pasta, err) < 0))
		return -err->num;
	/* If pid 1 has ended, launch_wait_ready() reports why. */
	if (private)
		(void)message_send(sb->socket, MESSAGE_NETWORK, 0, NULL, -1);
	if (launch_wait_ready(sb, err) < 0)
		return -err->num;
	/* RLIMIT_NPROC binds all users but uid 0. */
	sb->kernel_pids_limit = sb->cgroup.holds[CGROUP_PIDS] || !s->root ||
				(policy->has_user && policy->user != 0);
	watch_begin(&sb->watch, sb->pid, sb->setup.pids_limit,
		    sb->kernel_pids_limit,
		    sb->cgroup.holds[CGROUP_MEMORY] ? 0 : policy->memory,
		    policy->net == SANDBOX_NET_HOST);
	sb->watch.kernel_quotas.init = sb->pid;
	*ret = TAKE(sb);
	return 0;
}

char *const *sandbox_unreachable_sockets(const struct sandbox *sb)
{
	static char *const none[] = {NULL};

	return sb->setup.unreachable_sockets ? sb->setup.unreachable_sockets
					     : none;
}

size_t sandbox_count_sockets(const struct sandbox *sb, const struct grant *g)
{
	const struct names *sockets = &sb->setup.sockets;
	size_t i, count = 0;

	for (i = 0; i < sockets->count; i++) {
		struct err ignored;
		auto_free char *real =
			path_resolve(sockets->items[i], &ignored);
		struct stat st;

		count += real && path_below(real, g->real) &&
			 lstat(real, &st) == 0 && S_ISSOCK(st.st_mode) &&
			 !grants_name(sb->setup.policy->grants, real);
	}
	return count;
}

void sandbox_describe_limits(const struct sandbox *sb, struct buf *to)
{
	const struct sandbox_policy *p = sb->setup.policy;
	const bool *holds = sb->cgroup.holds;
	int version = sb->cgroup.version;

	if (p->memory && holds[CGROUP_MEMORY])
		buf_printf(to, "memory: a cgroup (v%d) limits it. ", version);
	else if (p->memory)
		buf_add_text(to, "memory: guard measures ten times a second, "
				 "since this user has no cgroup. ");
	if (p->cpus_milli && holds[CGROUP_CPU])
		buf_printf(to, "processors: a cgroup (v%d). ", version);
	else if (p->cpus_milli)
		buf_add_text(to, "processors: the run is bound to complete "
				 "ones, since this user has no cgroup. ");
	if (p->pids_limit && holds[CGROUP_PIDS])
		buf_printf(to, "processes: a cgroup (v%d). ", version);
	else if (p->pids_limit && sb->kernel_pids_limit)
		buf_add_text(to, "processes: a kernel limit (RLIMIT_NPROC). ");
	else if (p->pids_limit)
		buf_add_text(to, "processes: guard counts four times a second, "
				 "since there is no cgroup. ");
	while (to->len && to->data[to->len - 1] == ' ')
		to->len--;
}

pid_t sandbox_pid1(const struct sandbox *sb)
{
	return sb->pid;
}

bool sandbox_takes_lines(const struct sandbox *sb)
{
	return !sb->tty || tty_takes_lines(sb->tty);
}

const struct edits *sandbox_edits(const struct sandbox *sb)
{
	return &sb->edits;
}

void sandbox_kill(const struct sandbox *sb)
{
	relay_kill(sb);
}

void sandbox_free(struct sandbox **sb)
{
	struct sandbox *b = *sb;
	int fd;

	if (!b)
		return;
	*sb = NULL;
	if (b->pid > 0 && !b->is_empty) {
		relay_kill(b);
		sandbox_unmount(b);
	}
	relay_restore_caller(b);
	edits_close(&b->edits);
	watch_end(&b->watch);
	pasta_end(&b->pasta);
	network_free(&b->setup.network);
	cgroup_remove(&b->cgroup);
	stdio_proxy_stop(&b->stdio_proxies);
	/* The caller's descriptors get the offsets that the command reached. */
	for (fd = 0; fd < 3; fd++) {
		off_t at;

		if (b->caller_fds[fd] < 0)
			continue;
		at = lseek(fd, 0, SEEK_CUR);
		(void)dup2(b->caller_fds[fd], fd);
		(void)close(b->caller_fds[fd]);
		if (at >= 0)
			(void)lseek(fd, at, SEEK_SET);
	}
	tty_free(&b->tty);
	fd_close(&b->socket);
	fd_close(&b->setup.socket);
	fd_close(&b->setup.program_fd);
	fd_close(&b->pid_fd);
	filters_free(&b->filters);
	sockets_free(&b->setup);
	free(b->setup.tmp_path);
	free(b->setup.var_tmp_path);
	free(b->command);
	free(b->refused_rename);
	free(b->unasked);
	free(b);
}
