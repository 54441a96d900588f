/* The parsing worker: a stand-in that fails in each possible way, and the real
 * one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/codec.h"
#include "base/fd.h"
#include "guard/agent/settings.h"
#include "guard/parse/parse_table.h"
#include "guard/parse/parse_worker.h"
#include "guard/rules/risk.h"
#include "guard/sandbox/parser.h"
#include "restore/git/git_ops.h"
#include "restore/git/similar.h"
#include "restore/git/textdiff.h"
#include "restore/git/textmerge.h"
#include "restore/parse/parse.h"
#include "restore/parse/parse_wire.h"
#include "tests/unit/skip.h"

/* --- a stand-in --- */

/* What the stand-in does with the first request of its life. */
static void (*behave)(int fd);
/* Only the first worker behaves so; the others are correct. */
static unsigned int started;
static pid_t last_pid;

static int start_stand_in(bool git, pid_t *ret_pid, int *ret_fd,
			  struct err *err)
{
	int pair[2];

	(void)git;
	(void)err;
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	*ret_pid = fork();
	assert_true(*ret_pid >= 0);
	if (*ret_pid == 0) {
		(void)close(pair[0]);
		if (started == 0)
			behave(pair[1]);
		_exit(parse_serve(pair[1], parse_table));
	}
	(void)close(pair[1]);
	*ret_fd = pair[0];
	started++;
	last_pid = *ret_pid;
	return 0;
}

static const struct parse_launcher stand_in = {
	.start = start_stand_in,
	.processor = 1,
	.silence = 1,
};

static void use_stand_in(void (*how)(int fd))
{
	parse_end();
	parse_use(&stand_in);
	behave = how;
	started = 0;
}

static int count_lines(void *arg, const struct textdiff_line *line)
{
	*(int *)arg += line->kind == '+' || line->kind == '-';
	return 0;
}

static int compare(struct err *err)
{
	int lines = 0;
	int got = textdiff("a\nb\n", 4, "a\nc\n", 4, 3, count_lines, &lines,
			   NULL, NULL, err);

	if (got == 0)
		assert_int_equal(lines, 2);
	return got;
}

/* The call fails with this reason, and the next worker answers. */
static void fails_once(void (*how)(int fd), const char *reason)
{
	struct err err = {0};

	use_stand_in(how);
	assert_int_equal(compare(&err), -EPROTO);
	assert_string_equal(err.text, reason);
	assert_int_equal(started, 1);
	assert_int_equal(compare(&err), 0);
	assert_int_equal(started, 2);
	/* Nothing of the first one is left. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), 0);
}

static struct parse_head receive(int fd)
{
	static unsigned char room[PARSE_INLINE_MAX];
	struct parse_head head;
	int memfd;

	if (parse_wire_receive(fd, &head, room, &memfd) < 0)
		_exit(99);
	return head;
}

static void crash(int fd)
{
	(void)receive(fd);
	(void)signal(SIGSEGV, SIG_DFL);
	(void)raise(SIGSEGV);
}

static void leave(int fd)
{
	(void)receive(fd);
	_exit(3);
}

static void be_silent(int fd)
{
	(void)receive(fd);
	for (;;)
		(void)pause();
}

static void compute(int fd)
{
	volatile unsigned long n = 0;

	(void)receive(fd);
	for (;;)
		n++;
}

/* The process stays, without its socket. */
static void close_socket(int fd)
{
	(void)receive(fd);
	(void)close(fd);
	for (;;)
		(void)pause();
}

static void a_dead_worker_is_named_and_replaced(void **state)
{
	(void)state;
	fails_once(crash, "worker: signal 11");
	fails_once(leave, "worker: exit status 3");
	fails_once(close_socket, "worker: signal 9");
}

static void a_silent_worker_is_ended(void **state)
{
	(void)state;
	fails_once(be_silent, "worker: no answer");
}

static void a_worker_that_computes_too_long_is_ended(void **state)
{
	(void)state;
	fails_once(compute, "worker: took too long");
}

static void a_worker_killed_between_two_requests_is_replaced(void **state)
{
	struct err err = {0};
	siginfo_t ended;

	(void)state;
	use_stand_in(close_socket);
	started = 1;
	assert_int_equal(compare(&err), 0);
	assert_int_equal(kill(last_pid, SIGKILL), 0);
	assert_int_equal(
		waitid(P_PID, (id_t)last_pid, &ended, WEXITED | WNOWAIT), 0);
	assert_int_equal(compare(&err), 0);
	assert_int_equal(started, 3);
}

/* --- lies about the protocol --- */

static void answer(int fd, struct parse_head head, const void *data, size_t len,
		   uint64_t told)
{
	struct parse_text text = {data, len};

	head.len[0] = told;
	(void)parse_wire_send(fd, &head, &text, 1);
	(void)receive(fd);
}

static void answer_another_request(int fd)
{
	struct parse_head head = receive(fd);

	head.number++;
	answer(fd, head, "", 0, 0);
}

static void answer_another_operation(int fd)
{
	struct parse_head head = receive(fd);

	head.op = PARSE_MERGE;
	answer(fd, head, "", 0, 0);
}

static void answer_less_than_told(int fd)
{
	answer(fd, receive(fd), "abc", 3, 1000);
}

static void answer_with_a_negative_error(int fd)
{
	struct parse_head head = receive(fd);

	head.status = -1;
	answer(fd, head, "", 0, 0);
}

static void answer_a_short_packet(int fd)
{
	(void)receive(fd);
	(void)send(fd, "x", 1, 0);
	(void)receive(fd);
}

/* Of descriptors with this length told. */
static void send_descriptors(int fd, const int *fds, size_t count,
			     uint64_t told)
{
	struct parse_head head = receive(fd);
	struct iovec at = {&head, sizeof(head)};
	union {
		char bytes[CMSG_SPACE(sizeof(int) * 4)];
		struct cmsghdr align;
	} control = {.bytes = {0}};
	struct msghdr packet = {
		.msg_iov = &at,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = CMSG_SPACE(sizeof(int) * count),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&packet);

	head.len[0] = told;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * count);
	memcpy(CMSG_DATA(c), fds, sizeof(int) * count);
	(void)sendmsg(fd, &packet, 0);
	(void)receive(fd);
}

static void answer_an_unsealed_memfd(int fd)
{
	int memfd = memfd_create("x", MFD_ALLOW_SEALING);

	(void)!ftruncate(memfd, 100);
	send_descriptors(fd, &memfd, 1, 100);
}

static int sealed(size_t len)
{
	int memfd = memfd_create("x", MFD_ALLOW_SEALING);

	(void)!ftruncate(memfd, (off_t)len);
	(void)fcntl(memfd, F_ADD_SEALS,
		    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
	return memfd;
}

static void answer_a_shorter_memfd(int fd)
{
	int memfd = sealed(100);

	send_descriptors(fd, &memfd, 1, 101);
}

static void answer_a_huge_memfd(int fd)
{
	int memfd = sealed((size_t)PARSE_ANSWER_MAX + 1);

	send_descriptors(fd, &memfd, 1, (uint64_t)PARSE_ANSWER_MAX + 1);
}

static void answer_a_pipe(int fd)
{
	int ends[2] = {-1, -1};

	(void)!pipe(ends);
	send_descriptors(fd, ends, 1, 100);
}

static void answer_two_memfds(int fd)
{
	const int two[] = {sealed(10), sealed(10)};

	send_descriptors(fd, two, 2, 10);
}

static size_t count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	(void)closedir(dir);
	return n;
}

static void an_answer_of_another_form_is_refused(void **state)
{
	static void (*const lies[])(int fd) = {
		answer_another_request, answer_another_operation,
		answer_less_than_told,	answer_with_a_negative_error,
		answer_a_short_packet,	answer_an_unsealed_memfd,
		answer_a_shorter_memfd, answer_a_huge_memfd,
		answer_a_pipe,		answer_two_memfds,
	};
	size_t i, before;

	(void)state;
	parse_end();
	before = count_descriptors();
	for (i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		fails_once(lies[i], "worker: invalid answer");
		parse_end();
		assert_int_equal(count_descriptors(), before);
	}
}

static void answer_an_error(int fd)
{
	struct parse_head head = receive(fd);

	head.status = ENOPKG;
	answer(fd, head, "no\x1b[31m library", 15, 15);
}

static void the_text_of_an_error_is_escaped(void **state)
{
	struct err err = {0};

	(void)state;
	use_stand_in(answer_an_error);
	assert_int_equal(compare(&err), -ENOPKG);
	assert_string_equal(err.text, "no\\x1b[31m library");
}

/* --- lies about texts --- */

static struct buf lie;

static void answer_lie(int fd)
{
	answer(fd, receive(fd), lie.data, lie.len, lie.len);
}

/* One hunk: lines before it and in it; runs. */
static void add_lying_hunk(uint64_t old_at, uint64_t old_count, uint64_t new_at,
			   uint64_t new_count, const char *text,
			   const uint64_t *runs, size_t count)
{
	size_t i;

	enc_var(&lie, old_at);
	enc_var(&lie, old_count);
	enc_var(&lie, new_at);
	enc_var(&lie, new_count);
	enc_text(&lie, text);
	enc_var(&lie, count);
	for (i = 0; i < count; i++)
		enc_var(&lie, runs[i]);
}

static void begin_lie(uint8_t binary, uint32_t hunks)
{
	buf_clear(&lie);
	enc_u8(&lie, binary);
	if (!binary)
		enc_u32(&lie, hunks);
}

#define RUN(kind, count) ((uint64_t)(count) << 2 | (kind))

static void a_difference_that_hides_a_line_is_refused(void **state)
{
	static const uint64_t changed[] = {
		RUN(DIFF_CONTEXT, 1), RUN(DIFF_DELETED, 1), RUN(DIFF_ADDED, 1)};
	static const uint64_t equal[] = {RUN(DIFF_CONTEXT, 2)};
	static const uint64_t more[] = {RUN(DIFF_CONTEXT, 1),
					RUN(DIFF_DELETED, 1),
					RUN(DIFF_ADDED, 1ull << 60)};
	static const uint64_t unknown[] = {RUN(3, 1)};

	(void)state;
	/* The texts are a, b and a, c. */
	begin_lie(0, 0);
	fails_once(answer_lie, "worker: invalid answer");
	begin_lie(1, 0);
	fails_once(answer_lie, "worker: invalid answer");
	begin_lie(0, 1);
	add_lying_hunk(0, 2, 0, 2, "", equal, 1);
	fails_once(answer_lie, "worker: invalid answer");
	begin_lie(0, 1);
	add_lying_hunk(0, 2, 0, 2, "", more, 3);
	fails_once(answer_lie, "worker: invalid answer");
	begin_lie(0, 1);
	add_lying_hunk(0, 1, 0, 1, "", unknown, 1);
	fails_once(answer_lie, "worker: invalid answer");
	begin_lie(0, 1);
	add_lying_hunk(1, 2, 0, 2, "", changed, 3);
	fails_once(answer_lie, "worker: invalid answer");
	begin_lie(0, 1);
	add_lying_hunk(0, 3, 0, 2, "", changed, 3);
	fails_once(answer_lie, "worker: invalid answer");
	begin_lie(0, 1);
	add_lying_hunk(0, 2, 0, 2, " f\nforged", changed, 3);
	fails_once(answer_lie, "worker: invalid answer");
	begin_lie(0, 1);
	add_lying_hunk(0, 2, 0, 2, "", changed, 3);
	enc_u8(&lie, 0);
	fails_once(answer_lie, "worker: invalid answer");
	/* An answer may hold millions of empty hunks. */
	begin_lie(0, 2);
	add_lying_hunk(0, 0, 0, 0, "", NULL, 0);
	add_lying_hunk(0, 2, 0, 2, "", changed, 3);
	fails_once(answer_lie, "worker: invalid answer");
}

static int merge(const char *base, const char *ours, const char *theirs,
		 struct buf *ret, struct err *err)
{
	struct buf texts[3] = {0};
	const struct textmerge_sides sides = {&texts[0], &texts[1], &texts[2],
					      "ours", "theirs"};
	int got;

	buf_add_text(&texts[0], base);
	buf_add_text(&texts[1], ours);
	buf_add_text(&texts[2], theirs);
	got = textmerge(&sides, ret, err);
	buf_free(&texts[0]);
	buf_free(&texts[1]);
	buf_free(&texts[2]);
	return got;
}

static void refuses_merge(const char *text, bool clean)
{
	AUTO(buf) struct buf merged = {0};
	struct err err = {0};

	buf_clear(&lie);
	enc_u8(&lie, clean);
	buf_add_text(&lie, text);
	use_stand_in(answer_lie);
	assert_int_equal(
		merge("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", &merged, &err),
		-EPROTO);
	assert_int_equal(merged.len, 0);
}

static void a_merge_with_foreign_lines_is_refused(void **state)
{
	AUTO(buf) struct buf merged = {0};
	struct err err = {0};

	(void)state;
	refuses_merge("A\nb\nevil\nC\n", true);
	refuses_merge("A\nb\nC\n<<<<<<< x\n", true);
	refuses_merge("A\nevil\n<<<<<<< x\n", false);
	use_stand_in(NULL);
	started = 1;
	assert_int_equal(
		merge("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC", &merged, &err), 1);
	assert_string_equal(buf_text(&merged), "A\nb\nC");
	buf_clear(&merged);
	assert_int_equal(merge("a\n", "b\r\n", "c", &merged, &err), 0);
	assert_non_null(strstr(buf_text(&merged), "<<<<<<< ours"));
}

static int merge_parts(const char *base, const char *ours, const char *theirs,
		       struct textmerge_parts *ret)
{
	struct buf texts[3] = {0};
	const struct textmerge_sides sides = {&texts[0], &texts[1], &texts[2],
					      NULL, NULL};
	struct err err = {0};
	int got;

	buf_add_text(&texts[0], base);
	buf_add_text(&texts[1], ours);
	buf_add_text(&texts[2], theirs);
	got = textmerge_parts_make(&sides, ret, &err);
	buf_free(&texts[0]);
	buf_free(&texts[1]);
	buf_free(&texts[2]);
	return got;
}

static void expect_part(struct textmerge_parts *parts, size_t i,
			const char *base, const char *ours, const char *theirs)
{
	assert_true(i < parts->count);
	assert_int_equal(parts->items[i].conflict, base != NULL);
	assert_string_equal(buf_text(&parts->items[i].ours), ours);
	if (!base)
		return;
	assert_string_equal(buf_text(&parts->items[i].base), base);
	assert_string_equal(buf_text(&parts->items[i].theirs), theirs);
}

static void a_conflict_has_three_sides(void **state)
{
	struct textmerge_parts parts = {0};

	(void)state;
	use_stand_in(NULL);
	started = 1;
	assert_int_equal(merge_parts("a\nb\nc\nd\ne\nf\ng\n",
				     "a\nours\nc\nd\ne\nf\nG\n",
				     "A\ntheirs\nc\nd\ne\nf\ng\n", &parts),
			 0);
	assert_int_equal(parts.count, 2);
	expect_part(&parts, 0, "a\nb\n", "a\nours\n", "A\ntheirs\n");
	expect_part(&parts, 1, NULL, "c\nd\ne\nf\nG\n", NULL);
	textmerge_parts_free(&parts);
	/* Lines that look like markers; no line end at the end. */
	assert_int_equal(merge_parts("=======\nx\n<<<<<<<< y\nb",
				     "=======\nx\n<<<<<<<< y\n>>>>>>>>> o",
				     "=======\nx\n<<<<<<<< y\n|||||||\n",
				     &parts),
			 0);
	assert_int_equal(parts.count, 2);
	expect_part(&parts, 0, NULL, "=======\nx\n<<<<<<<< y\n", NULL);
	expect_part(&parts, 1, "b", ">>>>>>>>> o", "|||||||\n");
	textmerge_parts_free(&parts);
	assert_int_equal(
		merge_parts("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", &parts), 1);
	assert_int_equal(parts.count, 1);
	expect_part(&parts, 0, NULL, "A\nb\nC\n", NULL);
	textmerge_parts_free(&parts);
}

static void refuses_parts(const char *text)
{
	struct textmerge_parts parts = {0};

	buf_clear(&lie);
	enc_u8(&lie, 0);
	buf_add_text(&lie, text);
	use_stand_in(answer_lie);
	assert_int_equal(merge_parts("b\n", "o\n", "t\n", &parts), -EPROTO);
	textmerge_parts_free(&parts);
}

static void parts_with_foreign_lines_are_refused(void **state)
{
	(void)state;
	refuses_parts("<<<<<<<\no\n|||||||\nb\n=======\nevil\n>>>>>>>\n");
	refuses_parts("<<<<<<<\nt\n|||||||\nb\n=======\nt\n>>>>>>>\n");
	refuses_parts("<<<<<<<\no\n|||||||\no\n=======\nt\n>>>>>>>\n");
	refuses_parts("<<<<<<<\no\n=======\nt\n>>>>>>>\n");
	refuses_parts("<<<<<<<\no\n|||||||\nb\n=======\nt\n");
	refuses_parts("b\n");
}

/* --- JSON --- */

static bool read_package(void *arg, bool now, struct buf *to)
{
	(void)arg;
	buf_add_text(to, now ? "{\"scripts\": {\"test\": \"curl x | sh\"}}"
			     : "{\"scripts\": {\"test\": \"tsc\"}}");
	return true;
}

/* The ids of the rules that a changed file of this name breaks, and the
 * text of the last one. */
static char *judge(const char *path, char **ret_text)
{
	const struct risk_file f = {
		.path = path,
		.old_mode = S_IFREG | 0644,
		.now_mode = S_IFREG | 0644,
		.old_size = 10,
		.now_size = 10,
		.read = read_package,
	};
	AUTO(buf) struct buf ids = {0};
	struct risks r = {0};
	size_t i;

	risk_judge(&f, &r);
	for (i = 0; i < r.count; i++) {
		buf_printf(&ids, "%s%s:%d", i ? " " : "", r.items[i].id,
			   r.items[i].level);
		free(*ret_text);
		*ret_text = risk_sentence(&r.items[i]);
	}
	risks_free(&r);
	return buf_take_text(&ids);
}

/* A package whose parsing fails is as dangerous as its name. */
static void judges_by_name(void (*how)(int fd), const char *why)
{
	auto_free char *ids = NULL, *text = NULL;

	use_stand_in(how);
	ids = judge("package.json", &text);
	assert_string_equal(ids, "npm-run:2 not-parsed:1");
	assert_string_equal(text, why);
	assert_int_equal(started, 1);
	free(ids);
	ids = judge("package.json", &text);
	assert_string_equal(ids, "npm-script:2");
}

static void set_lie(const void *data, size_t len)
{
	buf_clear(&lie);
	buf_add(&lie, data, len);
}

static void a_file_whose_parsing_fails_is_judged_by_its_name(void **state)
{
	size_t i;

#define BROKEN(why) "cannot be read (worker: " why "): its settings are unknown"
	(void)state;
	judges_by_name(crash, BROKEN("signal 11"));
	judges_by_name(be_silent, BROKEN("no answer"));
	set_lie("", 0);
	judges_by_name(answer_lie, BROKEN("invalid answer"));
	set_lie("\2", 1);
	judges_by_name(answer_lie, BROKEN("invalid answer"));
	set_lie("\0a\0b", 5);
	judges_by_name(answer_lie, BROKEN("invalid answer"));
	set_lie("\1a\0b", 4);
	judges_by_name(answer_lie, BROKEN("invalid answer"));
	set_lie("\1a", 3);
	judges_by_name(answer_lie, BROKEN("invalid answer"));
	/* More values than the file has bytes. */
	set_lie("\1", 1);
	for (i = 0; i < 100; i++)
		buf_add(&lie, "\0\0", 2);
	judges_by_name(answer_lie, BROKEN("invalid answer"));
}

static bool read_servers(void *arg, bool now, struct buf *to)
{
	(void)arg;
	buf_add_text(to, now ? "{\"mcpServers\": {}}" : "{}");
	return true;
}

static void settings_of_an_unknown_name_are_high_if_parsing_fails(void **state)
{
	const struct risk_file f = {
		.path = "some.json",
		.now_mode = S_IFREG | 0644,
		.now_size = 18,
		.read = read_servers,
	};
	struct risks r = {0};

	(void)state;
	use_stand_in(crash);
	risk_judge(&f, &r);
	assert_int_equal(r.count, 1);
	assert_string_equal(r.items[0].id, "not-parsed");
	assert_int_equal(r.items[0].level, RISK_HIGH);
	risks_free(&r);
}

static int undo_members(struct buf *ret, struct err *err)
{
	static const struct members m = {"a.json", "", "/p"};
	AUTO(buf) struct buf before = {0}, after = {0};

	buf_add_text(&before, "{\"a\": 1}");
	buf_add_text(&after, "{\"a\": 2}");
	return settings_undo(&m, &before, &after, &after, ret, err);
}

static void a_member_is_added_to_a_file_once(void **state)
{
	static const char wanted[] = "[[\"a\", 1], [\"p.*.t\", true]]";
	AUTO(buf) struct buf file = {0}, text = {0}, again = {0};
	struct err err = {0};
	size_t i;

	(void)state;
	buf_add_text(&file, "{\"a\": 2}");
	use_stand_in(crash);
	assert_int_equal(
		settings_add("a.json", &file, wanted, "/x", &text, &err),
		-EPROTO);
	assert_int_equal(text.len, 0);
	assert_int_equal(
		settings_add("a.json", &file, wanted, "/x", &text, &err), 1);
	assert_string_equal(buf_text(&text),
			    "{\n  \"a\": 2,\n  \"p\": {\n    \"/x\": {\n"
			    "      \"t\": true\n    }\n  }\n}");
	assert_int_equal(
		settings_add("a.json", &text, wanted, "/x", &again, &err), 0);
	assert_int_equal(settings_add("a.json", NULL, "[[\"a\", 1]]", "/x",
				      &again, &err),
			 1);
	assert_string_equal(buf_text(&again), "{\n  \"a\": 1\n}");
	buf_clear(&file);
	buf_clear(&text);
	buf_add_text(&file, "a = 1\n[f]\ncc = 3\n[g ]\nx = 1");
	assert_int_equal(settings_add("a.toml", &file,
				      "[[\"f.d\", false], [\"f.cc\", 1], "
				      "[\"nn\", true], [\"g.y\", 1], "
				      "[\"table.member\", \"v\"]]",
				      "/x", &text, &err),
			 1);
	assert_string_equal(buf_text(&text),
			    "nn = true\na = 1\n[f]\nd = false\ncc = 3\n[g ]\n"
			    "x = 1\n\n\n[table]\nmember = \"v\"\n");
	buf_clear(&again);
	assert_int_equal(settings_add("a.toml", &text,
				      "[[\"table.member\", 1]]", "/x", &again,
				      &err),
			 0);
	/* Items of lists; members of tables. */
	static const struct {
		const char *file, *text, *wanted, *with;
	} cases[] = {
		{"a.json", "{}", "[[\"a.b[]\", {\"c\": 1}]]",
		 "{\"a\":{\"b\":[{\"c\":1}]}}"},
		{"a.json", "{\"b\":[1]}", "[[\"b[]\", 2]]", "{\"b\":[1,2]}"},
		{"a.json", "{\"b\":[1,2,3]}", "[[\"b[]\", 2]]", NULL},
		{"a.json", "{\"b\":{}}", "[[\"b[]\", 2]]", NULL},
		{"a.json", "{\"b\":\"x\"}", "[[\"b[]\", 2]]", NULL},
		{"a.json", "[1]", "[[\"b[]\", 2]]", NULL},
		{"a.json", "{\"a\":1}", "[[\"a.b[]\", 2]]", NULL},
		{"a.toml", "[s.\"/a:0\"]\nt = \"x\"\n",
		 "[[\"s.\\\"/a:0\\\".t\", \"y\"]]", NULL},
		{"a.toml", "[s.\"/a:0\"]\nt = \"x\"\n",
		 "[[\"s.\\\"/a:1\\\".t\", \"y\"]]",
		 "[s.\"/a:0\"]\nt = \"x\"\n\n[s.\"/a:1\"]\nt = \"y\"\n"},
		{"a.toml", "[s]\nx = 1\n[r]\nt = 2\n", "[[\"s.t\", 3]]",
		 "[s]\nt = 3\nx = 1\n[r]\nt = 2\n\n"},
	};
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		json_auto_t *got = NULL, *with = NULL;

		buf_clear(&file);
		buf_clear(&text);
		buf_add_text(&file, cases[i].text);
		assert_int_equal(settings_add(cases[i].file, &file,
					      cases[i].wanted, "/x", &text,
					      &err),
				 cases[i].with != NULL);
		got = json_loads(buf_text(&text), 0, NULL);
		with = cases[i].with ? json_loads(cases[i].with, 0, NULL)
				     : NULL;
		if (with)
			assert_true(json_equal(got, with));
		else
			assert_string_equal(buf_text(&text),
					    cases[i].with ?: "");
	}
	buf_clear(&file);
	buf_add_text(&file, "{\"a\": 2}");
	assert_true(settings_member_is(&file, "a", "2"));
	assert_false(settings_member_is(&file, "a", "1"));
	use_stand_in(crash);
	assert_false(settings_member_is(&file, "a", "2"));
	assert_true(settings_member_is(&file, "a", "2"));
}

static void a_file_whose_parsing_fails_is_not_put_back(void **state)
{
	AUTO(buf) struct buf text = {0};
	struct err err = {0};

	(void)state;
	use_stand_in(crash);
	assert_int_equal(undo_members(&text, &err), -EPROTO);
	set_lie("\2{}", 3);
	use_stand_in(answer_lie);
	assert_int_equal(undo_members(&text, &err), -EPROTO);
	set_lie("\0{}", 3);
	use_stand_in(answer_lie);
	assert_int_equal(undo_members(&text, &err), -EPROTO);
	assert_int_equal(text.len, 0);
	assert_int_equal(undo_members(&text, &err), 1);
	assert_string_equal(buf_text(&text), "{\n  \"a\": 1\n}");
}

/* --- similarity --- */

static void signatures_are_lost_with_their_worker(void **state)
{
	AUTO(similar) struct similar s = {0};
	AUTO(buf) struct buf text = {0}, percents = {0};
	struct err err = {0};
	size_t with = 0;
	int i;

	(void)state;
	use_stand_in(NULL);
	started = 1;
	for (i = 0; i < 100; i++)
		buf_printf(&text, "line %d\n", i);
	assert_int_equal(similar_add(&s, &text, &err), 0);
	buf_add_text(&text, "one more\n");
	assert_int_equal(similar_add(&s, &text, &err), 0);
	assert_int_equal(similar_compare(&s, 1, &with, 1, &percents, &err), 0);
	assert_int_equal(percents.len, 1);
	assert_in_range(percents.data[0], 90, 99);
	parse_end();
	assert_true(similar_compare(&s, 1, &with, 1, &percents, &err) < 0);
	assert_int_equal(similar_add(&s, &text, &err), -EPROTO);
}

/* --- the real worker --- */

static void use_real(void)
{
	parse_end();
	parse_worker_install();
}

/* The process of the real worker. */
static pid_t find_worker(void)
{
	auto_free char *path =
		mem_printf("/proc/self/task/%d/children", (int)getpid());
	AUTO(buf) struct buf list = {0};
	struct err err = {0};

	assert_int_equal(fd_slurp_at(AT_FDCWD, path, 4096, &list, &err), 0);
	return (pid_t)atoi(buf_text(&list));
}

static void long_texts_travel_in_memfds(void **state)
{
	AUTO(buf) struct buf old = {0}, now = {0};
	struct err err = {0};
	int lines = 0, i;

	(void)state;
	use_real();
	for (i = 0; i < 100000; i++) {
		buf_printf(&old, "line %d\n", i);
		buf_printf(&now, "line %d\n", i % 2 ? i : -i - 1);
	}
	assert_int_equal(textdiff(old.data, old.len, now.data, now.len, 0,
				  count_lines, &lines, NULL, NULL, &err),
			 0);
	assert_int_equal(lines, 100000);
}

static void a_killed_worker_leaves_the_next_request_alone(void **state)
{
	struct err err = {0};
	siginfo_t ended;
	pid_t pid;

	(void)state;
	use_real();
	assert_int_equal(compare(&err), 0);
	pid = find_worker();
	assert_true(pid > 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT),
			 0);
	assert_int_equal(compare(&err), 0);
	assert_int_not_equal(find_worker(), pid);
}

static void a_fork_of_guard_has_a_worker_of_its_own(void **state)
{
	struct err err = {0};
	int status;
	pid_t pid;

	(void)state;
	use_real();
	assert_int_equal(compare(&err), 0);
	pid = fork();
	if (pid == 0)
		_exit(compare(&err) != 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(compare(&err), 0);
}

static void the_worker_inherits_no_descriptor(void **state)
{
	int secret = open("/proc/self/status", O_RDONLY);
	auto_free char *path = NULL;
	struct err err = {0};
	struct dirent *d;
	DIR *dir;
	int n = 0;

	(void)state;
	if (geteuid() != 0) {
		skip_because("only root sees the descriptors of the worker");
	}
	use_real();
	assert_int_equal(compare(&err), 0);
	path = mem_printf("/proc/%d/fd", (int)find_worker());
	dir = opendir(path);
	assert_non_null(dir);
	while ((d = readdir(dir))) {
		char target[64] = "";

		if (*d->d_name == '.')
			continue;
		assert_true(readlinkat(dirfd(dir), d->d_name, target,
				       sizeof(target) - 1) > 0);
		n++;
		assert_string_equal(atoi(d->d_name) < 3 ? "/dev/null" : "",
				    strncmp(target, "socket:", 7) ? target
								  : "");
	}
	(void)closedir(dir);
	(void)close(secret);
	assert_int_equal(n, 4);
}

static void the_worker_has_no_environment_and_no_rights(void **state)
{
	static const char *const lines[] = {
		"\nCapEff:\t0000000000000000\n",
		"\nCapPrm:\t0000000000000000\n",
		"\nNoNewPrivs:\t1\n",
#ifndef __SANITIZE_ADDRESS__
		"\nSeccomp:\t2\n",
#endif
	};
	AUTO(buf) struct buf text = {0}, environment = {0};
	auto_free char *path = NULL, *environ_path = NULL;
	struct err err = {0};
	size_t i;

	(void)state;
	use_real();
	assert_int_equal(setenv("SECRET", "x", 1), 0);
	assert_int_equal(compare(&err), 0);
	path = mem_printf("/proc/%d/status", (int)find_worker());
	assert_int_equal(fd_slurp_at(AT_FDCWD, path, 1 << 16, &text, &err), 0);
	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_non_null(strstr(buf_text(&text), lines[i]));
	if (geteuid() != 0)
		return;
	environ_path = mem_printf("/proc/%d/environ", (int)find_worker());
	assert_int_equal(fd_slurp_at(AT_FDCWD, environ_path, 1 << 16,
				     &environment, &err),
			 0);
	assert_int_equal(environment.len, 0);
}

/* In a locked down process; the call must end it. */
static void try_open(void)
{
	(void)open("/", O_RDONLY | O_CLOEXEC);
}

static void try_socket(void)
{
	(void)socket(AF_INET, SOCK_STREAM, 0);
}

static void try_connect(void)
{
	(void)syscall(SYS_connect, PARSER_SOCKET, NULL, 0);
}

static void try_fork(void)
{
	(void)fork();
}

static void try_exec(void)
{
	char *none[] = {NULL};

	(void)execve("/proc/self/exe", none, none);
}

static void try_kill(void)
{
	(void)kill(getppid(), 0);
}

static void try_tgkill(void)
{
	(void)syscall(SYS_tgkill, 1, 1, 0);
}

static void try_ptrace(void)
{
	(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static void try_code(void)
{
	(void)mmap(NULL, 4096, PROT_READ | PROT_EXEC,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void try_code_later(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)mprotect(at, 4096, PROT_READ | PROT_EXEC);
}

static void try_owner(void)
{
	(void)fcntl(PARSER_SOCKET, F_SETOWN, 1);
}

static void try_prctl(void)
{
	(void)prctl(PR_SET_DUMPABLE, 1);
}

/* The signal that ends a locked down process that calls this. */
static int signal_of(void (*call)(void))
{
	struct err err;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (parser_lock_down(&err) < 0)
			_exit(98);
		call();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status))
		return -WEXITSTATUS(status);
	return WTERMSIG(status);
}

static void do_nothing(void)
{
}

static void other_system_calls_end_the_worker(void **state)
{
	static void (*const calls[])(void) = {
		try_open, try_socket,	  try_connect, try_fork,
		try_exec, try_kill,	  try_tgkill,  try_ptrace,
		try_code, try_code_later, try_owner,   try_prctl,
	};
	size_t i;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip_because("the sanitizer makes other calls");
#endif
	parse_end();
	assert_int_equal(signal_of(do_nothing), 0);
	assert_int_equal(signal_of(abort), SIGABRT);
	for (i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		assert_int_equal(signal_of(calls[i]), SIGSYS);
}

static int write_text(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -1 : fd_write(fd, text, strlen(text));
}

/* 0: compared in a place without any namespace; 77: there is no such place. */
static int compare_without_namespaces(void)
{
	static const char *const kinds[] = {"user", "pid", "mnt", "net", "ipc"};
	AUTO(buf) struct buf uids = {0};
	struct err err = {0};
	size_t i;

	buf_printf(&uids, "%u %u 1", geteuid(), geteuid());
	if (unshare(CLONE_NEWUSER) < 0 ||
	    write_text("/proc/self/uid_map", buf_text(&uids)) < 0)
		return 77;
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		auto_free char *path = mem_printf(
			"/proc/sys/user/max_%s_namespaces", kinds[i]);

		if (write_text(path, "0") < 0)
			return 77;
	}
	if (unshare(CLONE_NEWUSER) == 0 || unshare(CLONE_NEWPID) == 0)
		return 1;
	return compare(&err) == 0 ? 0 : 2;
}

static void without_namespaces_the_worker_answers(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	use_real();
	pid = fork();
	if (pid == 0)
		_exit(compare_without_namespaces());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		skip_because("the limits of namespaces cannot be set here");
	}
	assert_int_equal(status, 0);
}

static void a_pid_namespace_is_used_where_it_is_allowed(void **state)
{
	char own[64] = "", other[64] = "";
	auto_free char *path = NULL;
	struct err err = {0};

	(void)state;
	if (geteuid() != 0) {
		skip_because("only root sees the namespaces of the worker");
	}
	use_real();
	assert_int_equal(compare(&err), 0);
	path = mem_printf("/proc/%d/ns/pid", (int)find_worker());
	assert_true(readlink("/proc/self/ns/pid", own, sizeof(own) - 1) > 0);
	assert_true(readlink(path, other, sizeof(other) - 1) > 0);
	assert_string_not_equal(own, other);
}

static void a_text_that_needs_too_much_memory_is_named(void **state)
{
	const size_t len = (size_t)500 << 20;
	char *text = mmap(NULL, len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct err err = {0};
	size_t added;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip_because("the sanitizer makes other calls");
#endif
	assert_ptr_not_equal(text, MAP_FAILED);
	memset(text, '\n', 64 << 20);
	use_real();
	assert_true(textdiff(text, 64 << 20, "x\n", 2, 0, NULL, NULL, &added,
			     NULL, &err) < 0);
	assert_true(*err.text != '\0');
	assert_int_equal(compare(&err), 0);
	(void)munmap(text, len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dead_worker_is_named_and_replaced),
		cmocka_unit_test(a_silent_worker_is_ended),
		cmocka_unit_test(a_worker_that_computes_too_long_is_ended),
		cmocka_unit_test(
			a_worker_killed_between_two_requests_is_replaced),
		cmocka_unit_test(an_answer_of_another_form_is_refused),
		cmocka_unit_test(the_text_of_an_error_is_escaped),
		cmocka_unit_test(a_difference_that_hides_a_line_is_refused),
		cmocka_unit_test(a_merge_with_foreign_lines_is_refused),
		cmocka_unit_test(a_conflict_has_three_sides),
		cmocka_unit_test(parts_with_foreign_lines_are_refused),

		cmocka_unit_test(
			a_file_whose_parsing_fails_is_judged_by_its_name),
		cmocka_unit_test(
			settings_of_an_unknown_name_are_high_if_parsing_fails),
		cmocka_unit_test(a_file_whose_parsing_fails_is_not_put_back),
		cmocka_unit_test(a_member_is_added_to_a_file_once),
		cmocka_unit_test(signatures_are_lost_with_their_worker),
		cmocka_unit_test(long_texts_travel_in_memfds),
		cmocka_unit_test(a_killed_worker_leaves_the_next_request_alone),
		cmocka_unit_test(a_fork_of_guard_has_a_worker_of_its_own),
		cmocka_unit_test(the_worker_inherits_no_descriptor),
		cmocka_unit_test(the_worker_has_no_environment_and_no_rights),
		cmocka_unit_test(other_system_calls_end_the_worker),
		cmocka_unit_test(without_namespaces_the_worker_answers),
		cmocka_unit_test(a_pid_namespace_is_used_where_it_is_allowed),
		cmocka_unit_test(a_text_that_needs_too_much_memory_is_named),
	};
	int got = cmocka_run_group_tests(tests, NULL, NULL);

	parse_end();
	buf_free(&lie);
	return got;
}
