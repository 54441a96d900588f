/* Attacks on limited resources of the machine. All are bounded. */
#include <sched.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/hostile/attack.h"

#define MIB (1UL << 20)

/* For root guard counts, instead of a kernel limit: a short burst proves
 * nothing. */
static int forks(int most_forks, unsigned int stay)
{
	struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY};
	int i, num = 0;

	(void)setrlimit(RLIMIT_NPROC, &most);
	(void)setpgid(0, 0);
	for (i = 0; i < most_forks && !num; i++) {
		pid_t pid = fork();

		if (pid < 0)
			num = errno;
		if (pid == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				(void)pause();
		}
	}
	(void)sleep(stay);
	(void)signal(SIGTERM, SIG_IGN);
	(void)kill(0, SIGTERM);
	while (wait(NULL) > 0)
		;
	return num ? tell(HELD, "after %d: %s", i - 1, strerror(num))
		   : tell(WORKED, "%d processes", i);
}

/* Without --pids-limit: 1024. */
static int fork_storm(void)
{
	return forks(1400, getuid() == 0 ? 5 : 0);
}

static int fork_bomb(void)
{
	return forks(300, 0);
}

static void count_child(int counter)
{
	(void)!write(counter, "x", 1);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* Every process forks, and tries again after a failure; 400 show the effect. */
static int bomb(void)
{
	int counter = memfd_create("count", MFD_CLOEXEC);
	struct timespec wait_for = {.tv_nsec = 20000000};
	pid_t first = getpid();
	int i;

	(void)fcntl(counter, F_SETFL, O_APPEND);
	for (i = 0; i < 400; i++) {
		if (lseek(counter, 0, SEEK_END) < 400 && fork() == 0)
			count_child(counter);
		(void)nanosleep(&wait_for, NULL);
	}
	return getpid() == first ? tell(WORKED, "forked for 8 s") : WORKED;
}

static int memory_hog(void)
{
	unsigned long i;

	for (i = 0; i < 400; i++) {
		char *p = mmap(NULL, MIB, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return tell(HELD, "after %lu MiB: %s", i,
				    strerror(errno));
		memset(p, 1, MIB);
	}
	(void)sleep(1);
	return tell(WORKED, "400 MiB");
}

/* In several processes: a limit for each of them limits nothing. */
static int memory_by_many(void)
{
	int i, good = 0, status;

	for (i = 0; i < 8; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			char *p = mmap(NULL, 50 * MIB, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			if (p == MAP_FAILED)
				_exit(1);
			memset(p, 1, 50 * MIB);
			(void)sleep(1);
			_exit(0);
		}
	}
	for (i = 0; i < 8; i++)
		good += wait(&status) > 0 && status == 0;
	return good == 8 ? tell(WORKED, "8 times 50 MiB")
			 : tell(HELD, "%d of 8", good);
}

static int fill_file(const char *path, int mib)
{
	static char block[MIB];
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int i;

	if (fd < 0)
		return verdict(-1, path);
	(void)unlink(path);
	memset(block, 1, sizeof(block));
	for (i = 0; i < mib; i++)
		if (write(fd, block, MIB) != (ssize_t)MIB)
			return tell(HELD, "after %d MiB: %s", i,
				    strerror(errno));
	return tell(WORKED, "%d MiB", mib);
}

static int tmp_file(void)
{
	return fill_file("/tmp/hostile", 100);
}

/* Belongs to no process, so no process is counted for it. */
static int shared_memory(void)
{
	return fill_file("/dev/shm/hostile", 14);
}

/* As many instances as the user may have in total. */
static int watchers(void)
{
	long most = 128, i;
	FILE *f = fopen("/proc/sys/fs/inotify/max_user_instances", "re");

	if (f && fscanf(f, "%ld", &most) != 1)
		most = 128;
	/* The last ones belong to other programs. */
	most -= most / 4;
	for (i = 0; i < most; i++)
		if (inotify_init1(IN_CLOEXEC) < 0)
			return tell(HELD, "after %ld: %s", i, strerror(errno));
	return tell(WORKED, "%ld of the user's instances", most);
}

/* Terminals, of which the machine has some 3,000 for all its containers. */
static int terminals(void)
{
	int i;

	for (i = 0; i < 1500; i++)
		if (posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC) < 0)
			return tell(HELD, "after %d: %s", i, strerror(errno));
	return tell(WORKED, "%d terminals", i);
}

/* In namespaces of its own, kept open by descriptors. */
static int namespaces(void)
{
	char path[64];
	int i, fd, num, up[2];

	for (i = 0; i < 1500; i++) {
		pid_t pid;

		if (pipe2(up, O_CLOEXEC) < 0)
			return tell(CANNOT, "pipe: %s", strerror(errno));
		pid = fork();
		if (pid < 0)
			return tell(CANNOT, "fork: %s", strerror(errno));
		if (pid == 0) {
			num = unshare(CLONE_NEWUSER) < 0 ? errno : 0;
			(void)!write(up[1], &num, sizeof(num));
			(void)pause();
			_exit(0);
		}
		(void)close(up[1]);
		if (read(up[0], &num, sizeof(num)) != (ssize_t)sizeof(num))
			num = ECHILD;
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		(void)close(up[0]);
		if (num)
			return tell(HELD, "after %d: %s", i, strerror(num));
		if (fd < 0)
			return tell(CANNOT, "%s: %s", path, strerror(errno));
	}
	return tell(WORKED, "%d namespaces", i);
}

/* The number of files that this machine can have open, bounded by its memory.
 */
static unsigned long most_files(void)
{
	unsigned long most = 0, kb = 0;
	FILE *f = fopen("/proc/sys/fs/file-max", "re");

	if (f && fscanf(f, "%lu", &most) != 1)
		most = 0;
	f = fopen("/proc/meminfo", "re");
	if (f && fscanf(f, "MemTotal: %lu", &kb) != 1)
		kb = 0;
	return kb / 10 < most ? kb / 10 : most;
}

/* A share of them, in processes that stay. 0: this process is one of them. */
static int open_share(unsigned long count)
{
	struct rlimit l;
	unsigned long i;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = l.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &l);
	for (i = 0; i < count; i++)
		if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
			return 1;
	return 0;
}

static int all_files(void)
{
	unsigned long each = 19000, wanted = most_files() / 10 * 6, i;
	unsigned long count = wanted / each + 1;
	int ready[2], status = 0;
	char byte;

	if (!wanted || wanted > 3000000 || count > 1000 ||
	    pipe2(ready, O_CLOEXEC) < 0)
		return tell(CANNOT, "%lu files", wanted);
	for (i = 0; i < count; i++)
		if (fork() == 0) {
			status = open_share(each);
			(void)!write(ready[1], status ? "n" : "y", 1);
			(void)pause();
		}
	for (i = 0; i < count; i++)
		if (read(ready[0], &byte, 1) != 1 || byte != 'y')
			return tell(HELD, "not all of %lu", wanted);
	/* Long enough for guard's check. */
	(void)sleep(3);
	return tell(WORKED, "%lu files", wanted);
}

static int all_requests(void)
{
	unsigned long most = 0, i;
	FILE *f = fopen("/proc/sys/fs/aio-max-nr", "re");

	if (f && fscanf(f, "%lu", &most) != 1)
		most = 0;
	for (i = 0; i < most / 10 * 6; i += 500) {
		unsigned long context = 0;

		if (syscall(SYS_io_setup, 500, &context) < 0)
			return tell(HELD, "after %lu: %s", i, strerror(errno));
	}
	(void)sleep(3);
	return tell(WORKED, "%lu requests", i);
}

static int before_all_others(void)
{
	struct sched_param p = {.sched_priority = 1};
	struct rlimit l;

	if (getrlimit(RLIMIT_RTPRIO, &l) < 0 ||
	    (!getenv("GUARD") && l.rlim_max == 0))
		return tell(CANNOT, "this user may not");
	l.rlim_cur = l.rlim_max;
	(void)setrlimit(RLIMIT_RTPRIO, &l);
	return verdict(sched_setscheduler(0, SCHED_FIFO, &p), "SCHED_FIFO");
}

static int spread(void)
{
	cpu_set_t set;
	int i;

	CPU_ZERO(&set);
	for (i = 0; i < 64; i++)
		CPU_SET(i, &set);
	return verdict(sched_setaffinity(0, sizeof(set), &set),
		       "sched_setaffinity");
}

static int spin_all(void)
{
	struct timespec t0, t1;
	struct rusage use;
	double wall, cpu;
	pid_t pids[4];
	int i;

	(void)clock_gettime(CLOCK_MONOTONIC, &t0);
	for (i = 0; i < 4; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			do
				(void)clock_gettime(CLOCK_MONOTONIC, &t1);
			while ((t1.tv_sec - t0.tv_sec) * 10 +
				       (t1.tv_nsec - t0.tv_nsec) / 100000000 <
			       10);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	(void)clock_gettime(CLOCK_MONOTONIC, &t1);
	(void)getrusage(RUSAGE_CHILDREN, &use);
	wall = (double)(t1.tv_sec - t0.tv_sec) +
	       (double)(t1.tv_nsec - t0.tv_nsec) / 1e9;
	cpu = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	      (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
	/* On a busy machine no other process gets much more either. */
	if (cpu / wall < 0.28)
		return tell(HELD, "%.2f processors", cpu / wall);
	return tell(WORKED, "%.2f processors", cpu / wall);
}

/* The limits of the process's own control group, through its file system. */
static int own_group(void)
{
	static const char script[] =
		"mkdir -p g; mount -t cgroup -o pids none g || "
		"mount -t cgroup2 none g || exit 1; "
		"find g -maxdepth 3 -name pids.max | while read -r f; do "
		"echo max 2>/dev/null >\"$f\"; done";
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		(void)execlp("unshare", "unshare", "-UrmC", "sh", "-c", script,
			     (char *)NULL);
		_exit(1);
	}
	(void)waitpid(pid, &status, 0);
	return forks(200, 0);
}

static int sleeper(void *arg)
{
	(void)arg;
	for (;;)
		(void)pause();
	return 0;
}

/* Faster than any check. The processes share all that can be shared. */
static int burst(void)
{
	const int wanted = 7000;
	const size_t stack = 8192;
	struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY};
	char *stacks =
		mmap(NULL, stack * (size_t)wanted, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int i;

	(void)setrlimit(RLIMIT_NPROC, &most);
	(void)setpgid(0, 0);
	for (i = 0; i < wanted && stacks != MAP_FAILED; i++)
		if (clone(sleeper, stacks + stack * (size_t)(i + 1),
			  CLONE_VM | CLONE_FILES | CLONE_FS | SIGCHLD,
			  NULL) < 0)
			break;
	(void)signal(SIGTERM, SIG_IGN);
	(void)kill(0, SIGTERM);
	while (wait(NULL) > 0)
		;
	return i == wanted ? tell(WORKED, "%d processes", i)
			   : tell(HELD, "after %d: %s", i, strerror(errno));
}

/* Queued signals count for the user, in all namespaces. */
static int queue_signals(void)
{
	union sigval value = {0};
	struct rlimit most;
	sigset_t set;
	unsigned long i, wanted;

	(void)getrlimit(RLIMIT_SIGPENDING, &most);
	most.rlim_cur = most.rlim_max;
	(void)setrlimit(RLIMIT_SIGPENDING, &most);
	wanted = getenv("GUARD") ? strtoul(getenv("VICTIM_SIGNALS"), NULL, 10)
				 : most.rlim_cur;
	wanted -= wanted / 4;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGRTMIN);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	for (i = 0; i < wanted; i++)
		if (sigqueue(getpid(), SIGRTMIN, value) < 0)
			return tell(HELD, "after %lu: %s", i, strerror(errno));
	return tell(WORKED, "%lu queued signals of the user's", i);
}

static const struct attack table[] = {
	{"P74", "more processes than allowed", "limit of processes",
	 PROOF_CLAIM, .options = "--pids-limit 200 GROUPED", .play = fork_bomb},
	{"P74d", "as many processes as it likes", "limit of processes",
	 PROOF_CLAIM, .options = "GROUPED", .play = fork_storm},
	{"G03", "a fork bomb that goes on", "limit of processes, guard",
	 PROOF_CLAIM, .options = "--pids-limit 60 GROUPED", .play = bomb},
	{"G04", "nested: lift the limits of its own control group",
	 "a group inside of that with the limits", PROOF_CLAIM, "root",
	 .options = "--nested --pids-limit 100 CGROUP", .play = own_group},
	{"G05", "very many processes before anybody looks",
	 "limit of processes, numbers for them", PROOF_CLAIM, .play = burst},
	{"G06", "take the user's queued signals away", "limit of the run",
	 PROOF_CLAIM, .play = queue_signals},
	{"G07", "more than half of the machine's open files", "guard",
	 PROOF_CLAIM, .play = all_files},
	{"G08", "more than half of the machine's requests of aio", "guard",
	 PROOF_CLAIM, .play = all_requests},
	{"G09", "half of the machine's terminals", "limit of its own devpts",
	 PROOF_CLAIM, .play = terminals},
	{"G10", "nested: very many namespaces", "limit of the user namespace",
	 PROOF_CLAIM, .options = "--nested", .play = namespaces},
	{"G11", "run before all others, in real time", "limit of the run",
	 PROOF_CLAIM, .play = before_all_others},
	{"P75", "take more memory than allowed", "limit of memory", PROOF_CLAIM,
	 .options = "--memory 200m GROUPED", .play = memory_hog},
	{"P75m", "the same by several processes", "limit of memory",
	 PROOF_CLAIM, .options = "--memory 200m GROUPED",
	 .play = memory_by_many},
	{"P75s", "take more memory than allowed as files in /dev/shm",
	 "size of /dev/shm, limit of memory", PROOF_CLAIM,
	 .options = "--memory 10m", .play = shared_memory},
	{"P76t", "fill /tmp", "size of /tmp", PROOF_CLAIM,
	 .options = "--tmp-size 64m", .play = tmp_file},
	{"P78w", "take the user's inotify instances away",
	 "limit of the user namespace", PROOF_CLAIM, .play = watchers},
	{"G01", "use more processors than allowed", "limit of processors",
	 PROOF_CLAIM, .options = "--cpus 0.2 CGROUP", .play = spin_all},
	{"G02", "take back the processors it lost", "filter", PROOF_CLAIM,
	 "user", .options = "--cpus 1", .play = spread},
	{0},
};

int main(int argc, char **argv)
{
	return attack_main(table, argc, argv);
}
