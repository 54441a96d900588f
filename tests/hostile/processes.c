/* Attacks on processes outside, and on guard's own. */
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/hostile/attack.h"

#define SECRET_LEN 20

static pid_t victim(void)
{
	const char *text = getenv("VICTIM_PID");

	return text ? atoi(text) : 0;
}

static void *address(void)
{
	return (void *)strtoul(getenv("VICTIM_ADDRESS"), NULL, 16);
}

static int kill_it(void)
{
	return verdict(kill(victim(), SIGUSR1), "kill");
}

static int read_memory(pid_t pid, void *at)
{
	char text[SECRET_LEN + 1] = "";
	struct iovec to = {text, SECRET_LEN}, from = {at, SECRET_LEN};

	if (process_vm_readv(pid, &to, 1, &from, 1, 0) < 0)
		return verdict(-1, "process_vm_readv");
	return tell(WORKED, "%s", text);
}

static int vm_read(void)
{
	return read_memory(victim(), address());
}

static int trace(pid_t pid)
{
	long rc = ptrace(PTRACE_SEIZE, pid, NULL, NULL);

	if (rc == 0)
		(void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return verdict(rc, "ptrace");
}

static int trace_victim(void)
{
	return trace(victim());
}

static int steal_descriptor(pid_t pid, int number)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	int stolen;
	char text[SECRET_LEN + 1] = "";

	if (fd < 0)
		return verdict(-1, "pidfd_open");
	stolen = (int)syscall(SYS_pidfd_getfd, fd, number, 0);
	if (stolen < 0)
		return verdict(-1, "pidfd_getfd");
	(void)!pread(stolen, text, SECRET_LEN, 0);
	return tell(WORKED, "%s", text);
}

static int steal_victim_s(void)
{
	return steal_descriptor(victim(), atoi(getenv("VICTIM_FD")));
}

/* pid 1 of a run is guard's; outside it is the throw-away root's. */
static pid_t keeper(void)
{
	pid_t pid;

	if (getenv("GUARD"))
		return 1;
	if (system("cp /bin/sleep /srv/service/keeper") != 0)
		exit(CANNOT);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)execl("/srv/service/keeper", "keeper", "9", (char *)NULL);
		_exit(127);
	}
	(void)usleep(50000);
	return pid;
}

static int trace_pid1(void)
{
	return trace(keeper());
}

static int steal_pid1_s(void)
{
	pid_t pid = keeper();
	int fd;

	for (fd = 0; fd < 16; fd++)
		if (steal_descriptor(pid, fd) == WORKED)
			return WORKED;
	return HELD;
}

static int look_into_pid1(void)
{
	static const char *const names[] = {"environ", "mem",	 "maps",
					    "fd/0",    "exe",	 "cwd/.",
					    "root/.",  "syscall"};
	pid_t pid = keeper();
	char path[64], byte;
	size_t i;
	int fd;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid,
			       names[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && (read(fd, &byte, 1) >= 0 || errno == EISDIR))
			return tell(WORKED, "%s", path);
	}
	return verdict(-1, "/proc/1");
}

static int exe_of_pid1(void)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", keeper());
	return verdict(chmod(path, 0755), path);
}

static int limits(void)
{
	struct rlimit l = {16, 16};

	if (setpriority(PRIO_PROCESS, (id_t)victim(), 19) == 0)
		return tell(WORKED, "setpriority");
	return verdict(prlimit(victim(), RLIMIT_NOFILE, &l, NULL), "prlimit");
}

static int by_user(void)
{
	int rc = setpriority(PRIO_USER, getuid(), 5);

	return verdict(rc, "setpriority of all of the user's");
}

/* libc has no header with these constants. */
static int disk_priority(void)
{
	enum { WHO_USER = 3, IDLE = 3 << 13, BEST_4 = (2 << 13) | 4 };
	long now = syscall(SYS_ioprio_get, 1, victim());

	if (now < 0)
		return verdict(-1, "ioprio_get");
	if (syscall(SYS_ioprio_set, WHO_USER, getuid(), IDLE) < 0)
		return verdict(-1, "ioprio_set");
	now = syscall(SYS_ioprio_get, 1, victim());
	(void)syscall(SYS_ioprio_set, WHO_USER, getuid(), BEST_4);
	return now == IDLE ? tell(WORKED, "of all of the user's")
			   : tell(HELD, "not of the victim");
}

static int oom(void)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", victim());
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return verdict(-1, path);
	return verdict(write(fd, "1000", 4), path);
}

static int scheduler(void)
{
	struct sched_param p = {0};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (sched_setaffinity(victim(), sizeof(set), &set) == 0)
		return tell(WORKED, "sched_setaffinity");
	return verdict(sched_setscheduler(victim(), SCHED_IDLE, &p),
		       "sched_setscheduler");
}

static int compare(void)
{
	return verdict(syscall(SYS_kcmp, getpid(), victim(), 0, 0, 0), "kcmp");
}

static int advise(void)
{
	int fd = (int)syscall(SYS_pidfd_open, victim(), 0);
	struct iovec at = {(void *)((unsigned long)address() & ~4095UL), 4096};

	if (fd < 0)
		return verdict(-1, "pidfd_open");
	return verdict(syscall(SYS_process_madvise, fd, &at, 1, 21, 0),
		       "process_madvise");
}

static const struct attack table[] = {
	{"P36", "signal a process outside", "PID namespace", PROOF_HOST,
	 .play = kill_it},
	{"P36a", "signal whatever there is", "PID namespace", PROOF_HOST,
	 .shell = "kill -USR1 -1"},
	{"P37", "read a process's environment and command", "PID namespace",
	 PROOF_SECRET,
	 .shell = "cat /proc/[0-9]*/environ /proc/*/cmdline | "
		  "tr '\\0' '\\n'"},
	{"P38", "files through a process's root and folder", "PID namespace",
	 PROOF_HOST,
	 .shell = "echo x >>/proc/$VICTIM_PID/root/srv/service/own"},
	{"P38d", "a process's descriptors", "PID namespace", PROOF_SECRET,
	 .shell = "cat /proc/$VICTIM_PID/fd/$VICTIM_FD"},
	{"P39", "ptrace", "PID namespace", PROOF_CLAIM, .play = trace_victim},
	{"P39r", "process_vm_readv", "PID namespace", PROOF_SECRET,
	 .play = vm_read},
	{"P39f", "pidfd_getfd", "PID namespace", PROOF_SECRET,
	 .play = steal_victim_s},
	{"P39k", "kcmp", "PID namespace", PROOF_CLAIM, .play = compare},
	{"C01", "process_madvise", "PID namespace", PROOF_CLAIM,
	 .play = advise},
	{"P40", "priority and limits of a process outside", "PID namespace",
	 PROOF_HOST, .play = limits},
	{"P40o", "oom_score_adj of a process outside", "PID namespace",
	 PROOF_HOST, .play = oom},
	{"P40s", "scheduler and processors of a process outside",
	 "PID namespace", PROOF_CLAIM, .play = scheduler},
	{"C02", "priority of all processes of the user", "PID namespace",
	 PROOF_HOST, .play = by_user},
	{"C07", "disk priority of all processes of the user", "PID namespace",
	 PROOF_CLAIM, .play = disk_priority},
	{"P42", "a process that outlives the run", "PID namespace", PROOF_HOST,
	 .shell = "cp /bin/sleep hostile-left; setsid ./hostile-left 5 "
		  ">/dev/null 2>&1 </dev/null &"},
	{"C03", "trace guard's own process", "not dumpable", PROOF_CLAIM,
	 .play = trace_pid1},
	{"C04", "take descriptors of guard's own process", "not dumpable",
	 PROOF_CLAIM, .play = steal_pid1_s},
	{"C05", "look into guard's own process", "not dumpable", PROOF_CLAIM,
	 .play = look_into_pid1},
	{"C06", "change guard's program through /proc/1/exe", "not dumpable",
	 PROOF_CLAIM, "root", .play = exe_of_pid1},
	{"P43", "debuggers work on own processes", "-", PROOF_WORKS,
	 .shell = "command -v strace >/dev/null || "
		  "{ echo strace is not installed; exit 77; }; "
		  "strace -f -o /dev/null true"},
	{0},
};

int main(int argc, char **argv)
{
	return attack_main(table, argc, argv);
}
