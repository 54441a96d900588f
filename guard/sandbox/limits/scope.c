#include "guard/sandbox/limits/scope.h"

#include "guard/sandbox/sandbox.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"

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

static void put_u64(struct buf *b, uint64_t number)
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
	put_u64(b, number);
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

/* Only one call is pending, so the next return or error message is its reply.
 * Signals are skipped. */
static bool wait_dbus_reply(int fd)
{
	AUTO(dbus_message) struct dbus_message m = {0};

	while (receive_dbus_message(fd, &m))
		if (m.type == TYPE_RETURN || m.type == TYPE_ERROR)
			return m.type == TYPE_RETURN;
	return false;
}

static bool buf_contains_text(const struct buf *b, const char *text)
{
	return b->len && memmem(b->data, b->len, text, strlen(text));
}

/* Waits for the signal JobRemoved (number, job, unit, result) of this unit. */
static bool wait_systemd_job(int fd, const char *unit)
{
	static const char done[] = "done";
	AUTO(dbus_message) struct dbus_message m = {0};

	while (receive_dbus_message(fd, &m)) {
		if (m.type == TYPE_ERROR)
			return false;
		if (m.type == TYPE_SIGNAL &&
		    buf_contains_text(&m.fields, "JobRemoved") &&
		    buf_contains_text(&m.body, unit))
			return m.body.len > sizeof(done) &&
			       memcmp(m.body.data + m.body.len - sizeof(done),
				      done, sizeof(done)) == 0;
	}
	return false;
}

/* ---- the connection ---- */

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

/* ---- the scope ---- */

/* Starts an idle process: a scope without a process ends at once, and the run
 * does not exist yet. */
static pid_t start_holder(void)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)close_range(0, ~0U, 0);
	for (;;)
		(void)pause();
}

static void end_holder(struct scope *s)
{
	if (s->holder <= 0)
		return;
	(void)kill(s->holder, SIGKILL);
	while (waitpid(s->holder, NULL, 0) < 0 && errno == EINTR)
		;
	s->holder = 0;
}

static void put_properties(struct buf *b, const struct scope *s,
			   const struct sandbox_policy *p)
{
	size_t at = begin_array(b, 8);

	put_string_property(b, "Description", "limits of a guard run");
	put_string_property(b, "CollectMode", "inactive-or-failed");
	/* Only into a delegated group processes can be moved later. */
	start_property(b, "Delegate", "b");
	put_u32(b, 1);
	start_property(b, "PIDs", "au");
	put_pid_array(b, s->holder);
	if (p->memory) {
		put_number_property(b, "MemoryMax", p->memory);
		put_number_property(b, "MemorySwapMax", 0);
	}
	if (p->cpus_milli)
		put_number_property(b, "CPUQuotaPerSecUSec",
				    (uint64_t)p->cpus_milli * 1000);
	if (p->pids_limit)
		put_number_property(b, "TasksMax", p->pids_limit);
	end_array(b, at, 8);
}

static bool start_unit(struct scope *s, const struct sandbox_policy *p)
{
	AUTO(buf) struct buf body = {0};

	put_dbus_text(&body, s->unit);
	put_dbus_text(&body, "fail");
	put_properties(&body, s, p);
	end_array(&body, begin_array(&body, 8), 8);
	return send_dbus_call(s->fd, "StartTransientUnit", "ssa(sv)a(sa(sv))",
			      &body) == 0 &&
	       wait_systemd_job(s->fd, s->unit);
}

bool scope_make(struct scope *s, const struct sandbox_policy *p)
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
	s->holder = start_holder();
	if (s->holder > 0 && authenticate(s->fd) && start_unit(s, p))
		return true;
	scope_end(s);
	return false;
}

int scope_enter(struct scope *s, const char *group, pid_t pid, struct err *err)
{
	AUTO(buf) struct buf body = {0};

	put_dbus_text(&body, s->unit);
	put_dbus_text(&body, group);
	put_pid_array(&body, pid);
	if (send_dbus_call(s->fd, "AttachProcessesToUnit", "ssau", &body) < 0 ||
	    !wait_dbus_reply(s->fd))
		return fail(err, EIO,
			    "systemd does not put the run into its scope %s",
			    s->unit);
	scope_end(s);
	return 0;
}

void scope_end(struct scope *s)
{
	end_holder(s);
	fd_close(&s->fd);
}
