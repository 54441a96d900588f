/*
 * More of the kernel's surface: the calls of one kind one by one, families of
 * sockets, settings of a network, all files that can be opened for writing in
 * /proc and among the control groups.
 */
#include <dirent.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "tests/hostile/attack.h"

/* linux/fscrypt.h: the keys of a file system, which belong to the user. */
#define ADD_KEY 0xc0506617UL
#define REMOVE_KEY 0xc0406618UL
#define REMOVE_KEY_OF_ALL 0xc0406619UL

static bool refused(void)
{
	return errno == EPERM || errno == ENOSYS;
}

static int keys_of_file_systems(void)
{
	static const unsigned long requests[] = {REMOVE_KEY, ADD_KEY,
						 REMOVE_KEY_OF_ALL};
	char room[128] = "";
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t i;

	/* A file system without encryption, or an invalid key, gives another
	 * error. */
	for (i = 0; i < 3; i++)
		if (ioctl(fd, requests[i], room) == 0 || !refused())
			return tell(WORKED, "reached: %s", strerror(errno));
	return tell(HELD, "%s", strerror(errno));
}

/* Invalid arguments: any error that is not the filter's comes from the kernel.
 */
static int each_mount_call(void)
{
	static const struct {
		const char *name;
		long nr, a, b, c;
	} calls[] = {
		{"mount", SYS_mount, 0, 0, 0},
		{"umount2", SYS_umount2, 0, 0, 0},
		{"pivot_root", SYS_pivot_root, 0, 0, 0},
		{"fsopen", SYS_fsopen, 0, 0, 0},
		{"fsconfig", SYS_fsconfig, -1, 99, 0},
		{"fsmount", SYS_fsmount, -1, 0, 0},
		{"fspick", SYS_fspick, -1, 0, 0},
		{"open_tree", SYS_open_tree, -1, 0, 0xffff},
		{"move_mount", SYS_move_mount, -1, 0, -1},
		{"mount_setattr", SYS_mount_setattr, -1, 0, 0},
		{"setns", SYS_setns, -1, 0, 0},
		{"chroot", SYS_chroot, 0, 0, 0},
	};
	char others[256] = "";
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (syscall(calls[i].nr, calls[i].a, calls[i].b, calls[i].c, 0,
			    0, 0) >= 0 ||
		    !refused())
			(void)snprintf(others + strlen(others),
				       sizeof(others) - strlen(others), "%s ",
				       calls[i].name);
	return *others ? tell(WORKED, "reached: %s", others)
		       : tell(HELD, "all refused");
}

/* Except the families of pipes, the network and routes. */
static int each_family(void)
{
	static const int types[] = {SOCK_STREAM,    SOCK_DGRAM, SOCK_RAW,
				    SOCK_SEQPACKET, SOCK_RDM,	SOCK_PACKET};
	char got[256] = "";
	int family, fd;
	size_t i;

	for (family = 0; family < 64; family++)
		for (i = 0; i < sizeof(types) / sizeof(*types); i++) {
			if (family == AF_UNIX || family == AF_INET ||
			    family == AF_INET6 || family == AF_NETLINK)
				continue;
			fd = socket(family, types[i], 0);
			if (fd < 0 && errno != EPERM && errno != EACCES)
				continue;
			if (fd < 0 && errno == EPERM && getenv("GUARD"))
				continue;
			(void)snprintf(got + strlen(got),
				       sizeof(got) - strlen(got), "%d ",
				       family);
		}
	return *got ? tell(WORKED, "families %s", got)
		    : tell(HELD, "none besides");
}

static int raw_sockets(void)
{
	if (socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP) >= 0)
		return tell(WORKED, "IPv4");
	return verdict(
		socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMPV6),
		"raw socket");
}

/* The kernel has some of these protocols, or loads their modules; raw sockets
 * are D10. */
static int each_protocol(void)
{
	static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET,
				    6 /* SOCK_DCCP */};
	int protocol, fd, i;

	for (protocol = 0; protocol < 262; protocol++)
		for (i = 0; i < 8; i++) {
			int type = types[i % 4];

			/* TCP, UDP, ping */
			if (protocol == 1 || protocol == 6 || protocol == 17 ||
			    protocol == 58 || (protocol == 0 && i % 4 < 2))
				continue;
			fd = socket(i < 4 ? AF_INET : AF_INET6,
				    type | SOCK_CLOEXEC, protocol);
			if (fd >= 0)
				return tell(WORKED, "kind %d, protocol %d",
					    type, protocol);
		}
	return tell(HELD, "none");
}

/* Sets the present state again. */
static int interface_flags(void)
{
	struct ifreq request = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	strcpy(request.ifr_name, "lo");
	if (ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		return tell(CANNOT, "no loopback");
	return verdict(ioctl(fd, SIOCSIFFLAGS, &request), "flags of lo");
}

/* Deletes an interface that does not exist: the error tells whether a deletion
 * is permitted. */
static int interface_gone(void)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg info;
	} ask = {{sizeof(ask), RTM_DELLINK, NLM_F_REQUEST | NLM_F_ACK, 1, 0},
		 {.ifi_index = 1 << 20}};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
	} answer = {0};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (send(fd, &ask, sizeof(ask), 0) < 0 ||
	    recv(fd, &answer, sizeof(answer), 0) < (ssize_t)sizeof(answer))
		return verdict(-1, "netlink");
	errno = -answer.error.error;
	return refused() ? tell(HELD, "%s", strerror(errno))
			 : tell(WORKED, "reached: %s", strerror(errno));
}

/* ---- other ways to a process outside ---- */

static pid_t victim(void)
{
	const char *text = getenv("VICTIM_PID");

	return text ? atoi(text) : 0;
}

static int other_signals(void)
{
	pid_t pid = victim();
	union sigval value = {0};
	siginfo_t info = {.si_signo = SIGUSR1, .si_code = SI_QUEUE};
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), pipe_fds[2];

	if (fd >= 0 &&
	    syscall(SYS_pidfd_send_signal, fd, SIGUSR1, NULL, 0) == 0)
		return tell(WORKED, "pidfd_send_signal");
	if (syscall(SYS_tgkill, pid, pid, SIGUSR1) == 0)
		return tell(WORKED, "tgkill");
	if (syscall(SYS_tkill, pid, SIGUSR1) == 0)
		return tell(WORKED, "tkill");
	if (sigqueue(pid, SIGUSR1, value) == 0 ||
	    syscall(SYS_rt_tgsigqueueinfo, pid, pid, SIGUSR1, &info) == 0)
		return tell(WORKED, "sigqueue");
	/* Through the owner of a file that signals. */
	if (pipe2(pipe_fds, O_CLOEXEC) == 0 &&
	    fcntl(pipe_fds[0], F_SETOWN, pid) == 0 &&
	    fcntl(pipe_fds[0], F_SETSIG, SIGUSR1) == 0 &&
	    fcntl(pipe_fds[0], F_SETFL, O_ASYNC) == 0 &&
	    write(pipe_fds[1], "x", 1) == 1)
		return tell(WORKED, "F_SETOWN");
	return verdict(-1, "signals");
}

static int write_memory(void)
{
	void *at = (void *)strtoul(getenv("VICTIM_ADDRESS"), NULL, 16);
	struct iovec from = {(char[]){"S"}, 1}, to = {at, 1};
	char path[64];
	int fd;

	if (process_vm_writev(victim(), &from, 1, &to, 1, 0) == 1)
		return tell(WORKED, "process_vm_writev");
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", victim());
	fd = open(path, O_RDWR | O_CLOEXEC);
	return verdict(fd, path);
}

static int state_of_victim(void)
{
	static const char *const names[] = {
		"oom_score_adj",   "oom_adj", "autogroup",
		"coredump_filter", "comm",    "clear_refs",
		"timerslack_ns",   "sched",   "attr/current",
		"setgroups",	   "uid_map", "latency",
		"make-it-fail",	   "ns/mnt",  "map_files",
		"timens_offsets"};
	char path[64], got[256] = "";
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		(void)snprintf(path, sizeof(path), "/proc/%d/%s", victim(),
			       names[i]);
		if (open(path, O_WRONLY | O_CLOEXEC) >= 0)
			(void)snprintf(got + strlen(got),
				       sizeof(got) - strlen(got), "%s ",
				       names[i]);
	}
	return *got ? tell(WORKED, "%s", got) : verdict(-1, "/proc/PID");
}

/* ---- all files below a directory, opened for writing and left unchanged ----
 */

static char opened[400];
static int opened_count;

static void open_below(const char *path, int depth)
{
	char name[4096];
	struct dirent *e;
	DIR *dir = opendir(path);
	int fd;

	while (dir && (e = readdir(dir))) {
		/* Skips processes, links to the process itself, and files whose
		 * write has an effect. */
		if (e->d_name[0] == '.' || strspn(e->d_name, "0123456789") ||
		    strcmp(e->d_name, "acpi") == 0)
			continue;
		(void)snprintf(name, sizeof(name), "%.2000s/%s", path,
			       e->d_name);
		if (e->d_type == DT_DIR && depth > 0)
			open_below(name, depth - 1);
		if (e->d_type != DT_REG)
			continue;
		fd = open(name, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			continue;
		(void)close(fd);
		if (opened_count++ == 0)
			(void)snprintf(opened, sizeof(opened), "%.300s", name);
	}
	if (dir)
		(void)closedir(dir);
}

static int sweep(const char *path)
{
	open_below(path, 8);
	return opened_count ? tell(WORKED, "%d, %s first", opened_count, opened)
			    : tell(HELD, "none");
}

static int sweep_proc(void)
{
	return sweep("/proc");
}

static int sweep_groups(void)
{
	return sweep("/sys/fs/cgroup");
}

static int make_group(void)
{
	static const char *const names[] = {"/sys/fs/cgroup/hostile",
					    "/sys/fs/cgroup/pids/hostile",
					    "/sys/fs/cgroup/memory/hostile"};
	size_t i;

	for (i = 0; i < 3; i++)
		if (mkdir(names[i], 0755) == 0) {
			(void)rmdir(names[i]);
			return tell(WORKED, "%s", names[i]);
		}
	return verdict(-1, "a control group");
}

static const struct attack table[] = {
	{"K18", "take away the keys of an encrypted folder", "filter",
	 PROOF_CLAIM, .play = keys_of_file_systems},
	{"M08", "each call of mounts and namespaces", "filter", PROOF_CLAIM,
	 .play = each_mount_call},
	{"D09", "each other family of sockets", "filter", PROOF_CLAIM,
	 .play = each_family},
	{"D13", "each other protocol of the internet", "filter", PROOF_CLAIM,
	 .play = each_protocol},
	{"D10", "raw sockets", "no capabilities", PROOF_CLAIM, "root",
	 .play = raw_sockets},
	{"D11", "flags of a network interface", "no capabilities", PROOF_CLAIM,
	 "root", .play = interface_flags},
	{"D12", "take an interface away by netlink", "no capabilities",
	 PROOF_CLAIM, "root", .play = interface_gone},
	{"C08", "signal a process outside by every other call", "PID namespace",
	 PROOF_HOST, .play = other_signals},
	{"C09", "write the memory of a process outside", "PID namespace",
	 PROOF_CLAIM, .play = write_memory},
	{"C10", "whatever can be written of a process outside in /proc",
	 "PID namespace", PROOF_CLAIM, .play = state_of_victim},
	{"K19", "make a control group", "read-only root", PROOF_CLAIM, "root",
	 .play = make_group},
	{"K20", "all that can be written among the control groups",
	 "read-only root", PROOF_CLAIM, "root", .play = sweep_groups},
	/* For a plain user the file has the values of the run's own namespaces.
	 */
	{"K21", "all that can be written in /proc", "closed /proc", PROOF_CLAIM,
	 "root", .play = sweep_proc},
	{0},
};

int main(int argc, char **argv)
{
	return attack_main(table, argc, argv);
}
