#include "guard/sandbox/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/child.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/library.h"
#include "base/timestamp.h"
#include "guard/sandbox/procfs.h"
#include "guard/sandbox/sandbox.h"

#define SERVICE "org.freedesktop.systemd1"
#define OBJECT "/org/freedesktop/systemd1"
#define INTERFACE SERVICE ".Manager"
#define ADDRESS "unix:path="
/* Longest wait for a reply of systemd. */
#define WAIT_USEC 5000000u

/* ---- libsystemd ---- */

struct sd_bus;
struct sd_bus_message;

/* The functions in use; sd-bus(3). A message whose content could not be added
 * is refused by call(). The names below have the same order. */
static struct {
	int (*new)(struct sd_bus **ret);
	int (*set_address)(struct sd_bus *bus, const char *address);
	int (*start)(struct sd_bus *bus);
	struct sd_bus *(*close_unref)(struct sd_bus *bus);
	int (*message_new_method_call)(struct sd_bus *bus,
				       struct sd_bus_message **ret,
				       const char *service, const char *object,
				       const char *interface,
				       const char *member);
	int (*message_append)(struct sd_bus_message *m, const char *types, ...);
	int (*message_open_container)(struct sd_bus_message *m, char type,
				      const char *contents);
	int (*message_close_container)(struct sd_bus_message *m);
	int (*call)(struct sd_bus *bus, struct sd_bus_message *m, uint64_t usec,
		    void *ret_error, struct sd_bus_message **ret);
	int (*process)(struct sd_bus *bus, struct sd_bus_message **ret);
	int (*wait)(struct sd_bus *bus, uint64_t usec);
	int (*message_is_signal)(struct sd_bus_message *m,
				 const char *interface, const char *member);
	int (*message_read)(struct sd_bus_message *m, const char *types, ...);
	struct sd_bus_message *(*message_unref)(struct sd_bus_message *m);
} bus;

static bool load_libsystemd(void)
{
	struct err ignored;

	return library_load(LIBRARY_LIBSYSTEMD, "sd_bus_",
			    "new set_address start close_unref "
			    "message_new_method_call message_append "
			    "message_open_container message_close_container "
			    "call process wait message_is_signal message_read "
			    "message_unref",
			    &bus, &ignored) == 0;
}

/* ---- the scope ---- */

/*
 * A transient scope of the user's systemd with the limits of a policy. systemd
 * owns the cgroup tree: it takes the controllers from a group that another
 * program made, and a process of an ssh login may not leave the cgroup of that
 * login. systemd itself may move it.
 *
 *	scope_make()	creates the scope around a holder process
 *	scope_enter()	moves the run in and ends the holder
 *	scope_end()	without scope_enter(): removes the scope
 *
 * The kernel removes the scope's group after its last process.
 */

/* Connects to the private socket of the user's systemd, without a bus daemon.
 * NULL: no systemd, or no libsystemd. */
static struct sd_bus *connect_manager(void)
{
	struct sd_bus *manager = NULL;
	char address[64];

	if (geteuid() == 0)
		(void)snprintf(address, sizeof(address),
			       ADDRESS "/run/systemd/private");
	else
		(void)snprintf(address, sizeof(address),
			       ADDRESS "/run/user/%u/systemd/private",
			       geteuid());
	if (access(address + strlen(ADDRESS), F_OK) < 0 || !load_libsystemd() ||
	    bus.new(&manager) < 0)
		return NULL;
	return bus.set_address(manager, address) < 0 || bus.start(manager) < 0
		       ? bus.close_unref(manager)
		       : manager;
}

static struct sd_bus_message *new_call(struct scope *s, const char *method)
{
	struct sd_bus_message *m = NULL;

	(void)bus.message_new_method_call(s->bus, &m, SERVICE, OBJECT,
					  INTERFACE, method);
	return m;
}

/* Sends the call, frees it and waits for the reply. */
static bool call_manager(struct scope *s, struct sd_bus_message *m)
{
	int got = bus.call(s->bus, m, WAIT_USEC, NULL, NULL);

	(void)bus.message_unref(m);
	return got >= 0;
}

/* Waits for the signal JobRemoved of this unit. */
static bool wait_systemd_job(struct scope *s)
{
	for (;;) {
		const char *job, *unit, *result;
		struct sd_bus_message *m = NULL;
		bool ours, done;
		uint32_t number;
		int got = bus.process(s->bus, &m);

		ours = m &&
		       bus.message_is_signal(m, INTERFACE, "JobRemoved") > 0 &&
		       bus.message_read(m, "uoss", &number, &job, &unit,
					&result) > 0 &&
		       strcmp(unit, s->unit) == 0;
		done = ours && strcmp(result, "done") == 0;
		(void)bus.message_unref(m);
		if (ours)
			return done;
		if (got < 0 || (got == 0 && bus.wait(s->bus, WAIT_USEC) <= 0))
			return false;
	}
}

static bool start_unit(struct scope *s, const struct sandbox_policy *p)
{
	const struct {
		const char *name;
		bool requested;
		uint64_t value;
	} limits[] = {
		{"MemoryMax", p->memory > 0, p->memory},
		{"MemorySwapMax", p->memory > 0, 0},
		{"CPUQuotaPerSecUSec", p->cpus_milli > 0,
		 (uint64_t)p->cpus_milli * 1000},
		{"TasksMax", p->pids_limit > 0, p->pids_limit},
	};
	struct sd_bus_message *m = new_call(s, "StartTransientUnit");
	size_t i;

	(void)bus.message_append(m, "ss", s->unit, "fail");
	(void)bus.message_open_container(m, 'a', "(sv)");
	(void)bus.message_append(m, "(sv)(sv)", "Description", "s",
				 "limits of a guard run", "CollectMode", "s",
				 "inactive-or-failed");
	/* Only into a delegated group processes can be moved later. */
	(void)bus.message_append(m, "(sv)(sv)", "Delegate", "b", 1, "PIDs",
				 "au", 1, (uint32_t)s->holder);
	for (i = 0; i < ARRAY_SIZE(limits); i++)
		if (limits[i].requested)
			(void)bus.message_append(m, "(sv)", limits[i].name, "t",
						 limits[i].value);
	(void)bus.message_close_container(m);
	(void)bus.message_append(m, "a(sa(sv))", 0);
	return call_manager(s, m) && wait_systemd_job(s);
}

/* Ends the holder and closes the connection. May be called again. */
static void scope_end(struct scope *s)
{
	child_end(&s->holder);
	if (s->bus)
		s->bus = bus.close_unref(s->bus);
}

/* Returns false without systemd, or if it refuses. The scope's group is that
 * of s->holder. */
static bool scope_make(struct scope *s, const struct sandbox_policy *p)
{
	*s = (struct scope){.bus = connect_manager()};
	if (!s->bus)
		return false;
	(void)snprintf(s->unit, sizeof(s->unit), "guard-%d-%llx.scope",
		       (int)getpid(), (unsigned long long)timestamp_boot_ns());
	/* An idle process: a scope without a process ends at once, and the run
	 * does not exist yet. */
	s->holder = child_fork("guard-scope");
	if (s->holder == 0) {
		(void)close_range(0, ~0U, 0);
		for (;;)
			(void)pause();
	}
	if (s->holder > 0 && start_unit(s, p))
		return true;
	scope_end(s);
	return false;
}

/* Moves pid into a group below the scope ("/NAME"), and calls scope_end().
 * Error: -EIO if systemd refuses. */
static int scope_enter(struct scope *s, const char *group, pid_t pid,
		       struct err *err)
{
	struct sd_bus_message *m = new_call(s, "AttachProcessesToUnit");

	(void)bus.message_append(m, "ssau", s->unit, group, 1, (uint32_t)pid);
	if (!call_manager(s, m))
		return fail(err, EIO,
			    "systemd did not move the run into its scope %s",
			    s->unit);
	scope_end(s);
	return 0;
}

/* ---- groups ---- */

#define PERIOD_US 100000
/* Tries of 1 ms each. */
#define REMOVE_TRIES 500
/* The run's group, inside the group with the limits. */
#define INNER "run"

static const char *const names[CGROUP_KINDS] = {"memory", "cpu", "pids"};

static bool is_limit_requested(const struct sandbox_policy *p, int kind)
{
	const bool requested[CGROUP_KINDS] = {
		[CGROUP_MEMORY] = p->memory > 0,
		[CGROUP_CPU] = p->cpus_milli > 0,
		[CGROUP_PIDS] = p->pids_limit > 0,
	};

	return requested[kind];
}

static int write_cgroup_text(int dirfd, const char *name, const char *text)
{
	auto_close int fd = openat(dirfd, name, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -1 : fd_write(fd, text, strlen(text));
}

static int write_cgroup_number(int dirfd, const char *name, uint64_t number)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return write_cgroup_text(dirfd, name, text);
}

static int open_cgroup_dir(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Removes the inner group first. */
static int remove_group(int parent, const char *name)
{
	auto_free char *inner = mem_printf("%s/" INNER, name);

	if (unlinkat(parent, inner, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return -1;
	return unlinkat(parent, name, AT_REMOVEDIR);
}

static int make_cgroup_dir(struct cgroup *c, int parent)
{
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	size_t i;
	int pid;

	/* Groups of killed guard processes are removed, never those of live
	 * ones. */
	(void)dirlist_read(parent, &list, &ignored);
	for (i = 0; i < list.count; i++)
		if (sscanf(list.items[i].name, "guard-%d", &pid) == 1 &&
		    pid > 0 && kill(pid, 0) < 0 && errno == ESRCH)
			(void)remove_group(parent, list.items[i].name);
	if (mkdirat(parent, c->name, 0755) < 0 && errno != EEXIST)
		return -1;
	return fd_open_dir(parent, c->name);
}

static bool make_inner_group(struct cgroup *c, int kind)
{
	if (mkdirat(c->fd[kind], INNER, 0755) == 0 || errno == EEXIST)
		c->inner[kind] = fd_open_dir(c->fd[kind], INNER);
	return c->inner[kind] >= 0;
}

/* Removes the group and closes c->fd and c->parent. */
static void drop_cgroup(struct cgroup *c, int kind)
{
	(void)remove_group(c->parent[kind], c->name);
	fd_close(&c->fd[kind]);
	fd_close(&c->parent[kind]);
}

/*
 * A group with processes cannot have children with limits. For cpu and pids
 * alone the kernel enables the controllers but makes the group threaded, so
 * that no process can move into a child. The root group, which has no
 * cgroup.type, is exempt.
 */
static bool has_processes(int dirfd)
{
	AUTO(buf) struct buf b = {0};
	struct err ignored;

	return faccessat(dirfd, "cgroup.type", F_OK, 0) == 0 &&
	       (fd_slurp_at(dirfd, "cgroup.procs", 1 << 20, &b, &ignored) < 0 ||
		b.len > 0);
}

/* Enables the controllers in the parent group, which then must not contain
 * processes (except for the root). */
static bool has_controllers(int dirfd, const struct sandbox_policy *p)
{
	AUTO(buf) struct buf b = {0};
	struct err ignored;
	int kind;

	for (kind = 0; kind < CGROUP_KINDS; kind++) {
		char switch_on[16];

		(void)snprintf(switch_on, sizeof(switch_on), "+%s",
			       names[kind]);
		if (is_limit_requested(p, kind))
			(void)write_cgroup_text(dirfd, "cgroup.subtree_control",
						switch_on);
	}
	if (fd_slurp_at(dirfd, "cgroup.subtree_control", 4096, &b, &ignored) <
	    0)
		return false;
	for (kind = 0; kind < CGROUP_KINDS; kind++)
		if (is_limit_requested(p, kind) &&
		    !strstr(buf_text(&b), names[kind]))
			return false;
	return true;
}

static bool set_v2(int fd, const struct sandbox_policy *p)
{
	char text[64];

	if (p->memory) {
		if (write_cgroup_number(fd, "memory.max", p->memory) < 0)
			return false;
		(void)write_cgroup_text(fd, "memory.swap.max", "0");
	}
	(void)snprintf(text, sizeof(text), "%llu %d",
		       (unsigned long long)p->cpus_milli * PERIOD_US / 1000,
		       PERIOD_US);
	if (p->cpus_milli && write_cgroup_text(fd, "cpu.max", text) < 0)
		return false;
	return !p->pids_limit ||
	       write_cgroup_number(fd, "pids.max", p->pids_limit) == 0;
}

static bool make_v2(struct cgroup *c, const char *root,
		    const struct sandbox_policy *p)
{
	auto_free char *own = procfs_cgroup("self", "");
	auto_free char *path = mem_printf("%s%s", root, own);
	char *slash;
	int kind;

	for (;;) {
		auto_close int parent = open_cgroup_dir(path);
		int fd = -1;

		/* Moving a process requires write permission in the common
		 * ancestor. */
		if (parent >= 0 &&
		    faccessat(parent, "cgroup.procs", W_OK, AT_EACCESS) == 0 &&
		    !has_processes(parent) && has_controllers(parent, p))
			fd = make_cgroup_dir(c, parent);
		if (fd >= 0) {
			c->fd[0] = fd;
			c->parent[0] = TAKE_FD(parent);
			if (set_v2(fd, p) && make_inner_group(c, 0)) {
				for (kind = 0; kind < CGROUP_KINDS; kind++)
					c->holds[kind] =
						is_limit_requested(p, kind);
				c->version = 2;
				return true;
			}
			drop_cgroup(c, 0);
		}
		slash = strrchr(path, '/');
		if (!slash || (size_t)(slash - path) < strlen(root))
			return false;
		*slash = '\0';
	}
}

static bool make_systemd_scope(struct cgroup *c, const char *root,
			       const struct sandbox_policy *p)
{
	static const char *const files[CGROUP_KINDS] = {"memory.max", "cpu.max",
							"pids.max"};
	auto_free char *path = NULL, *group = NULL;
	struct statfs fs;
	struct err ignored;
	char holder[16];
	bool any = false;
	int kind;

	if (statfs(root, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC ||
	    !scope_make(&c->scope, p))
		return false;
	(void)snprintf(holder, sizeof(holder), "%d", (int)c->scope.holder);
	group = procfs_cgroup(holder, "");
	path = mem_printf("%s%s", root, group);
	c->fd[0] = strstr(group, c->scope.unit) ? open_cgroup_dir(path) : -1;
	for (kind = 0; kind < CGROUP_KINDS; kind++) {
		AUTO(buf) struct buf b = {0};

		/* systemd silently omits limits that it may not set. */
		c->holds[kind] = is_limit_requested(p, kind) && c->fd[0] >= 0 &&
				 fd_slurp_at(c->fd[0], files[kind], 4096, &b,
					     &ignored) >= 0 &&
				 strncmp(buf_text(&b), "max", 3) != 0;
		any = any || c->holds[kind];
	}
	if (!any || !make_inner_group(c, 0)) {
		cgroup_remove(c);
		*c = CGROUP_NONE;
		return false;
	}
	c->version = 2;
	return true;
}

static bool set_v1(int fd, int kind, const struct sandbox_policy *p)
{
	switch (kind) {
	case CGROUP_MEMORY:
		if (write_cgroup_number(fd, "memory.limit_in_bytes",
					p->memory) < 0)
			return false;
		/* Memory plus swap; missing on machines without swap
		 * accounting. */
		(void)write_cgroup_number(fd, "memory.memsw.limit_in_bytes",
					  p->memory);
		return true;
	case CGROUP_CPU:
		(void)write_cgroup_number(fd, "cpu.cfs_period_us", PERIOD_US);
		return write_cgroup_number(fd, "cpu.cfs_quota_us",
					   (uint64_t)p->cpus_milli * PERIOD_US /
						   1000) == 0;
	default:
		return write_cgroup_number(fd, "pids.max", p->pids_limit) == 0;
	}
}

/* Makes a group in the controller's own hierarchy. */
static void make_v1(struct cgroup *c, const char *root, int kind,
		    const struct sandbox_policy *p)
{
	auto_free char *own = procfs_cgroup("self", names[kind]);
	auto_free char *top = mem_printf("%s/%s", root, names[kind]);
	auto_free char *path = mem_printf("%s%s", top, own);
	auto_close int parent = open_cgroup_dir(path);
	int fd;

	/* In a container the path may be one of the host. */
	if (parent < 0)
		parent = open_cgroup_dir(top);
	fd = parent < 0 ? -1 : make_cgroup_dir(c, parent);
	if (fd < 0)
		return;
	c->fd[kind] = fd;
	c->parent[kind] = TAKE_FD(parent);
	if (!set_v1(fd, kind, p) || !make_inner_group(c, kind)) {
		drop_cgroup(c, kind);
		return;
	}
	c->version = 1;
	c->holds[kind] = true;
}

void cgroup_make(struct cgroup *c, const char *root,
		 const struct sandbox_policy *p)
{
	int kind;
	bool any = false;

	*c = CGROUP_NONE;
	for (kind = 0; kind < CGROUP_KINDS; kind++)
		any = any || is_limit_requested(p, kind);
	if (!any || make_systemd_scope(c, root, p))
		return;
	(void)snprintf(c->name, sizeof(c->name), "guard-%d", (int)getpid());
	if (make_v2(c, root, p))
		return;
	for (kind = 0; kind < CGROUP_KINDS; kind++)
		if (is_limit_requested(p, kind))
			make_v1(c, root, kind, p);
}

int cgroup_enter(struct cgroup *c, pid_t pid, struct err *err)
{
	int kind;

	if (c->scope.bus)
		return scope_enter(&c->scope, "/" INNER, pid, err);
	for (kind = 0; kind < CGROUP_KINDS; kind++)
		if (c->inner[kind] >= 0 &&
		    write_cgroup_number(c->inner[kind], "cgroup.procs",
					(uint64_t)pid) < 0)
			return fail_errno(err, "move the run into its cgroup");
	return 0;
}

uint64_t cgroup_killed(const struct cgroup *c)
{
	static const char key[] = "\noom_kill ";
	AUTO(buf) struct buf b = {0};
	struct err ignored;
	/* v1 counts kills in the group of the process. */
	bool v1 = c->version != 2;
	const char *name = v1 ? "memory.oom_control" : "memory.events", *at;

	if (!c->holds[CGROUP_MEMORY] ||
	    fd_slurp_at(v1 ? c->inner[CGROUP_MEMORY] : c->fd[0], name, 1 << 16,
			&b, &ignored) < 0)
		return 0;
	at = strstr(buf_text(&b), key);
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

void cgroup_remove(struct cgroup *c)
{
	struct timespec delay = {.tv_nsec = 1000000};
	int kind, tries;

	scope_end(&c->scope);
	for (kind = 0; kind < CGROUP_KINDS; kind++) {
		fd_close(&c->fd[kind]);
		fd_close(&c->inner[kind]);
		/* A group with processes cannot be removed, and an exiting
		 * process cannot be moved out. pid 1 may take long to unmount:
		 * a group that is still busy after the tries is removed by a
		 * later run. */
		for (tries = 0; c->parent[kind] >= 0 && tries < REMOVE_TRIES &&
				remove_group(c->parent[kind], c->name) < 0 &&
				errno == EBUSY;
		     tries++)
			(void)nanosleep(&delay, NULL);
		fd_close(&c->parent[kind]);
	}
}
