#include "guard/cli/exec_all.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/timestamp.h"
#include "guard/change/resolve_run.h"
#include "guard/cli/commands.h"

#define COPY_PREFIX "copy-"
#define LOG_NAME "test.log"
#define LOG_BYTES_MAX (8u << 20)
#define LAST_LINE_MAX 4096
#define LOOK_MS 200
#define DEPTH_MAX 64

struct outcome {
	const struct session *run; /* borrowed */
	bool shown; /* its output is printed */
	int status; /* -1: it is running, and was skipped */
	int64_t ms;
	uint64_t changed; /* files that the command wrote */
	char *last; /* line of its output, escaped */
};

/* The output of the command, as it arrives. */
struct output_log {
	int fd; /* log file */
	bool shown; /* on stdout, too */
	size_t written;
	struct buf tail; /* the end of the output */
};

/* ---- the directory of a copy ---- */

/* A killed guard has left it. */
static void remove_leftovers(int run_fd)
{
	AUTO(dirlist) struct dirlist list = {0};
	const size_t len = strlen(COPY_PREFIX);
	struct err ignored;
	size_t i;

	if (dirlist_read(run_fd, &list, &ignored) < 0)
		return;
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;

		if (strncmp(name, COPY_PREFIX, len) == 0 &&
		    kill((pid_t)strtol(name + len, NULL, 10), 0) < 0 &&
		    errno == ESRCH)
			(void)dirtree_remove(run_fd, name, &ignored);
	}
}

static int make_copy_dir(int run_fd, const char *name, struct err *err)
{
	static const char *const dirs[] = {"tmp", "var-tmp"};
	auto_close int fd = -1;
	size_t i;

	if (mkdirat(run_fd, name, 0700) < 0)
		return fail_errno(err, "create a directory");
	fd = fd_open_dir(run_fd, name);
	for (i = 0; fd >= 0 && i < ARRAY_SIZE(dirs); i++)
		if (mkdirat(fd, dirs[i], 0700) < 0 ||
		    fchmodat(fd, dirs[i], 01777, 0) < 0)
			fd_close(&fd);
	return fd < 0 ? fail_errno(err, "create a directory") : 0;
}

/* In the entries of a directory whose names begin so. */
static uint64_t count_files(int dirfd, const char *name, const char *begin,
			    unsigned int depth)
{
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	auto_close int fd = fd_open_dir(dirfd, name);
	uint64_t files = 0;
	size_t i;

	if (fd < 0 || depth > DEPTH_MAX ||
	    dirlist_read(fd, &list, &ignored) < 0)
		return 0;
	for (i = 0; i < list.count; i++)
		if (strncmp(list.items[i].name, begin, strlen(begin)) == 0)
			files += list.items[i].type == DT_DIR
					 ? count_files(fd, list.items[i].name,
						       "", depth + 1)
					 : 1;
	return files;
}

/* ---- one run ---- */

static void __attribute__((noreturn))
exec_in_child(const struct session *s, const struct run_exec *v, int out,
	      const sigset_t *signals)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)sigprocmask(SIG_SETMASK, signals, NULL);
	if (dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		_exit(RUN_STATUS_GUARD);
	output_quiet(true);
	_exit(run_exec(s, v));
}

static void add_output(struct output_log *l, const char *bytes, size_t len)
{
	size_t kept = len > LOG_BYTES_MAX - l->written
			      ? LOG_BYTES_MAX - l->written
			      : len;

	if (l->fd >= 0 && kept)
		(void)fd_write(l->fd, bytes, kept);
	l->written += kept;
	if (l->shown) {
		AUTO(buf) struct buf escaped = {0};

		text_escape(&escaped, bytes, len, true);
		(void)fputs(buf_text(&escaped), stdout);
		(void)fflush(stdout);
	}
	buf_add(&l->tail, bytes, len);
	if (l->tail.len > 2 * LAST_LINE_MAX) {
		memmove(l->tail.data,
			l->tail.data + l->tail.len - LAST_LINE_MAX,
			LAST_LINE_MAX);
		l->tail.len = LAST_LINE_MAX;
	}
}

/* The last line with a character, escaped; to free. */
static char *last_line(const struct buf *tail)
{
	AUTO(buf) struct buf line = {0};
	const char *data = (const char *)tail->data;
	size_t end = tail->len, begin;

	while (end && isspace((unsigned char)data[end - 1]))
		end--;
	for (begin = end; begin && data[begin - 1] != '\n';)
		begin--;
	text_escape(&line, data + begin, end - begin, false);
	return buf_take_text(&line);
}

/* Until the last process of the run has closed it. A signal for guard ends the
 * command. */
static void read_output(int fd, pid_t child, struct output_log *l)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	char bytes[16384];
	bool ended = false;
	ssize_t len = 1;

	while (len > 0) {
		if (poll(&ready, 1, LOOK_MS) > 0) {
			len = read(fd, bytes, sizeof(bytes));
			if (len > 0)
				add_output(l, bytes, (size_t)len);
		}
		if (!ended && context_signal_pending()) {
			(void)kill(child, SIGTERM);
			ended = true;
		}
	}
}

static int status_of_child(pid_t child)
{
	int status = child_wait(child);

	if (status < 0)
		return RUN_STATUS_GUARD;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* A record that another guard process uses now is left as it is. */
static void record_test(struct context *c, const struct outcome *o,
			const struct run_exec *v)
{
	AUTO(session) struct session s = SESSION_NONE;
	AUTO(buf) struct buf text = {0};
	char *const *argv;
	struct err ignored;

	buf_printf(&text, "%d %lld", o->status, (long long)o->ms);
	for (argv = v->argv; *argv; argv++)
		buf_printf(&text, " %s", *argv);
	if (session_open(c->state.runs_fd, o->run->id, true, &s, &ignored) < 0)
		return;
	record_set(&s.more, RUN_TEST, buf_text(&text));
	(void)session_save(&s, &ignored);
}

static int exec_in_copy(struct context *c, const struct run_exec *v,
			const sigset_t *signals, struct outcome *o,
			struct err *err)
{
	auto_free char *name = mem_printf(COPY_PREFIX "%d", (int)getpid());
	auto_close int fd = fd_open_dir(c->state.runs_fd, o->run->id);
	auto_free char *path = fd < 0 ? NULL : fd_path(fd);
	auto_free char *dir = path ? path_join(path, name) : NULL;
	struct output_log log = {.fd = -1, .shown = o->shown};
	struct run_exec copy = *v;
	int64_t begun = timestamp_monotonic_ms();
	struct err ignored;
	pid_t child;
	int ends[2];

	if (!dir)
		return fail_errno(err, "open run %s", session_label(o->run));
	remove_leftovers(fd);
	if (make_copy_dir(fd, name, err) < 0)
		return -err->num;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_errno(err, "create a pipe");
	copy.copy_dir = dir;
	(void)fflush(stdout);
	child = child_fork("guard");
	if (child == 0)
		exec_in_child(o->run, &copy, ends[1], signals);
	(void)close(ends[1]);
	if (child < 0) {
		(void)close(ends[0]);
		return fail_errno(err, "start the command");
	}
	log.fd = openat(fd, LOG_NAME,
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			0600);
	read_output(ends[0], child, &log);
	o->status = status_of_child(child);
	o->ms = timestamp_monotonic_ms() - begun;
	o->changed = count_files(fd, name, "upper-", 0);
	o->last = last_line(&log.tail);
	(void)close(ends[0]);
	fd_close(&log.fd);
	buf_free(&log.tail);
	if (o->status != RUN_STATUS_GUARD)
		record_test(c, o, v);
	/* A rest that cannot be removed now goes with the run. */
	(void)dirtree_remove(fd, name, &ignored);
	return 0;
}

int exec_all_try(struct context *c, const struct session *s,
		 const struct run_exec *v, char **ret_summary, struct err *err)
{
	struct outcome o = {.run = s, .shown = true};
	AUTO(buf) struct buf b = {0};
	sigset_t signals;
	int got;

	context_block_signals(&signals);
	got = exec_in_copy(c, v, &signals, &o, err);
	(void)context_restore_signals(&signals);
	if (got < 0)
		return got;
	if (o.status == RUN_STATUS_GUARD)
		buf_add_text(&b, "the command could not be started");
	else
		buf_printf(&b, "exit status %d, %.1f s", o.status,
			   (double)o.ms / 1000);
	if (o.last && *o.last)
		buf_printf(&b, ": %s", o.last);
	free(o.last);
	*ret_summary = buf_take_text(&b);
	return 0;
}

/* ---- all of them ---- */

static void print_outcomes(const struct outcome *list, size_t count)
{
	AUTO(table) struct table t = {0};
	size_t i;

	table_row(&t, "RUN", "EXIT", "TIME", "CHANGED BY THE TEST",
		  "LAST LINE");
	for (i = 0; i < count; i++) {
		const struct outcome *o = &list[i];

		if (o->status < 0)
			table_row(&t, session_label(o->run), "-", "", "",
				  "running: skipped");
		else
			table_row(&t, session_label(o->run),
				  text_printf("%d", o->status),
				  text_printf("%.1f s", (double)o->ms / 1000),
				  o->changed ? text_count(o->changed, "file")
					     : "nothing",
				  o->last ?: "");
	}
	table_print(&t, "", stdout);
}

static void print_outcomes_json(const struct outcome *list, size_t count)
{
	json_t *runs = json_array();
	size_t i;

	for (i = 0; i < count; i++) {
		const struct outcome *o = &list[i];
		json_t *one = json_object();

		jsonout_text(one, "run", o->run->id);
		jsonout_text(one, "name", session_name(o->run));
		jsonout_bool(one, "running", o->status < 0);
		if (o->status >= 0) {
			jsonout_number(one, "status", (uint64_t)o->status);
			jsonout_number(one, "milliseconds", (uint64_t)o->ms);
			jsonout_number(one, "changed", o->changed);
			jsonout_text(one, "last_line", o->last);
		}
		jsonout_add(runs, one);
	}
	jsonstream_print_list("guard.exec-all/1", "runs", runs);
}

static int exec_in_each(struct context *c, const struct session_list *runs,
			const struct run_exec *v, const char *glob,
			struct outcome *list, size_t *ret_count,
			struct err *err)
{
	sigset_t signals;
	int got = 0;
	size_t i;

	context_block_signals(&signals);
	for (i = 0; i < runs->count && got == 0 && !context_signal_pending();
	     i++) {
		const struct session *s = &runs->items[i];
		struct outcome *o = &list[*ret_count];

		if (glob && !resolve_run_matches(s, glob))
			continue;
		*o = (struct outcome){.run = s, .status = -1};
		if (!s->live)
			got = exec_in_copy(c, v, &signals, o, err);
		*ret_count += got == 0;
	}
	(void)context_restore_signals(&signals);
	return got;
}

int exec_all(const struct run_exec *v, const char *glob, bool json)
{
	AUTO(context) struct context c = CONTEXT_NONE;
	AUTO(session_list) struct session_list runs = {0};
	auto_free struct outcome *list = NULL;
	size_t count = 0, i;
	int status = STATUS_OK;
	struct err err;
	int got;

	if (context_open(&c, true, &err) < 0 ||
	    resolve_run_pending(&c, &runs, &err) < 0) {
		output_error(&err);
		return RUN_STATUS_GUARD;
	}
	list = mem_zalloc((runs.count + 1) * sizeof(*list));
	got = exec_in_each(&c, &runs, v, glob, list, &count, &err);
	if (got == 0 && !count)
		got = fail(&err, ENOENT, "no pending run of %s%s%s",
			   text_quote(c.project),
			   glob ? " is called like " : "",
			   glob ? text_quote(glob) : "");
	if (got < 0) {
		output_error(&err);
		status = RUN_STATUS_GUARD;
	}
	if (json)
		print_outcomes_json(list, count);
	else if (count)
		print_outcomes(list, count);
	for (i = 0; i < count; i++) {
		if (list[i].status == RUN_STATUS_GUARD)
			status = RUN_STATUS_GUARD;
		else if (list[i].status > 0 && status == STATUS_OK)
			status = STATUS_REFUSED;
		free(list[i].last);
	}
	if (context_interrupted())
		return 128 + SIGINT;
	return status;
}
