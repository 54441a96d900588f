/* Attacks on the kernel's surface: calls, switches, devices, set-id. */
#include <linux/bpf.h>
#include <linux/fs.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "tests/hostile/attack.h"

/* Whether the kernel itself got the call: the arguments make it fail with
 * another error than EPERM before it does anything. */
static int reached(long rc, const char *what)
{
	if (rc >= 0)
		return tell(WORKED, "%s: done", what);
	if (errno == ENOSYS || errno == EPERM)
		return tell(HELD, "%s: %s", what, strerror(errno));
	return tell(WORKED, "%s: %s", what, strerror(errno));
}

static int io_uring(void)
{
	return reached(syscall(SYS_io_uring_setup, 0U, NULL), "io_uring_setup");
}

static int io_uring_use(void)
{
	errno = 0;
	(void)syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0);
	if (errno == EBADF)
		return tell(WORKED, "io_uring_enter");
	(void)syscall(SYS_io_uring_register, -1, 0, NULL, 0);
	return errno == EBADF ? tell(WORKED, "io_uring_register")
			      : tell(HELD, "%s", strerror(errno));
}

static int bpf(void)
{
	return reached(syscall(SYS_bpf, 9999, NULL, 0), "bpf");
}

static int perf(void)
{
	return reached(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0UL),
		       "perf_event_open");
}

static int page_faults(void)
{
	return reached(syscall(SYS_userfaultfd, 0x7fffffff), "userfaultfd");
}

static int page_faults_node(void)
{
	return verdict(open("/dev/userfaultfd", O_RDWR | O_CLOEXEC),
		       "/dev/userfaultfd");
}

static int fanotify(void)
{
	return reached(syscall(SYS_fanotify_init, 0x200U, 0U), "fanotify_init");
}

static int fanotify_mark_call(void)
{
	return reached(syscall(SYS_fanotify_mark, -1, 1U, 1UL, AT_FDCWD, "."),
		       "fanotify_mark");
}

static int kernel_log(void)
{
	return reached(syscall(SYS_syslog, 3, NULL, -1), "syslog");
}

static int set_time(void)
{
	/* an invalid time for every kernel */
	struct timeval tv = {.tv_usec = 2000000};

	return reached(syscall(SYS_settimeofday, &tv, NULL), "settimeofday");
}

static int quota(void)
{
	return reached(syscall(SYS_quotactl, 0xffffff00U, NULL, 0, NULL),
		       "quotactl");
}

static int ldt(void)
{
#ifdef SYS_modify_ldt
	return reached(syscall(SYS_modify_ldt, 0, NULL, 0UL), "modify_ldt");
#else
	return tell(CANNOT, "not on this machine");
#endif
}

static int numa(void)
{
	return reached(syscall(SYS_mbind, 0UL, 0UL, 99, NULL, 0UL, 0U),
		       "mbind");
}

static int pages(void)
{
	return reached(syscall(SYS_move_pages, 0, 1UL, NULL, NULL, NULL, 0),
		       "move_pages");
}

static int mount_query(void)
{
	return reached(syscall(SYS_lookup_dcookie, 0UL, NULL, 0UL),
		       "lookup_dcookie");
}

/* Calls that no run needs, each with invalid arguments. */
static int odd_calls(void)
{
	static const struct {
		long nr;
		const char *name;
		long a, b, c;
	} calls[] = {
		{SYS_quotactl_fd, "quotactl_fd", -1, -1, 0},
		{SYS_swapon, "swapon", 0, -1, 0},
		{SYS_swapoff, "swapoff", 0, 0, 0},
		{SYS_acct, "acct", -1, 0, 0},
		{SYS_reboot, "reboot", 1, 1, 1},
		{SYS_kexec_load, "kexec_load", 0, 0, -1},
		{SYS_kexec_file_load, "kexec_file_load", -1, -1, 0},
		{SYS_init_module, "init_module", 0, 0, 0},
		{SYS_finit_module, "finit_module", -1, 0, -1},
		{SYS_delete_module, "delete_module", -1, 0, 0},
		{SYS_sethostname, "sethostname", 0, -1, 0},
		{SYS_setdomainname, "setdomainname", 0, -1, 0},
		{SYS_clock_settime, "clock_settime", 0, -1, 0},
#ifdef SYS_iopl
		{SYS_iopl, "iopl", 9, 0, 0},
		{SYS_ioperm, "ioperm", -1, 9, 0},
#endif
		{SYS_migrate_pages, "migrate_pages", -1, 0, 0},
	};
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		long rc = syscall(calls[i].nr, calls[i].a, calls[i].b,
				  calls[i].c, 0L, 0L, 0L);

		if (rc >= 0 || (errno != EPERM && errno != ENOSYS))
			return tell(WORKED, "%s: %s", calls[i].name,
				    strerror(errno));
	}
	return tell(HELD, "none of them");
}

/* Namespaces have file handles since Linux 6.18: no directory is needed. */
static int namespace_by_handle(void)
{
	struct {
		struct file_handle head;
		unsigned char data[128];
	} h = {.head.handle_bytes = 128};
	int mount_id, fd;

	if (name_to_handle_at(AT_FDCWD, "/proc/self/ns/net", &h.head, &mount_id,
			      AT_SYMLINK_FOLLOW) < 0)
		return tell(CANNOT, "name_to_handle_at: %s", strerror(errno));
	fd = open_by_handle_at(-10003 /* FD_NSFS_ROOT */, &h.head, O_RDONLY);
	return verdict(fd, "open_by_handle_at");
}

static int file_capability(void)
{
	/* cap_sys_admin+ep, revision 2 */
	static const unsigned char caps[20] = {1, 0, 0, 2, 0, 0, 0x20};
	int fd = open("capable", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

	return verdict(
		fsetxattr(fd, "security.capability", caps, sizeof(caps), 0),
		"capabilities of a file");
}

static int immutable(void)
{
	int fd = open("fixed", O_RDONLY | O_CREAT | O_CLOEXEC, 0644), on = 0x10;
	int rc = ioctl(fd, FS_IOC_SETFLAGS, &on), off = 0;

	if (rc == 0)
		(void)ioctl(fd, FS_IOC_SETFLAGS, &off);
	return verdict(rc, "chattr +i");
}

/* Mappings of files other than memory files lead through the machine's own
 * mounts. */
static int map_files(void)
{
	char line[256], path[64];
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "/kernel"))
			continue;
		(void)snprintf(path, sizeof(path), "/proc/self/map_files/%.*s",
			       (int)strcspn(line, " "), line);
		return verdict(open(path, O_RDONLY | O_CLOEXEC), path);
	}
	return tell(CANNOT, "not mapped");
}

/* A device that was granted for reading only; /dev/net/tun, to match the
 * driver. */
static int input_device(void)
{
	struct stat st;

	if (fstat(0, &st) < 0 || !S_ISCHR(st.st_mode))
		return tell(CANNOT, "input is no device");
	return verdict(open("/proc/self/fd/0", O_WRONLY | O_CLOEXEC),
		       "open the input device for writing");
}

static int executable_data(void)
{
	return verdict(personality(READ_IMPLIES_EXEC),
		       "personality(READ_IMPLIES_EXEC)");
}

static int no_randomization(void)
{
	return verdict(personality(ADDR_NO_RANDOMIZE),
		       "personality(ADDR_NO_RANDOMIZE)");
}

/* In a child, because the result may be a fatal signal. */
static int in_child(long (*call)(void), const char *what)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(call() == getppid() ? 0 : 1);
	(void)waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		return tell(HELD, "%s: signal %d", what, WTERMSIG(status));
	return status == 0 ? tell(WORKED, "%s", what)
			   : tell(CANNOT, "%s: no such call outside", what);
}

#ifdef __x86_64__
static long getppid_32(void)
{
	long rc;

	__asm__ volatile("int $0x80" : "=a"(rc) : "a"(64L) : "memory");
	return rc;
}

static long getppid_x32(void)
{
	return syscall(0x40000000 | SYS_getppid);
}
#endif

static int call_32(void)
{
#ifdef __x86_64__
	return in_child(getppid_32, "a call of i386");
#else
	return tell(CANNOT, "not on this machine");
#endif
}

/* Uses int 0x80, the only way from a 64-bit program. */
#ifdef __x86_64__
static long old_call(long nr, long a, long b, long c)
{
	long rc;

	__asm__ volatile("int $0x80"
			 : "=a"(rc)
			 : "a"(nr), "b"(a), "c"(b), "d"(c)
			 : "memory", "r8", "r9", "r10", "r11");
	return rc;
}

static int unshare_32(void)
{
	long rc = old_call(310, 0x10000000, 0, 0);

	return rc == 0 ? tell(WORKED, "unshare")
		       : tell(HELD, "%s", strerror((int)-rc));
}

static int socket_32(void)
{
	long rc = old_call(359, 16, 3, 9);

	return rc >= 0 ? tell(WORKED, "socket")
		       : tell(HELD, "%s", strerror((int)-rc));
}
#else
static int unshare_32(void)
{
	return tell(CANNOT, "not on this machine");
}

#define socket_32 unshare_32
#endif

static int call_x32(void)
{
#ifdef __x86_64__
	return in_child(getppid_x32, "a call of x32");
#else
	return tell(CANNOT, "not on this machine");
#endif
}

static int block_node(void)
{
	(void)unlink("node");
	return verdict(mknod("node", S_IFBLK | 0600, makedev(8, 0)),
		       "mknod of a disk");
}

static int whiteout(void)
{
	(void)unlink("white");
	return verdict(mknod("white", S_IFCHR | 0600, makedev(0, 0)),
		       "mknod of a whiteout");
}

static int open_for_writing(const char *const *paths)
{
	for (; *paths; paths++)
		if (open(*paths, O_WRONLY | O_CLOEXEC) >= 0)
			return tell(WORKED, "%s opened", *paths);
	return tell(HELD, "none opened");
}

static int switches(void)
{
	static const char *const paths[] = {
		"/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches",
		"/proc/sys/kernel/modprobe",	 "/proc/sysrq-trigger",
		"/proc/sys/fs/file-max",	 NULL};

	return open_for_writing(paths);
}

static int other_switches(void)
{
	static const char *const paths[] = {"/proc/mtrr",
					    "/proc/scsi/scsi",
					    "/proc/pressure/cpu",
					    "/proc/acpi/wakeup",
					    "/proc/dynamic_debug/control",
					    "/proc/irq/default_smp_affinity",
					    NULL};

	return open_for_writing(paths);
}

static int system_files(void)
{
	static const char *const paths[] = {
		"/sys/kernel/uevent_helper", "/sys/kernel/mm/ksm/run",
		"/sys/kernel/mm/transparent_hugepage/enabled",
		"/sys/power/state", NULL};

	return open_for_writing(paths);
}

static int kernel_memory(void)
{
	static const char *const paths[] = {"/proc/kcore", "/proc/kmsg",
					    "/dev/kmsg",   "/dev/mem",
					    "/dev/port",   NULL};
	char byte;
	size_t i;

	for (i = 0; paths[i]; i++) {
		int fd = open(paths[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);

		if (fd >= 0 && (read(fd, &byte, 1) > 0 || errno == EAGAIN))
			return tell(WORKED, "%s read", paths[i]);
	}
	return tell(HELD, "none read");
}

static int secrets_of_proc(void)
{
	static const char *const paths[] = {"/proc/kallsyms",
					    "/proc/keys",
					    "/proc/timer_list",
					    "/proc/slabinfo",
					    "/proc/vmallocinfo",
					    "/proc/kpagecount",
					    "/sys/firmware/dmi/tables/DMI",
					    NULL};
	char text[64];
	size_t i;

	for (i = 0; paths[i]; i++) {
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC);

		if (fd >= 0 && read(fd, text, sizeof(text)) > 0)
			return tell(WORKED, "%s read", paths[i]);
	}
	return tell(HELD, "none read");
}

static int debug_files(void)
{
	return verdict(
		access("/sys/kernel/debug/bdi", R_OK) == 0 ||
				access("/sys/kernel/tracing/README", R_OK) == 0
			? 0
			: -1,
		"debugfs, tracefs");
}

static int devices(void)
{
	static const char *const names[] = {
		"kvm",	 "fuse", "net/tun", "dri",     "snd",	"input", "vda",
		"loop0", "mem",	 "kmsg",    "console", "hwrng", NULL};
	char path[64];
	size_t i;

	for (i = 0; names[i]; i++) {
		(void)snprintf(path, sizeof(path), "/dev/%s", names[i]);
		if (access(path, F_OK) == 0)
			return tell(WORKED, "%s", path);
	}
	return tell(getenv("GUARD_RUN") ? HELD : CANNOT, "none of them");
}

static int core_limit(void)
{
	struct rlimit l = {RLIM_INFINITY, RLIM_INFINITY};

	if (setrlimit(RLIMIT_CORE, &l) == 0)
		return tell(WORKED, "setrlimit");
	if (!getenv("GUARD") && getrlimit(RLIMIT_CORE, &l) == 0 &&
	    l.rlim_max < 1)
		return tell(CANNOT, "the hard limit is 0");
	if (getrlimit(RLIMIT_CORE, &l) == 0 && l.rlim_cur != 1)
		return tell(WORKED, "limit %ld", (long)l.rlim_cur);
	return verdict(-1, "setrlimit");
}

static int forge(void)
{
	(void)mkdir("forged", 0755);
	if (setxattr("forged", "user.overlay.opaque", "y", 1, 0) < 0)
		return verdict(-1, "setxattr");
	return tell(WORKED, "set");
}

static const struct attack table[] = {
	{"P64", "io_uring_setup", "filter", PROOF_CLAIM, .play = io_uring},
	{"P64w", "io_uring works when allowed", "-", PROOF_WORKS,
	 .options = "--allow io_uring", .play = io_uring},
	{"P65pw", "perf_event_open works when allowed", "-", PROOF_WORKS,
	 .options = "--allow perf", .play = perf},
	{"P65uw", "userfaultfd works when allowed", "-", PROOF_WORKS,
	 .options = "--allow userfaultfd", .play = page_faults},
	{"P67w", "calls of i386 work when allowed", "-", PROOF_WORKS,
	 .options = "--allow 32bit", .play = call_32},
	{"K11", "namespaces by calls of i386", "filter of both machines",
	 PROOF_CLAIM, .options = "--allow 32bit", .play = unshare_32},
	{"K12", "AF_ALG and audit by calls of i386", "filter of both machines",
	 PROOF_CLAIM, .options = "--allow 32bit", .play = socket_32},
	{"K01", "io_uring_enter, io_uring_register", "filter", PROOF_CLAIM,
	 .play = io_uring_use},
	{"P65b", "bpf", "filter", PROOF_CLAIM, "root", .play = bpf},
	{"P65p", "perf_event_open", "filter", PROOF_CLAIM, .play = perf},
	{"P65u", "userfaultfd", "filter", PROOF_CLAIM, .play = page_faults},
	{"K02", "/dev/userfaultfd", "private /dev", PROOF_CLAIM,
	 .play = page_faults_node},
	{"P65f", "fanotify_init", "filter", PROOF_CLAIM, .play = fanotify},
	{"K03", "fanotify_mark", "filter", PROOF_CLAIM,
	 .play = fanotify_mark_call},
	{"P65s", "syslog", "filter", PROOF_CLAIM, .play = kernel_log},
	{"P65t", "settimeofday", "filter", PROOF_CLAIM, .play = set_time},
	{"P65q", "quotactl", "filter", PROOF_CLAIM, .play = quota},
	{"P65l", "modify_ldt", "filter", PROOF_CLAIM, .play = ldt},
	{"K04", "mbind", "filter", PROOF_CLAIM, .play = numa},
	{"K05", "move_pages", "filter", PROOF_CLAIM, .play = pages},
	{"P65r", "modules, swap, kexec, clocks and more", "filter", PROOF_CLAIM,
	 "root", .play = odd_calls},
	{"K13", "a namespace by its file handle", "filter", PROOF_CLAIM,
	 .play = namespace_by_handle},
	{"K14", "give a file capabilities", "no capabilities", PROOF_CLAIM,
	 "root", .play = file_capability},
	{"K15", "make a file immutable", "no capabilities", PROOF_CLAIM, "root",
	 .play = immutable},
	{"K16", "open a file again through /proc/self/map_files",
	 "no capabilities", PROOF_CLAIM, "root", .play = map_files},
	{"K17", "write to the device that is its input",
	 "input on a mount without devices", PROOF_CLAIM, .options = "DEVICE",
	 .play = input_device},
	{"K06", "lookup_dcookie", "filter", PROOF_CLAIM, .play = mount_query},
	{"P66", "personality(READ_IMPLIES_EXEC)", "filter", PROOF_CLAIM,
	 .play = executable_data},
	{"P66w", "personality(ADDR_NO_RANDOMIZE) works", "-", PROOF_WORKS,
	 .play = no_randomization},
	{"P67", "a call of i386", "filter", PROOF_CLAIM, .play = call_32},
	{"P67x", "a call of x32", "filter", PROOF_CLAIM, .play = call_x32},
	{"P68", "make a disk's node", "filter, capabilities", PROOF_CLAIM,
	 "root", .play = block_node},
	{"P68w", "make a whiteout's node", "filter", PROOF_CLAIM,
	 .play = whiteout},
	{"P69", "switches of the kernel", "closed /proc/sys", PROOF_CLAIM,
	 "root", .play = switches},
	{"K07", "writable files elsewhere in /proc", "closed /proc",
	 PROOF_CLAIM, "root", .play = other_switches},
	{"P69s", "writable files in /sys", "read-only root", PROOF_CLAIM,
	 "root", .play = system_files},
	{"K08", "memory and log of the kernel", "closed /proc, private /dev",
	 PROOF_CLAIM, "root", .play = kernel_memory},
	{"K09", "what /proc tells of the kernel", "closed /proc", PROOF_CLAIM,
	 "root", .play = secrets_of_proc},
	{"K10", "debugfs and tracefs", "masks", PROOF_CLAIM, "root",
	 .play = debug_files},
	{"P70", "a set-id program gives rights", "no_new_privs, nosuid",
	 PROOF_CLAIM, "user",
	 .shell = "test -u /srv/service/setid && "
		  "test \"$(/srv/service/setid -u)\" = 0"},
	{"P71", "a core dump starts a helper outside", "limit of core files",
	 PROOF_CLAIM, .play = core_limit},
	{"P72", "forge marks of overlayfs", "layer: escaped or refused",
	 PROOF_HOST, .play = forge},
	{"P73", "devices", "private /dev", PROOF_CLAIM, .play = devices},
	{0},
};

int main(int argc, char **argv)
{
	return attack_main(table, argc, argv);
}
