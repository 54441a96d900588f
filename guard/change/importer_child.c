#include "guard/change/importer_child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/landlock.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/codec.h"
#include "base/fd.h"
#include "base/path.h"

#define MESSAGE_MAX (256u << 20)
#define MEMORY_MAX (4ull << 30)
#define FILE_MAX (64ull << 30)
#define SECONDS_MIN 300
#define SECONDS_MAX 3600
#define BYTES_A_SECOND 100000
#define FILES_MAX 1024

/* All that writes or executes, in Landlock's first version. */
#define WRITES                                                                 \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |       \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |       \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |           \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |         \
	 LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)

static void allow(int ruleset, const char *git, const char *name)
{
	auto_free char *path = path_join(git, name);
	auto_close int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = {
		.allowed_access = LANDLOCK_ACCESS_FS_WRITE_FILE |
				  LANDLOCK_ACCESS_FS_REMOVE_DIR |
				  LANDLOCK_ACCESS_FS_REMOVE_FILE |
				  LANDLOCK_ACCESS_FS_MAKE_DIR |
				  LANDLOCK_ACCESS_FS_MAKE_REG,
		.parent_fd = fd,
	};

	if (fd >= 0)
		(void)syscall(SYS_landlock_add_rule, ruleset,
			      LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

/* One wall more; where the kernel has none, the others stand. */
static void wall_in(const struct importer_job *job)
{
	struct landlock_ruleset_attr attr = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_EXECUTE | WRITES,
	};
	auto_close int ruleset = (int)syscall(SYS_landlock_create_ruleset,
					      &attr, sizeof(attr), 0);

	if (ruleset < 0)
		return;
	if (job->write) {
		allow(ruleset, job->to, "objects/pack");
		allow(ruleset, job->to, "refs/guard");
		allow(ruleset, job->to, "logs");
	}
	(void)syscall(SYS_landlock_restrict_self, ruleset, 0);
}

unsigned int importer_child_seconds(uint64_t bytes)
{
	uint64_t more = bytes / BYTES_A_SECOND;

	return more > SECONDS_MAX - SECONDS_MIN
		       ? SECONDS_MAX
		       : SECONDS_MIN + (unsigned int)more;
}

static void limit(int what, uint64_t max)
{
	struct rlimit r = {max, max}, now;

	/* At the hard one it would end without SIGXCPU, which says why. */
	if (what == RLIMIT_CPU)
		r.rlim_max++;
	if (getrlimit(what, &now) == 0 && now.rlim_max < r.rlim_max)
		r.rlim_max = now.rlim_max;
	if (r.rlim_cur > r.rlim_max)
		r.rlim_cur = r.rlim_max;
	(void)setrlimit(what, &r);
}

/* Pipes become 3 and 4; everything else that was open is closed. */
static int shut_in(const struct importer_job *job, int report, int go)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	report = fcntl(report, F_DUPFD_CLOEXEC, 10);
	go = fcntl(go, F_DUPFD_CLOEXEC, 10);
	if (null < 0 || report < 0 || go < 0 || dup2(null, 0) < 0 ||
	    dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
	    dup3(report, 3, O_CLOEXEC) < 0 || dup3(go, 4, O_CLOEXEC) < 0 ||
	    syscall(SYS_close_range, 5u, ~0u, 0u) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_DUMPABLE, 0);
	(void)prctl(PR_SET_NAME, "guard-import");
	(void)signal(SIGPIPE, SIG_DFL);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_CPU, importer_child_seconds(job->bytes));
	limit(RLIMIT_FSIZE, FILE_MAX);
	limit(RLIMIT_NOFILE, FILES_MAX);
#ifndef __SANITIZE_ADDRESS__
	limit(RLIMIT_AS, MEMORY_MAX);
#endif
	wall_in(job);
	return 0;
}

static void send(int fd, const struct buf *message)
{
	AUTO(buf) struct buf complete = {0};

	enc_u32(&complete, (uint32_t)message->len);
	buf_add(&complete, message->data, message->len);
	if (message->len > MESSAGE_MAX ||
	    fd_write(fd, complete.data, complete.len) < 0)
		_exit(1);
}

static void send_err(int fd, const struct err *err)
{
	AUTO(buf) struct buf b = {0};

	enc_u8(&b, 1);
	enc_u32(&b, (uint32_t)err->num);
	enc_text(&b, err->text);
	send(fd, &b);
	_exit(1);
}

static void send_list(int fd, const struct gitimport_list *list)
{
	AUTO(buf) struct buf b = {0};
	size_t i;

	enc_u8(&b, 0);
	enc_text(&b, list->prefix);
	enc_u64(&b, list->commits);
	enc_u64(&b, list->objects);
	enc_u64(&b, list->bytes);
	enc_u64(&b, list->count);
	for (i = 0; i < list->count; i++) {
		const struct gitimport_ref *r = &list->refs[i];

		enc_text(&b, r->name);
		buf_add(&b, r->id.raw, sizeof(r->id.raw));
		enc_u8(&b, (uint8_t)r->type);
		enc_u8(&b, r->known);
		enc_text(&b, r->subject);
	}
	send(fd, &b);
}

static void work(const struct importer_job *job, int report, int go)
{
	AUTO(buf) struct buf done = {0};
	struct gitimport *im;
	struct err err;
	char yes = 0;

	if (shut_in(job, report, go) < 0)
		_exit(1);
	if (gitimport_open(job->from, job->to, job->run_id, job->tips, &im,
			   &err) < 0)
		send_err(3, &err);
	send_list(3, gitimport_listed(im));
	if (fd_read(4, &yes, 1) != 1 || yes != 'y')
		_exit(0);
	if (gitimport_write(im, &err) < 0)
		send_err(3, &err);
	enc_u8(&done, 0);
	send(3, &done);
	_exit(0);
}

int importer_child_start(const struct importer_job *job,
			 struct importer_child *ret, struct err *err)
{
	int report[2], go[2];
	pid_t pid;

	if (pipe2(report, O_CLOEXEC) < 0)
		return fail_errno(err, "make a pipe");
	if (pipe2(go, O_CLOEXEC) < 0) {
		(void)close(report[0]);
		(void)close(report[1]);
		return fail_errno(err, "make a pipe");
	}
	pid = fork();
	if (pid == 0)
		work(job, report[1], go[0]);
	(void)close(report[1]);
	(void)close(go[0]);
	if (pid > 0) {
		*ret = (struct importer_child){
			pid, importer_child_seconds(job->bytes), report[0],
			go[1]};
		return 0;
	}
	(void)fail_errno(err, "start the process that imports");
	(void)close(report[0]);
	(void)close(go[1]);
	return -err->num;
}

static int explain_end(struct importer_child *child, struct err *err)
{
	int status = 0;

	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	child->pid = 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		return fail(err, ETIMEDOUT,
			    "reading the run's repository took more than %u "
			    "minutes of a processor, too much for what it "
			    "holds",
			    child->seconds / 60);
	if (WIFSIGNALED(status))
		return fail(err, EBADMSG,
			    "reading the run's repository ended with signal "
			    "%d: nothing of it is trusted",
			    WTERMSIG(status));
	return fail(err, EIO, "the process that imports has failed");
}

/* The message's bytes behind its mark; the child's error is the result. */
static int receive(struct importer_child *child, struct buf *to,
		   struct dec *ret, struct err *err)
{
	uint32_t len, num;
	unsigned char head[4];
	struct dec d;

	if (fd_read(child->report_fd, head, sizeof(head)) != sizeof(head))
		return explain_end(child, err);
	d = dec_start(head, sizeof(head));
	len = dec_u32(&d);
	if (len > MESSAGE_MAX)
		return fail(err, EBADMSG,
			    "the process that imports says odd "
			    "things");
	if (fd_read(child->report_fd, buf_reserve(to, len), len) != len)
		return explain_end(child, err);
	to->len += len;
	d = dec_start(to->data, to->len);
	if (dec_u8(&d)) {
		auto_free char *text = NULL;

		num = dec_u32(&d);
		text = dec_text(&d);
		return fail(err, (int)(num & 0xfff), "%s", text);
	}
	*ret = d;
	return 0;
}

int importer_child_list(struct importer_child *child,
			struct gitimport_list *ret, struct err *err)
{
	AUTO(gitimport_list) struct gitimport_list list = {0};
	AUTO(buf) struct buf message = {0};
	uint64_t left;
	struct dec d;

	if (receive(child, &message, &d, err) < 0)
		return -err->num;
	list.prefix = dec_text(&d);
	list.commits = dec_u64(&d);
	list.objects = dec_u64(&d);
	list.bytes = dec_u64(&d);
	for (left = dec_u64(&d); left && !d.bad; left--) {
		struct gitimport_ref r = {.name = dec_text(&d)};
		const unsigned char *raw = dec_raw(&d, sizeof(r.id.raw));

		if (raw)
			memcpy(r.id.raw, raw, sizeof(r.id.raw));
		r.type = (enum gittype)dec_u8(&d);
		r.known = dec_u8(&d) != 0;
		r.subject = dec_text(&d);
		GROW(list.refs, list.count, list.room);
		list.refs[list.count++] = r;
	}
	if (!dec_end(&d))
		return fail(err, EBADMSG,
			    "the process that imports says odd "
			    "things");
	*ret = list;
	list = (struct gitimport_list){0};
	return 0;
}

int importer_child_go(struct importer_child *child, struct err *err)
{
	AUTO(buf) struct buf message = {0};
	struct dec d;

	/* A child that is gone must not take guard along by SIGPIPE. */
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	ssize_t sent;

	(void)sigaction(SIGPIPE, &ignore, &before);
	sent = write(child->go_fd, "y", 1);
	(void)sigaction(SIGPIPE, &before, NULL);
	if (sent != 1)
		return explain_end(child, err);
	return receive(child, &message, &d, err);
}

void importer_child_end(struct importer_child *child)
{
	if (child->go_fd >= 0)
		(void)close(child->go_fd);
	if (child->report_fd >= 0)
		(void)close(child->report_fd);
	if (child->pid > 0) {
		(void)kill(child->pid, SIGKILL);
		while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	*child = (struct importer_child){.report_fd = -1, .go_fd = -1};
}
