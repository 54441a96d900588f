#include "guard/sandbox/net/network.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/text.h"

/* Not found by PATH, which may contain directories that receive the result of a
 * run. */
static const char *const pasta_paths[] = {"/usr/bin/pasta",
					  "/usr/local/bin/pasta", "/bin/pasta",
					  "/run/current-system/sw/bin/pasta"};

/* Descriptors of the supervisor after all others are closed. */
enum { LOG_FD = 2, READY_FD, NETWORK_FD, FIRST_FREE_FD };

const char *pasta_find(void)
{
	size_t i;

	for (i = 0; i < sizeof(pasta_paths) / sizeof(*pasta_paths); i++)
		if (access(pasta_paths[i], X_OK) == 0)
			return pasta_paths[i];
	return NULL;
}

/* ---- pasta's arguments ---- */

static void add_pasta_family(struct names *a, const char *own,
			     const char *gateway, const char *names)
{
	names_add(a, "--address");
	names_add(a, own);
	names_add(a, "--gateway");
	names_add(a, gateway);
	if (!names)
		return;
	names_add(a, "--dns-forward");
	names_add(a, names);
}

static void add_pasta_ports(struct names *a,
			    const struct sandbox_policy *policy, bool udp)
{
	const char *option = udp ? "--udp-ports" : "--tcp-ports";
	bool any = false;
	size_t i;

	for (i = 0; i < policy->port_count; i++) {
		const struct sandbox_port *p = &policy->ports[i];
		auto_free char *text = NULL;

		if (p->udp != udp)
			continue;
		text = mem_printf("%s/%u-%u:%u-%u", p->host, p->outside,
				  p->outside + p->more, p->inside,
				  p->inside + p->more);
		names_add(a, option);
		names_add(a, text);
		any = true;
	}
	if (any)
		return;
	names_add(a, option);
	names_add(a, "none");
}

/* No way from the run to the machine's loopback: no mapping of the gateway, no
 * ports. pasta announces no addresses; network_set_up() sets them. */
static char **make_pasta_arguments(const struct network *n,
				   const struct sandbox_policy *policy)
{
	static const char *const always[] = {"--quiet",
					     "--runas",
					     "0:0",
					     "--netns-only",
					     "--ns-ifname",
					     NETDEVICE_NAME,
					     "--no-netns-quit",
					     "--no-map-gw",
					     "--tcp-ns",
					     "none",
					     "--udp-ns",
					     "none",
					     "--no-dhcp",
					     "--no-dhcpv6",
					     "--no-ndp",
					     "--no-ra"};
	struct names a = {0};
	size_t i;

	names_add(&a, "pasta");
	for (i = 0; i < sizeof(always) / sizeof(*always); i++)
		names_add(&a, always[i]);
	if (n->v4)
		add_pasta_family(&a, NETDEVICE_OWN4, NETDEVICE_GATEWAY4,
				 n->name_server4 ? NETDEVICE_NAME_SERVER4
						 : NULL);
	else
		names_add(&a, "--ipv6-only");
	if (n->v6)
		add_pasta_family(&a, NETDEVICE_OWN6, NETDEVICE_GATEWAY6,
				 n->name_server6 ? NETDEVICE_NAME_SERVER6
						 : NULL);
	else
		names_add(&a, "--ipv4-only");
	add_pasta_ports(&a, policy, false);
	add_pasta_ports(&a, policy, true);
	names_add(&a, "--netns");
	/* Two entries for the path and the NULL at the end. */
	a.items = mem_resize(a.items, a.count + 2, sizeof(*a.items));
	a.items[a.count] = a.items[a.count + 1] = NULL;
	return a.items;
}

/* ---- processes ---- */

/* Drops all capabilities, so that pasta, which has dropped some, may open this
 * process's namespace. */
static void expose_network_namespace(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};

	if (setns(NETWORK_FD, CLONE_NEWNET) < 0 ||
	    syscall(SYS_capset, &head, none) < 0 ||
	    prctl(PR_SET_DUMPABLE, 1) < 0)
		_exit(1);
}

static void __attribute__((noreturn))
exec_pasta(const char *program, char **pasta_arguments, const int gate[2])
{
	static char *environment[] = {NULL};
	char byte;

	(void)close(gate[1]);
	(void)!read(gate[0], &byte, 1);
	(void)execve(program, pasta_arguments, environment);
	_exit(127);
}

/* The first process of pasta's pid namespace. The kernel kills it with guard,
 * and with it all processes of the namespace. pasta itself cannot be bound to
 * guard, since it changes its credentials. */
static void __attribute__((noreturn)) supervise_pasta(char **pasta_arguments)
{
	const char *program = pasta_find();
	char number[32] = "", **last = pasta_arguments;
	int gate[2], status = 0;
	pid_t pid;

	(void)setsid();
	/* pasta fails if SIGPIPE is ignored. */
	(void)signal(SIGPIPE, SIG_DFL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || !program ||
	    readlink("/proc/self", number, sizeof(number) - 1) <= 0 ||
	    pipe2(gate, O_CLOEXEC) < 0)
		_exit(1);
	while (*last)
		last++;
	*last = mem_printf("/proc/%s/ns/net", number);
	pid = fork();
	if (pid == 0)
		exec_pasta(program, pasta_arguments, gate);
	expose_network_namespace();
	(void)close(gate[0]);
	(void)close(gate[1]);
	/* pasta goes into the background when it is ready. */
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		_exit(1);
	/* SIGPIPE ends this process if guard has ended. */
	if (write(READY_FD, "", 1) != 1)
		_exit(1);
	(void)close(READY_FD);
	(void)close(NETWORK_FD);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	_exit(0);
}

static bool keep_pasta_descriptors(int log, int ready, int network)
{
	int kept[] = {log, ready, network}, i;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (i = 0; i < 3; i++)
		kept[i] = fcntl(kept[i], F_DUPFD_CLOEXEC, 10);
	for (i = 0; i < 3; i++)
		if (dup3(kept[i], LOG_FD + i, i ? O_CLOEXEC : 0) < 0)
			return false;
	if (dup2(null, 0) < 0 || dup2(null, 1) < 0)
		return false;
	return close_range(FIRST_FREE_FD, ~0U, 0) == 0;
}

/* Starts the supervisor by a helper process: a process that has joined a user
 * namespace cannot leave it. In the user namespace the supervisor may create a
 * pid namespace; its network is the machine's. */
static int start_supervisor(struct pasta *p, int user, int network, int ready,
			    char **pasta_arguments, struct err *err)
{
	pid_t helper, pid = -1;
	int answer[2], status;

	if (pipe2(answer, O_CLOEXEC) < 0)
		return fail_errno(err, "start pasta");
	helper = fork();
	if (helper == 0) {
		if (setns(user, CLONE_NEWUSER) == 0)
			pid = (pid_t)syscall(SYS_clone,
					     CLONE_NEWPID | CLONE_PARENT |
						     SIGCHLD,
					     NULL, NULL, NULL, 0UL);
		if (pid == 0 &&
		    keep_pasta_descriptors(p->log_fd, ready, network))
			supervise_pasta(pasta_arguments);
		if (pid < 0)
			pid = -errno;
		(void)!write(answer[1], &pid, sizeof(pid));
		_exit(0);
	}
	(void)close(answer[1]);
	if (helper < 0 ||
	    read(answer[0], &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
		pid = -EAGAIN;
	(void)close(answer[0]);
	while (helper > 0 && waitpid(helper, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0)
		return fail_num(err, -pid, "start pasta");
	p->pid = pid;
	p->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	return p->pid_fd < 0 ? fail_errno(err, "watch pasta") : 0;
}

static int open_namespace(pid_t run, const char *name, struct err *err)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)run, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? fail_errno(err, "open %s", path) : fd;
}

int pasta_start(struct pasta *p, const struct network *n,
		const struct sandbox_policy *policy, pid_t run, struct err *err)
{
	auto_close int user = open_namespace(run, "user", err);
	auto_close int network =
		user < 0 ? user : open_namespace(run, "net", err);
	char **pasta_arguments;
	int ready[2], rc;

	if (network < 0)
		return network;
	if (pipe2(ready, O_CLOEXEC) < 0)
		return fail_errno(err, "start pasta");
	p->ready_fd = ready[0];
	p->log_fd = memfd_create("pasta", MFD_CLOEXEC);
	pasta_arguments = make_pasta_arguments(n, policy);
	rc = p->log_fd < 0 ? fail_errno(err, "start pasta")
			   : start_supervisor(p, user, network, ready[1],
					      pasta_arguments, err);
	(void)close(ready[1]);
	mem_list_free(&pasta_arguments);
	return rc;
}

/* ---- in guard ---- */

/* pasta's last line, except for a complaint about a missing system logger. */
static char *last_log_line(int fd)
{
	AUTO(buf) struct buf b = {0};
	struct err ignored;
	char *line, *save = NULL, *last = NULL;

	if (lseek(fd, 0, SEEK_SET) < 0 ||
	    fd_slurp(fd, 1 << 16, &b, &ignored) < 0)
		return NULL;
	(void)buf_text(&b);
	for (line = strtok_r((char *)b.data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		if (!strstr(line, "to syslog"))
			last = line;
	return last ? mem_strdup(last) : NULL;
}

int pasta_wait(struct pasta *p, struct err *err)
{
	auto_free char *why = NULL;
	char byte;
	ssize_t n;

	do
		n = read(p->ready_fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	fd_close(&p->ready_fd);
	if (n == 1)
		return 0;
	why = last_log_line(p->log_fd);
	if (!why && access("/dev/net/tun", R_OK | W_OK) < 0)
		why = mem_strdup("/dev/net/tun cannot be opened");
	return fail(err, ENETDOWN,
		    "--net private: pasta does not start: %s (guard doctor "
		    "tells more; --net none needs it not)",
		    why ? text_quote(why) : "it says nothing");
}

void pasta_end(struct pasta *p)
{
	if (p->pid > 0)
		(void)kill(p->pid, SIGKILL);
	while (p->pid > 0 && waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	p->pid = 0;
	fd_close(&p->pid_fd);
	fd_close(&p->ready_fd);
	fd_close(&p->log_fd);
}
