#include "guard/sandbox/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/child.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "guard/sandbox/procfs.h"
#include "guard/sandbox/sandbox.h"

/*
 * Two calls of org.freedesktop.systemd1(5) in the wire format of D-Bus, little
 * endian like both of guard's architectures (D-Bus Specification, "Message
 * Protocol"): a message is a fixed header, an array of fields and a body; each
 * value is aligned to its size.
 */
#define SERVICE "org.freedesktop.systemd1"
#define OBJECT "/org/freedesktop/systemd1"
#define INTERFACE SERVICE ".Manager"
#define HEAD_LEN 16
#define MESSAGE_MAX (1u << 20)
#define LINE_MAX_LEN 256
#define WAIT_SECONDS 5

enum { TYPE_CALL = 1, TYPE_RETURN, TYPE_ERROR, TYPE_SIGNAL };
enum { FIELD_PATH = 1, FIELD_INTERFACE, FIELD_MEMBER, FIELD_TO = 6 };
#define FIELD_SIGNATURE 8

/* ---- values ---- */

static void pad_dbus(struct buf *b, size_t to)
{
	while (b->len % to)
		buf_add_char(b, '\0');
}

static void put_u32(struct buf *b, uint32_t number)
{
	pad_dbus(b, sizeof(number));
	buf_add(b, &number, sizeof(number));
}

static void put_dbus_text(struct buf *b, const char *text)
{
	put_u32(b, (uint32_t)strlen(text));
	buf_add(b, text, strlen(text) + 1);
}

static void put_signature(struct buf *b, const char *text)
{
	buf_add_char(b, (char)strlen(text));
	buf_add(b, text, strlen(text) + 1);
}

/* Returns the offset of the array's length. The padding before the first item
 * is not part of the length. */
static size_t begin_array(struct buf *b, size_t align)
{
	size_t at;

	put_u32(b, 0);
	at = b->len - sizeof(uint32_t);
	pad_dbus(b, align);
	return at;
}

static void end_array(struct buf *b, size_t at, size_t align)
{
	size_t start = (at + sizeof(uint32_t) + align - 1) / align * align;
	uint32_t len = (uint32_t)(b->len - start);

	memcpy(b->data + at, &len, sizeof(len));
}

static void put_pid_array(struct buf *b, pid_t pid)
{
	size_t at = begin_array(b, sizeof(uint32_t));

	put_u32(b, (uint32_t)pid);
	end_array(b, at, sizeof(uint32_t));
}

/* Writes the name of a property and the type of its value. */
static void start_property(struct buf *b, const char *name, const char *type)
{
	pad_dbus(b, 8);
	put_dbus_text(b, name);
	put_signature(b, type);
}

static void put_number_property(struct buf *b, const char *name,
				uint64_t number)
{
	start_property(b, name, "t");
	pad_dbus(b, sizeof(number));
	buf_add(b, &number, sizeof(number));
}

static void put_string_property(struct buf *b, const char *name,
				const char *text)
{
	start_property(b, name, "s");
	put_dbus_text(b, text);
}

/* ---- messages ---- */

static void put_field(struct buf *b, int field, const char *type,
		      const char *text)
{
	pad_dbus(b, 8);
	buf_add_char(b, (char)field);
	put_signature(b, type);
	if (*type == 'g')
		put_signature(b, text);
	else
		put_dbus_text(b, text);
}

static int send_dbus_call(int fd, const char *method, const char *signature,
			  const struct buf *body)
{
	AUTO(buf) struct buf b = {0};
	static uint32_t serial;
	size_t at;

	buf_add(&b, (const char[]){'l', TYPE_CALL, 0, 1}, 4);
	put_u32(&b, (uint32_t)body->len);
	put_u32(&b, ++serial);
	at = begin_array(&b, 8);
	put_field(&b, FIELD_PATH, "o", OBJECT);
	put_field(&b, FIELD_INTERFACE, "s", INTERFACE);
	put_field(&b, FIELD_MEMBER, "s", method);
	put_field(&b, FIELD_TO, "s", SERVICE);
	put_field(&b, FIELD_SIGNATURE, "g", signature);
	end_array(&b, at, 8);
	pad_dbus(&b, 8);
	buf_add(&b, body->data, body->len);
	return fd_write(fd, b.data, b.len);
}

struct dbus_message {
	int type;
	struct buf fields, body;
};

static void dbus_message_free(struct dbus_message *m)
{
	buf_free(&m->fields);
	buf_free(&m->body);
}

static bool receive_dbus_part(int fd, struct buf *to, size_t len)
{
	buf_clear(to);
	if (len > MESSAGE_MAX ||
	    fd_read(fd, buf_reserve(to, len), len) != (ssize_t)len)
		return false;
	to->len = len;
	return true;
}

static bool receive_dbus_message(int fd, struct dbus_message *m)
{
	unsigned char head[HEAD_LEN];
	uint32_t body, fields;

	if (fd_read(fd, head, sizeof(head)) != (ssize_t)sizeof(head) ||
	    head[0] != 'l')
		return false;
	m->type = head[1];
	memcpy(&body, head + 4, sizeof(body));
	memcpy(&fields, head + 12, sizeof(fields));
	return fields < MESSAGE_MAX &&
	       receive_dbus_part(fd, &m->fields, (fields + 7) / 8 * 8) &&
	       receive_dbus_part(fd, &m->body, body);
}

/* Waits for the signal JobRemoved (number, job, unit, result) of this unit. */
static bool wait_systemd_job(int fd, const char *unit)
{
	static const char done[] = "done";
	AUTO(dbus_message) struct dbus_message m = {0};

	while (receive_dbus_message(fd, &m)) {
		if (m.type == TYPE_ERROR)
			return false;
		if (m.type == TYPE_SIGNAL && buf_has(&m.fields, "JobRemoved") &&
		    buf_has(&m.body, unit))
			return m.body.len > sizeof(done) &&
			       memcmp(m.body.data + m.body.len - sizeof(done),
				      done, sizeof(done)) == 0;
	}
	return false;
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

/* Connects to the private socket of the user's systemd, without a bus. */
static int connect_manager(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct timeval limit = {.tv_sec = WAIT_SECONDS};
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (geteuid() == 0)
		(void)snprintf(to.sun_path, sizeof(to.sun_path),
			       "/run/systemd/private");
	else
		(void)snprintf(to.sun_path, sizeof(to.sun_path),
			       "/run/user/%u/systemd/private", geteuid());
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) <
		    0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) <
		    0 ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return -1;
	return TAKE_FD(fd);
}

/* Authenticates by the uid that the kernel reports to the other side. */
static bool authenticate(int fd)
{
	static const char begin[] = "BEGIN\r\n";
	AUTO(buf) struct buf b = {0};
	char uid[16], line[LINE_MAX_LEN];
	size_t i, len = 0;

	(void)snprintf(uid, sizeof(uid), "%u", geteuid());
	buf_add_char(&b, '\0');
	buf_add_text(&b, "AUTH EXTERNAL ");
	for (i = 0; uid[i]; i++)
		buf_printf(&b, "%02x", (unsigned char)uid[i]);
	buf_add_text(&b, "\r\n");
	if (fd_write(fd, b.data, b.len) < 0)
		return false;
	while (len < sizeof(line) && fd_read(fd, line + len, 1) == 1)
		if (line[len++] == '\n')
			return len > 3 && memcmp(line, "OK ", 3) == 0 &&
			       fd_write(fd, begin, sizeof(begin) - 1) == 0;
	return false;
}

static bool start_unit(struct scope *s, const struct sandbox_policy *p)
{
	AUTO(buf) struct buf b = {0};
	size_t at;

	put_dbus_text(&b, s->unit);
	put_dbus_text(&b, "fail");
	at = begin_array(&b, 8);
	put_string_property(&b, "Description", "limits of a guard run");
	put_string_property(&b, "CollectMode", "inactive-or-failed");
	/* Only into a delegated group processes can be moved later. */
	start_property(&b, "Delegate", "b");
	put_u32(&b, 1);
	start_property(&b, "PIDs", "au");
	put_pid_array(&b, s->holder);
	if (p->memory) {
		put_number_property(&b, "MemoryMax", p->memory);
		put_number_property(&b, "MemorySwapMax", 0);
	}
	if (p->cpus_milli)
		put_number_property(&b, "CPUQuotaPerSecUSec",
				    (uint64_t)p->cpus_milli * 1000);
	if (p->pids_limit)
		put_number_property(&b, "TasksMax", p->pids_limit);
	end_array(&b, at, 8);
	end_array(&b, begin_array(&b, 8), 8);
	return send_dbus_call(s->fd, "StartTransientUnit", "ssa(sv)a(sa(sv))",
			      &b) == 0 &&
	       wait_systemd_job(s->fd, s->unit);
}

/* Ends the holder and closes the connection. May be called again. */
static void scope_end(struct scope *s)
{
	child_end(&s->holder);
	fd_close(&s->fd);
}

/* Returns false without systemd, or if it refuses. The scope's group is that
 * of s->holder. */
static bool scope_make(struct scope *s, const struct sandbox_policy *p)
{
	struct timespec now;

	*s = (struct scope){.fd = connect_manager()};
	if (s->fd < 0)
		return false;
	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	(void)snprintf(s->unit, sizeof(s->unit), "guard-%d-%llx.scope",
		       (int)getpid(),
		       (unsigned long long)now.tv_sec * 1000000000 +
			       (unsigned long long)now.tv_nsec);
	/* An idle process: a scope without a process ends at once, and the run
	 * does not exist yet. */
	s->holder = child_fork("guard-scope");
	if (s->holder == 0) {
		(void)close_range(0, ~0U, 0);
		for (;;)
			(void)pause();
	}
	if (s->holder > 0 && authenticate(s->fd) && start_unit(s, p))
		return true;
	scope_end(s);
	return false;
}

/* Moves pid into a group below the scope ("/NAME"), and calls scope_end().
 * Error: -EIO if systemd refuses. */
static int scope_enter(struct scope *s, const char *group, pid_t pid,
		       struct err *err)
{
	AUTO(buf) struct buf body = {0};
	AUTO(dbus_message) struct dbus_message m = {0};
	bool received;

	put_dbus_text(&body, s->unit);
	put_dbus_text(&body, group);
	put_pid_array(&body, pid);
	received = send_dbus_call(s->fd, "AttachProcessesToUnit", "ssau",
				  &body) == 0;
	/* Only one call is pending, so the next return or error message is its
	 * reply. Signals are skipped. */
	do
		received = received && receive_dbus_message(s->fd, &m);
	while (received && m.type != TYPE_RETURN && m.type != TYPE_ERROR);
	if (!received || m.type != TYPE_RETURN)
		return fail(err, EIO,
			    "systemd did not move the run into its scope %s",
			    s->unit);
	scope_end(s);
	return 0;
}

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

	if (c->scope.fd >= 0)
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
