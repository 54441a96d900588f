#include "guard/sandbox/inspect.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/child.h"
#include "base/fd.h"
#include "guard/sandbox/cgroup.h"
#include "guard/sandbox/filter.h"
#include "guard/sandbox/network.h"
#include "guard/sandbox/namespaces.h"

struct inspect_report {
	void (*report_layer)(void *arg, const struct inspection *i);
	void *arg;
};

static void report_layer(const struct inspect_report *r,
			 enum inspect_state state, const char *name,
			 const char *text, const char *remedy)
{
	r->report_layer(r->arg, &(struct inspection){.state = state,
						     .name = name,
						     .text = text,
						     .remedy = remedy});
}

/* Probes by a real setup: an obstacle for a run is one for this setup as
 * well. */
int sandbox_probe(int (*in_child)(void *arg, struct err *err), void *arg,
		  struct err *err)
{
	static char name[] = "true", *argv[] = {name, NULL}, *envp[] = {NULL};
	struct sandbox_policy policy = {
		.argv = argv,
		.envp = envp,
		.cwd = "/",
		.tmp_fd = -1,
		.var_tmp_fd = -1,
		.exec_socket_fd = -1,
		.open_layers = in_child,
		.layers_arg = arg,
	};
	struct sandbox *sb = NULL;
	int rc = sandbox_start(&policy, &sb, err);

	sandbox_free(&sb);
	return rc;
}

/* Loads a filter in a child, since a process cannot remove a filter. */
static bool can_load_notifier(void)
{
	static const struct sock_filter allow = {
		.code = BPF_RET | BPF_K,
		.k = SECCOMP_RET_ALLOW,
	};
	pid_t pid = child_fork("guard-probe");

	if (pid == 0) {
		(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		_exit(filter_load_notifier(&allow, sizeof(allow)) < 0);
	}
	return child_wait(pid) == 0;
}

/* Renames, and overwrites that pass a lease by (notifier.h). */
static void inspect_renames(const struct inspect_report *r)
{
	static const char yama[] = "/proc/sys/kernel/yama/ptrace_scope";

	/* pid 1 reads the names of a call from the command's memory. */
	if (fd_read_number(yama, -1) >= 2)
		report_layer(
			r, INSPECT_WEAKER, "renames",
			"yama lets no process read another process's memory, "
			"so renaming a directory that is older than the run "
			"fails (EXDEV), which some programs cannot handle, and "
			"truncate(2) and opens with O_NONBLOCK can destroy a "
			"version of the run",
			"sudo sysctl -w kernel.yama.ptrace_scope=1 (a 3 can be "
			"changed by a reboot only)");
	else if (can_load_notifier())
		report_layer(r, INSPECT_OK, "renames",
			     "directories that are older than the run can be "
			     "renamed, and guard is asked before truncate(2)",
			     NULL);
	else
		report_layer(
			r, INSPECT_WEAKER, "renames",
			"renaming a directory that is older than the run fails "
			"(EXDEV), which some programs cannot handle, and "
			"truncate(2) and opens with O_NONBLOCK can destroy a "
			"version of the run",
			"Linux 5.19 or newer, and guard outside of another "
			"sandbox's filter");
}

static void inspect_limits(const struct inspect_report *r)
{
	static const struct sandbox_policy all = {
		.memory = 1 << 30,
		.cpus_milli = 1000,
		.pids_limit = 1000,
	};
	auto_free char *text = NULL;
	struct cgroup c;
	bool complete;

	cgroup_make(&c, "/sys/fs/cgroup", &all);
	complete = c.holds[CGROUP_MEMORY] && c.holds[CGROUP_CPU] &&
		   c.holds[CGROUP_PIDS];
	text = mem_printf("control groups, version %d", c.version);
	cgroup_remove(&c);
	if (complete)
		report_layer(r, INSPECT_OK, "limits", text, NULL);
	else
		report_layer(
			r, INSPECT_WEAKER, "limits",
			"no control group with memory, cpu and pids: guard "
			"measures --memory itself, --cpus uses complete "
			"processors",
			geteuid() == 0
				? "enable the controllers in "
				  "/sys/fs/cgroup/cgroup.subtree_control"
				: "a login of your own (not su or sudo), whose "
				  "systemd --user has these controllers, and "
				  "control groups of version 2");
}

static void inspect_network(const struct inspect_report *r)
{
	const char *pasta = pasta_find();
	struct network n = {0};
	struct err err;

	if (!pasta)
		report_layer(
			r, INSPECT_WEAKER, "network",
			"pasta is not installed, so --net private does not "
			"work",
			"apt install passt (Debian 12, Ubuntu 22.10 or newer)");
	else if (access("/dev/net/tun", R_OK | W_OK) < 0)
		report_layer(
			r, INSPECT_WEAKER, "network",
			"/dev/net/tun cannot be opened, so --net private does "
			"not work",
			"sudo modprobe tun; its mode is 0666 everywhere else");
	else if (network_find(&n, &err) < 0)
		report_layer(r, INSPECT_WEAKER, "network",
			     "this machine has no default route, so --net "
			     "private does not work",
			     NULL);
	else
		report_layer(r, INSPECT_OK, "network", pasta, NULL);
	network_free(&n);
}

static void inspect_cores(const struct inspect_report *r)
{
	AUTO(buf) struct buf b = {0};
	struct err ignored;
	struct rlimit l;

	if (fd_slurp_at(AT_FDCWD, "/proc/sys/kernel/core_pattern", 4096, &b,
			&ignored) < 0 ||
	    (buf_text(&b)[0] != '|' && buf_text(&b)[0] != '@') ||
	    getrlimit(RLIMIT_CORE, &l) < 0 || l.rlim_max >= 1 ||
	    geteuid() == 0) {
		report_layer(r, INSPECT_OK, "core dumps",
			     "a crash in a run starts no program outside",
			     NULL);
		return;
	}
	report_layer(r, INSPECT_WEAKER, "core dumps",
		     "with a hard limit of 0 for core files, a crash in a run "
		     "starts the machine's core dump helper outside, as root",
		     "a hard limit of 1 or more: limits.conf(5), or LimitCORE= "
		     "of the unit");
}

void sandbox_inspect(void (*each)(void *arg, const struct inspection *i),
		     void *arg)
{
	struct inspect_report r = {each, arg};
	long abi = landlock_abi();
	auto_free char *text = mem_printf("version %ld", abi);
	struct utsname name;
	struct err err;

	if (uname(&name) == 0)
		report_layer(&r, INSPECT_OK, "kernel", name.release, NULL);
	if (sandbox_probe(NULL, NULL, &err) == 0)
		report_layer(&r, INSPECT_OK, "fence",
			     "namespaces, mounts, /proc, filters: a test "
			     "sandbox was started",
			     NULL);
	else
		report_layer(&r, INSPECT_MISSING, "fence", err.text,
			     "no run starts without it");
	if (abi >= 6)
		report_layer(&r, INSPECT_OK, "landlock", text, NULL);
	else if (abi >= 2)
		report_layer(
			&r, INSPECT_WEAKER, "landlock",
			"no scopes: with --net host a run reaches abstract "
			"sockets (X11, some D-Bus)",
			"Linux 6.12 or newer, or --net none");
	else
		report_layer(&r, INSPECT_WEAKER, "landlock",
			     "missing: with --net host a run reaches abstract "
			     "sockets; --strict and import are refused",
			     "boot a kernel with CONFIG_SECURITY_LANDLOCK and "
			     "landlock in lsm=");
	inspect_renames(&r);
	inspect_limits(&r);
	inspect_network(&r);
	inspect_cores(&r);
}
