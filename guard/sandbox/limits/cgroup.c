#include "guard/sandbox/limits/cgroup.h"

#include "guard/sandbox/limits/scope.h"
#include "guard/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/dirtree.h"
#include "guard/sandbox/limits/procfs.h"

#define PERIOD_US 100000
/* Tries of 1 ms each. */
#define REMOVE_TRIES 500
/* The run's group, inside the group with the limits. */
#define INNER "run"

static const char *const names[CGROUP_KINDS] = {"memory", "cpu", "pids"};

static bool is_limit_requested(const struct sandbox_policy *p, int kind)
{
	switch (kind) {
	case CGROUP_MEMORY:
		return p->memory > 0;
	case CGROUP_CPU:
		return p->cpus_milli > 0;
	default:
		return p->pids_limit > 0;
	}
}

static int write_cgroup_text(int dirfd, const char *name, const char *text)
{
	auto_close int fd = openat(dirfd, name, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || fd_write(fd, text, strlen(text)) < 0)
		return -1;
	return 0;
}

static int write_cgroup_number(int dirfd, const char *name, uint64_t number)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return write_cgroup_text(dirfd, name, text);
}

/* The number behind "key " in a file with such lines; 0 if it is missing. */
static uint64_t read_cgroup_key(int dirfd, const char *name, const char *key)
{
	AUTO(buf) struct buf b = {0};
	struct err ignored;
	const char *at;

	if (fd_slurp_at(dirfd, name, 1 << 16, &b, &ignored) < 0)
		return 0;
	at = strstr(buf_text(&b), key);
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
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

/* Removes groups of killed guard processes, never those of live ones. */
static void remove_stale_groups(int dirfd)
{
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	size_t i;
	int pid;

	if (dirlist_read(dirfd, &list, &ignored) < 0)
		return;
	for (i = 0; i < list.count; i++)
		if (sscanf(list.items[i].name, "guard-%d", &pid) == 1 &&
		    pid > 0 && kill(pid, 0) < 0 && errno == ESRCH)
			(void)remove_group(dirfd, list.items[i].name);
}

static int make_cgroup_dir(struct cgroup *c, int parent)
{
	remove_stale_groups(parent);
	if (mkdirat(parent, c->name, 0755) < 0 && errno != EEXIST)
		return -1;
	return openat(parent, c->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool make_inner_group(struct cgroup *c, int kind)
{
	if (mkdirat(c->fd[kind], INNER, 0755) == 0 || errno == EEXIST)
		c->inner[kind] = openat(c->fd[kind], INNER,
					O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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

/* systemd silently omits limits that it may not set. */
static bool is_scope_limit_set(int fd, int kind)
{
	static const char *const files[CGROUP_KINDS] = {"memory.max", "cpu.max",
							"pids.max"};
	AUTO(buf) struct buf b = {0};
	struct err ignored;

	return fd_slurp_at(fd, files[kind], 4096, &b, &ignored) >= 0 &&
	       strncmp(buf_text(&b), "max", 3) != 0;
}

static bool make_systemd_scope(struct cgroup *c, const char *root,
			       const struct sandbox_policy *p)
{
	auto_free char *path = NULL, *group = NULL;
	struct statfs fs;
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
		c->holds[kind] = is_limit_requested(p, kind) && c->fd[0] >= 0 &&
				 is_scope_limit_set(c->fd[0], kind);
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
	if (!any)
		return;
	if (make_systemd_scope(c, root, p))
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

	if (c->scope.fd >= 0)
		return scope_enter(&c->scope, "/" INNER, pid, err);
	for (kind = 0; kind < CGROUP_KINDS; kind++)
		if (c->inner[kind] >= 0 &&
		    write_cgroup_number(c->inner[kind], "cgroup.procs",
					(uint64_t)pid) < 0)
			return fail_errno(err, "put the run into its cgroup");
	return 0;
}

uint64_t cgroup_killed(const struct cgroup *c)
{
	if (!c->holds[CGROUP_MEMORY])
		return 0;
	/* v1 counts kills in the group of the process. */
	return c->version == 2
		       ? read_cgroup_key(c->fd[0], "memory.events",
					 "\noom_kill ")
		       : read_cgroup_key(c->inner[CGROUP_MEMORY],
					 "memory.oom_control", "\noom_kill ");
}

/* A group with processes cannot be removed, and an exiting process cannot be
 * moved out. pid 1 may take long to unmount: a group that is still busy after
 * the tries is removed by a later run. */
static void remove_group_when_empty(int parent, const char *name)
{
	struct timespec timestamp = {.tv_nsec = 1000000};
	int tries;

	for (tries = 0; tries < REMOVE_TRIES; tries++) {
		if (remove_group(parent, name) == 0 || errno != EBUSY)
			return;
		(void)nanosleep(&timestamp, NULL);
	}
}

void cgroup_remove(struct cgroup *c)
{
	int kind;

	scope_end(&c->scope);
	for (kind = 0; kind < CGROUP_KINDS; kind++) {
		fd_close(&c->fd[kind]);
		fd_close(&c->inner[kind]);
		if (c->parent[kind] >= 0)
			remove_group_when_empty(c->parent[kind], c->name);
		fd_close(&c->parent[kind]);
	}
}
