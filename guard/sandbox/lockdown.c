#include "guard/sandbox/namespaces_private.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/sandbox/mount.h"

#define NOFILE_MAX 65536

/* In a network namespace of its own the run may use ports below 1024 and ping.
 * A failure is ignored. */
static void open_low_ports(const struct setup *s)
{
	static const char dir[] = "/proc/sys/net/ipv4";
	auto_close int net = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int ports =
		openat(net, "ip_unprivileged_port_start", O_WRONLY | O_CLOEXEC);
	auto_close int ping =
		openat(net, "ping_group_range", O_WRONLY | O_CLOEXEC);

	if (ports >= 0)
		(void)!write(ports, "0", 1);
	if (ping >= 0)
		(void)!write(ping, s->root ? "0 2147483647" : "0 0",
			     s->root ? 12 : 3);
}

/* Runs before any mount. */
int lockdown_early(const struct setup *s, struct err *err)
{
	struct ifreq loopback = {.ifr_name = "lo",
				 .ifr_flags = IFF_UP | IFF_RUNNING};
	auto_close int fd = -1;

	/* The kernel has no namespace for keyrings: without a new one the run
	 * would inherit the session keyring. */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 &&
	    errno != ENOSYS)
		return userns_explain(errno, "new session keyring", err);
	if (sethostname("guard", 5) < 0)
		return fail_errno(err, "set the run's host name");
	if (s->policy->net == SANDBOX_NET_HOST)
		return 0;
	open_low_ports(s);
	/* Servers and clients of the run connect over 127.0.0.1. */
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fail_errno(err, "open a socket for the loopback");
	if (ioctl(fd, SIOCSIFFLAGS, &loopback) < 0)
		return fail_errno(err, "bring the loopback up");
	return 0;
}

/* Never raises a limit above the caller's. */
static int lower_limit(int resource, rlim_t soft, rlim_t hard, struct err *err)
{
	struct rlimit now;

	if (getrlimit(resource, &now) < 0)
		return fail_errno(err, "read a limit");
	if (now.rlim_max < hard)
		hard = now.rlim_max;
	if (soft > hard)
		soft = hard;
	if (soft > now.rlim_cur && now.rlim_cur != RLIM_INFINITY)
		soft = now.rlim_cur;
	if (setrlimit(resource, &(struct rlimit){soft, hard}) < 0)
		return fail_errno(err, "set a limit");
	return 0;
}

/* With a hard limit of 0 a piped core_pattern still starts its helper; only 1
 * prevents that (see limit_core_files()). Root can raise the limit to 1, a
 * plain user cannot. */
void lockdown_core(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_CORE, &l) == 0 && l.rlim_max < 1)
		(void)setrlimit(RLIMIT_CORE, &(struct rlimit){l.rlim_cur, 1});
}

/* Sets the limit to 1. With 0 a piped core_pattern still starts its helper as
 * root, outside of the run (measured). Also applies if the caller's soft limit
 * is 0, the usual value. */
static int limit_core_files(struct err *err)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_CORE, &l) < 0)
		return fail_errno(err, "read a limit");
	if (l.rlim_max < 1)
		return 0;
	if (setrlimit(RLIMIT_CORE, &(struct rlimit){1, 1}) < 0)
		return fail_errno(err, "set a limit");
	return 0;
}

/* Binds the run to some of guard's processors. The seccomp filter keeps it from
 * changing that. */
static void pin_to_cpus(unsigned int cpus_milli)
{
	unsigned int wanted = (cpus_milli + 999) / 1000, start, i;
	cpu_set_t may, set;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(may), &may) < 0)
		return;
	/* A different first processor for each run: pid 1 cannot use its pid,
	 * which is 1 in every run. */
	start = (unsigned int)time(NULL) % CPU_SETSIZE;
	for (i = 0; i < CPU_SETSIZE && wanted; i++) {
		unsigned int cpu = (start + i) % CPU_SETSIZE;

		if (CPU_ISSET(cpu, &may)) {
			CPU_SET(cpu, &set);
			wanted--;
		}
	}
	(void)sched_setaffinity(0, sizeof(set), &set);
}

/* Halves limits that the kernel counts for the user in this namespace and in
 * its parents: a run could take these resources away from the programs
 * outside. */
static int limit_user_resources(struct err *err)
{
	static const int shared[] = {RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE,
				     RLIMIT_MEMLOCK};
	struct rlimit now;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(shared); i++) {
		if (getrlimit(shared[i], &now) < 0)
			return fail_errno(err, "read a limit");
		if (now.rlim_max != RLIM_INFINITY &&
		    lower_limit(shared[i], now.rlim_max / 2, now.rlim_max / 2,
				err) < 0)
			return -err->num;
	}
	return 0;
}

int lockdown_limits(const struct setup *s, struct err *err)
{
	/* No real-time or raised priority: audio programs have it from the
	 * user's login, a run must not. */
	if (limit_core_files(err) < 0 ||
	    lower_limit(RLIMIT_RTPRIO, 0, 0, err) < 0 ||
	    lower_limit(RLIMIT_NICE, 0, 0, err) < 0 ||
	    lower_limit(RLIMIT_NOFILE, NOFILE_MAX, RLIM_INFINITY, err) < 0 ||
	    limit_user_resources(err) < 0)
		return -err->num;
	if (s->pin)
		pin_to_cpus(s->policy->cpus_milli);
	/* Counted in this user namespace only. Does not bind uid 0. */
	return lower_limit(RLIMIT_NPROC, s->pids_limit, s->pids_limit, err);
}

/*
 * Keeps CAP_SETFCAP for nested sandboxes of root: the kernel maps uid 0 into a
 * child namespace only if the parent's creator had CAP_SETFCAP
 * (user_namespaces(7)). The capability itself has no effect in a run: no mount
 * of a run honors file capabilities.
 */
static bool is_capability_kept(const struct sandbox_policy *p, bool root,
			       int cap)
{
	return cap == CAP_SETFCAP && root && p->nested &&
	       (!p->has_user || p->user == 0);
}

static int set_capabilities(uint32_t kept)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = {
		{.permitted = kept, .effective = kept}};

	return (int)syscall(SYS_capset, &header, data);
}

int lockdown_drop_all(void)
{
	return set_capabilities(0);
}

int lockdown_capabilities(const struct setup *s, struct err *err)
{
	const struct sandbox_policy *p = s->policy;
	int cap = 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return fail_errno(err, "set no_new_privs");
	while (is_capability_kept(p, s->root, cap) ||
	       prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
		cap++;
	/* EINVAL: the first capability that this kernel does not know. */
	if (errno != EINVAL || cap == 0)
		return fail_errno(err, "drop capability %d", cap);
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return fail_errno(err, "clear the ambient capabilities");
	/* Only root runs have a policy with a user. */
	if (p->has_user && (setgroups(p->group_count, p->groups) < 0 ||
			    setresgid(p->group, p->group, p->group) < 0 ||
			    setresuid(p->user, p->user, p->user) < 0))
		return fail_errno(err, "become user %u", p->user);
	if (set_capabilities(is_capability_kept(p, s->root, CAP_SETFCAP)
				     ? 1U << CAP_SETFCAP
				     : 0) < 0)
		return fail_errno(err, "drop all capabilities");
	return 0;
}

int lockdown_descriptors(struct setup *s, struct err *err)
{
	int *const kept[] = {&s->socket, &s->slave_fd, &s->master_fd,
			     &s->exec_socket_fd, &s->program_fd};
	const size_t count = ARRAY_SIZE(kept);
	int fd, next = 3;
	size_t i;

	for (fd = 0; fd < 3; fd++)
		if (s->replace[fd] && dup2(s->slave_fd, fd) < 0)
			return fail_errno(err, "use the run's terminal");
	/* Move all of them up first, so that no dup3(2) below overwrites
	 * another one. */
	for (i = 0; i < count; i++) {
		if (*kept[i] < 0)
			continue;
		*kept[i] = fcntl(*kept[i], F_DUPFD_CLOEXEC, 10);
		if (*kept[i] < 0)
			return fail_errno(err, "keep a descriptor");
	}
	for (i = 0; i < count; i++) {
		if (*kept[i] < 0)
			continue;
		if (dup3(*kept[i], next, O_CLOEXEC) < 0)
			return fail_errno(err, "keep a descriptor");
		*kept[i] = next++;
	}
	if (close_range((unsigned int)next, ~0U, 0) < 0)
		return fail_errno(err, "close all descriptors");
	return 0;
}

/* ---- Landlock ---- */

/* Constants of the kernel's interface: installed headers may be older. */
#define CREATE_RULESET_VERSION 1U
#define RULE_PATH_BENEATH 1
#define SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define SCOPE_SIGNAL (1ULL << 1)
#define FS_FIRST_RIGHTS 0x1fffULL /* ABI 1: bits 0 to 12 */
#define FS_EXECUTE (1ULL << 0)
#define FS_WRITE_FILE (1ULL << 1)
#define FS_READ_FILE (1ULL << 2)
#define FS_READ_DIR (1ULL << 3)
#define FS_REMOVE_FILE (1ULL << 5)
#define FS_MAKE_DIR (1ULL << 7)
#define FS_MAKE_REG (1ULL << 8)
#define FS_REMOVE_AND_MAKE 0x1ff0ULL /* bits 4 to 12 */
#define FS_REFER (1ULL << 13) /* ABI 2 */
#define FS_TRUNCATE (1ULL << 14) /* ABI 3 */
#define FS_IOCTL_DEV (1ULL << 15) /* ABI 5 */
#define FS_ON_FILES                                                            \
	(FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
#define NET_TCP 3ULL /* ABI 4: bind and connect */
#define ABI_WITH_SCOPES 6

struct landlock_ruleset {
	uint64_t fs, net, scoped;
};

struct landlock_path_rule {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

long landlock_abi(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, (size_t)0,
		       CREATE_RULESET_VERSION);
}

static int create_landlock_ruleset(const struct landlock_ruleset *rules)
{
	return (int)syscall(SYS_landlock_create_ruleset, rules, sizeof(*rules),
			    0U);
}

static int enforce_landlock(int fd, struct err *err)
{
	if (syscall(SYS_landlock_restrict_self, fd, 0U) < 0)
		return fail_errno(err, "enter the Landlock rules");
	return 0;
}

/*
 * Only scopes: a ruleset that handles any access right on files forbids all
 * mounts, so nested sandboxes would fail. With a network namespace of its own
 * the run reaches no abstract socket anyway; on the machine's network this
 * scope keeps it from X11, D-Bus and other listeners.
 */
int landlock_scope(struct err *err)
{
	struct landlock_ruleset rules = {
		.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL,
	};
	auto_close int fd = -1;

	if (landlock_abi() < ABI_WITH_SCOPES)
		return 0;
	fd = create_landlock_ruleset(&rules);
	if (fd < 0)
		return fail_errno(err, "Landlock");
	return enforce_landlock(fd, err);
}

/* A ruleset of all rights that the kernel's ABI knows. */
static int create_complete_ruleset(long abi, struct err *err)
{
	const struct landlock_ruleset rules = {
		.fs = FS_FIRST_RIGHTS | (abi >= 2 ? FS_REFER : 0) |
		      (abi >= 3 ? FS_TRUNCATE : 0) |
		      (abi >= 5 ? FS_IOCTL_DEV : 0),
		.net = abi >= 4 ? NET_TCP : 0,
		.scoped = abi >= ABI_WITH_SCOPES
				  ? SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL
				  : 0,
	};
	int fd = create_landlock_ruleset(&rules);

	return fd < 0 ? fail_errno(err, "Landlock") : fd;
}

int landlock_deny_all(struct err *err)
{
	long abi = landlock_abi();
	auto_close int fd = -1;

	if (abi < 1)
		return 0;
	fd = create_complete_ruleset(abi, err);
	return fd < 0 ? fd : enforce_landlock(fd, err);
}

static int allow_landlock_path(int landlock_ruleset, const char *path,
			       uint64_t rights, struct err *err)
{
	auto_close int fd = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_rule rule = {.allowed = rights, .fd = fd};
	struct stat st;

	/* A mount that another mount covers cannot be opened. */
	if (fd < 0)
		return 0;
	/* The kernel refuses rights of directories for another file. */
	if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.allowed &= FS_ON_FILES;
	if (syscall(SYS_landlock_add_rule, landlock_ruleset, RULE_PATH_BENEATH,
		    &rule, 0U) < 0 &&
	    errno != EINVAL)
		return fail_errno(err, "Landlock rule for %s",
				  text_quote(path));
	return 0;
}

int landlock_allow_files(const struct names *readable, struct err *err)
{
	static const char *const programs[] = {
		"/usr",	  "/bin",	"/lib",	      "/lib32",
		"/lib64", "/nix/store", "/gnu/store", "/etc/ld.so.cache",
	};
	const uint64_t read = FS_READ_FILE | FS_READ_DIR;
	long abi = landlock_abi();
	auto_close int fd = -1;
	size_t i;
	int got;

	if (abi < 1)
		return fail(err, ENOSYS, "the kernel has no Landlock");
	fd = create_complete_ruleset(abi, err);
	if (fd < 0)
		return fd;
	got = allow_landlock_path(fd, ".",
				  read | FS_WRITE_FILE | FS_REMOVE_FILE |
					  FS_MAKE_DIR | FS_MAKE_REG |
					  (abi >= 3 ? FS_TRUNCATE : 0),
				  err);
	if (got == 0)
		got = allow_landlock_path(fd, "/dev/null",
					  FS_READ_FILE | FS_WRITE_FILE, err);
	for (i = 0; got == 0 && i < ARRAY_SIZE(programs); i++)
		got = allow_landlock_path(fd, programs[i], read | FS_EXECUTE,
					  err);
	for (i = 0; got == 0 && i < readable->count; i++)
		got = allow_landlock_path(fd, readable->items[i], read, err);
	return got < 0 ? got : enforce_landlock(fd, err);
}

/*
 * Allows writes on writable mounts of the run and on the nodes of /dev. A
 * read-only mount alone does not protect a FIFO or a device on it. Rules and
 * scopes share one ruleset: a second ruleset without rules for files would
 * forbid every rename from one directory to another.
 */
int landlock_writes(struct err *err)
{
	AUTO(mountinfo) struct mountinfo table = {0};
	struct landlock_ruleset rules = {
		.fs = FS_WRITE_FILE | FS_REMOVE_AND_MAKE,
		.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL,
	};
	long abi = landlock_abi();
	auto_close int fd = -1;
	size_t i;
	int rc;

	if (abi < 2)
		return fail(err, ENOSYS,
			    "--strict needs Landlock (Linux 5.19, "
			    "CONFIG_SECURITY_LANDLOCK, lsm=landlock,...): see "
			    "guard doctor");
	rules.fs |= FS_REFER | (abi >= 3 ? FS_TRUNCATE : 0) |
		    (abi >= 5 ? FS_IOCTL_DEV : 0);
	if (abi < ABI_WITH_SCOPES)
		rules.scoped = 0;
	rc = mountinfo_load(0, &table, err);
	if (rc < 0)
		return rc;
	fd = create_landlock_ruleset(&rules);
	if (fd < 0)
		return fail_errno(err, "Landlock");
	rc = allow_landlock_path(fd, "/dev", rules.fs & FS_ON_FILES, err);
	for (i = 0; rc == 0 && i < table.count; i++)
		if (table.items[i].writable)
			rc = allow_landlock_path(fd, table.items[i].point,
						 rules.fs, err);
	return rc < 0 ? rc : enforce_landlock(fd, err);
}
