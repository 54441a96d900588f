/* link: -Wl,--wrap=fdatasync */
#include "overlay/session_private.h"

#include "overlay_lab.h"

#include <limits.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>

#include "base/lock.h"
#include "overlay/session_base.h"
#include "overlay/session_list.h"

static int syncs;
int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

int __wrap_fdatasync(int fd)
{
	syncs++;
	return __real_fdatasync(fd);
}

static void test_ids(void **state)
{
	char a[SESSION_ID_LEN + 1], b[SESSION_ID_LEN + 1];
	struct err err;
	int i;

	(void)state;
	for (i = 0; i < 100; i++) {
		assert_int_equal(
			session_id_make((struct timestamp){1790000000, 0}, a,
					&err),
			0);
		assert_true(session_id_ok(a));
		assert_true(a[0] >= 'a' && a[0] <= 'z');
		assert_false(session_name_ok(a));
		assert_int_equal(session_id_time(a), 1790000000);
	}
	session_id_make((struct timestamp){0, 999999999}, b, &err);
	assert_string_equal(b + 4, "-000000");
	assert_memory_not_equal(a, b, 4);
	assert_true(session_id_ok("3mk9zq-4t"));
	assert_int_equal(session_id_time("00000a-zz"), session_id_time(b) + 10);
	assert_false(session_id_ok("000000-z"));
	assert_false(session_id_ok("2026-11-21"));
	assert_false(session_id_ok("0000000zz"));
	assert_false(session_id_ok("00000A-zz"));
	assert_false(session_id_ok("../../-zz"));
}

static void test_names(void **state)
{
	(void)state;
	assert_true(session_name_ok("x"));
	assert_true(session_name_ok("Fix-login_2.1"));
	assert_true(session_name_ok("abcdefghijklmnopqrstuvwxyz012345"));
	assert_false(session_name_ok("abcdefghijklmnopqrstuvwxyz0123456"));
	assert_false(session_name_ok(""));
	assert_false(session_name_ok("latest"));
	assert_false(session_name_ok("2fast"));
	assert_false(session_name_ok("a/b"));
	assert_false(session_name_ok("a b"));
	assert_false(session_name_ok("kq7m-3mk9zq"));
}

static void test_create_and_open(void **state)
{
	static const char *const dirs[] = {
		"upper", "work", "home-upper", "home-work", "tmp", "var-tmp",
	};
	struct session s = SESSION_NONE;
	struct lab lab;
	struct stat st;
	struct err err;
	size_t i;

	(void)state;
	lab_open(&lab, "a project\nof two lines");
	for (i = 0; i < 6; i++) {
		assert_int_equal(fstatat(lab.s.fd, dirs[i], &st, 0), 0);
		assert_int_equal(st.st_mode & 07777, i < 4 ? 0700 : 01777);
	}
	lab.s.state = RUN_ENDED;
	lab.s.started = (struct timestamp){1790000000, 5};
	lab.s.ended = (struct timestamp){1790000001, 999999999};
	lab.s.status = 137;
	lab.s.roots[0].result = 1ULL << 60;
	lab.s.times = 3;
	lab.s.roots[0].dir.ino = UINT64_MAX - 5;
	record_add(&lab.s.more, "layer-note", "one\ntwo");
	record_add(&lab.s.more, "layer-note", "three");
	assert_int_equal(session_save(&lab.s, &err), 0);
	assert_int_equal(session_open(lab.runs_fd, lab.s.id, false, &s, &err),
			 0);
	assert_string_equal(s.id, lab.s.id);
	assert_string_equal(s.project, lab.project);
	assert_string_equal(s.home, "");
	assert_string_equal(s.command, "test");
	assert_int_equal(s.state, RUN_ENDED);
	assert_true(s.live);
	assert_int_equal(s.lock_fd, -1);
	assert_int_equal(s.started.nsec, 5);
	assert_int_equal(s.ended.nsec, 999999999);
	assert_int_equal(s.status, 137);
	assert_true(s.roots[0].result == 1ULL << 60);
	assert_true(s.roots[0].dir.ino == UINT64_MAX - 5);
	assert_int_equal(s.times, 3);
	assert_int_equal(s.more.count, 2);
	assert_string_equal(record_get_nth(&s.more, "layer-note", 1), "three");
	session_free(&s);
	lab_close(&lab);
}

static void test_unknown_keys_are_kept(void **state)
{
	struct session s = SESSION_NONE;
	AUTO(record) struct record r = {0};
	struct lab lab;
	struct err err;

	(void)state;
	lab_open(&lab, "p");
	assert_int_equal(record_load(lab.s.fd, "record", "run", 1, &r, &err),
			 0);
	record_add(&r, "of-the-future", "yes");
	assert_int_equal(
		record_save(lab.s.fd, "record", "run", 1, &r, false, &err), 0);
	assert_int_equal(session_open(lab.runs_fd, lab.s.id, false, &s, &err),
			 0);
	assert_int_equal(session_set_state(&s, RUN_APPLIED, &err), 0);
	record_free(&r);
	assert_int_equal(record_load(lab.s.fd, "record", "run", 1, &r, &err),
			 0);
	assert_string_equal(record_get(&r, "of-the-future"), "yes");
	assert_string_equal(record_get(&r, "state"), "applied");
	session_free(&s);
	lab_close(&lab);
}

/* At the first time no data can be lost by a power cut. */
static void test_a_run_that_goes_on_never_loses_its_record(void **state)
{
	struct lab lab;
	struct err err;

	(void)state;
	lab_open(&lab, "p");
	syncs = 0;
	lab.s.times = 1;
	assert_int_equal(session_set_state(&lab.s, RUN_RUNNING, &err), 0);
	assert_int_equal(syncs, 0);
	lab.s.times = 2;
	assert_int_equal(session_set_state(&lab.s, RUN_RUNNING, &err), 0);
	assert_int_equal(syncs, 0);
	assert_int_equal(faccessat(lab.s.fd, "going", F_OK, 0), 0);
	assert_int_equal(session_set_state(&lab.s, RUN_ENDED, &err), 0);
	assert_int_equal(syncs, 1);
	lab_close(&lab);
}

/* A child that holds the session until it is asked to end, or is killed. */
static pid_t holder(struct lab *lab, int *ret_end)
{
	struct session s = SESSION_NONE;
	int ready[2], end[2];
	struct err err;
	pid_t pid;
	char c;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(end, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)close(end[1]);
		if (session_open(lab->runs_fd, lab->s.id, true, &s, &err) < 0 ||
		    session_set_state(&s, RUN_RUNNING, &err) < 0 ||
		    write(ready[1], "", 1) != 1 || read(end[0], &c, 1) < 0 ||
		    session_set_state(&s, RUN_ENDED, &err) < 0)
			_exit(1);
		_exit(0);
	}
	(void)close(ready[1]);
	(void)close(end[0]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	(void)close(ready[0]);
	*ret_end = end[1];
	return pid;
}

static enum run_state state_of(struct lab *lab, bool *ret_live)
{
	struct session s = SESSION_NONE;
	enum run_state is;
	struct err err;

	assert_int_equal(session_open(lab->runs_fd, lab->s.id, false, &s, &err),
			 0);
	is = s.state;
	*ret_live = s.live;
	session_free(&s);
	return is;
}

/* The first line of the record: its version. */
static int record_version(const struct lab *lab)
{
	auto_close int fd = openat(lab->s.fd, "record", O_RDONLY | O_CLOEXEC);
	char line[64] = "";
	int version = 0;

	assert_true(fd >= 0 && read(fd, line, sizeof(line) - 1) > 0);
	assert_int_equal(sscanf(line, "guard-run %d\n", &version), 1);
	return version;
}

static void
test_a_second_folder_makes_a_record_that_older_guards_refuse(void **state)
{
	struct session s = SESSION_NONE;
	struct lab lab;
	struct stat st;
	struct err err;
	int folder;

	(void)state;
	lab_open(&lab, "project");
	assert_int_equal(record_version(&lab), 1);
	folder = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(session_add_root(&lab.s, "/a\nb", folder, &err), 0);
	assert_int_equal(session_add_root(&lab.s, "/c d", folder, &err), 0);
	assert_int_equal(fstatat(lab.s.fd, "upper-2", &st, 0), 0);
	lab.s.roots[2].result = 1ULL << 60;
	assert_int_equal(session_save(&lab.s, &err), 0);
	assert_int_equal(record_version(&lab), 2);
	lab.s.roots[1].base = 7;
	lab.s.roots[2].base = 8;
	assert_int_equal(session_write_base(&lab.s, 6, NULL, false, &err), 0);
	assert_int_equal(session_open(lab.runs_fd, lab.s.id, false, &s, &err),
			 0);
	assert_int_equal(s.root_count, 3);
	assert_string_equal(s.roots[1].path, "/a\nb");
	assert_string_equal(s.roots[2].path, "/c d");
	assert_int_equal(fstat(folder, &st), 0);
	assert_int_equal(s.roots[2].dir.ino, st.st_ino);
	assert_int_equal(s.roots[2].result, 1ULL << 60);
	assert_int_equal(s.roots[0].base, 6);
	assert_int_equal(s.roots[1].base, 7);
	assert_int_equal(s.roots[2].base, 8);
	session_free(&s);
	(void)close(folder);
	lab_close(&lab);
}

static void let_go(struct lab *lab)
{
	(void)close(lab->s.lock_fd);
	lab->s.lock_fd = -1;
}

static void test_lock(void **state)
{
	struct session s = SESSION_NONE;
	struct lab lab;
	struct err err;
	int end, status;
	bool live;
	pid_t pid;

	(void)state;
	lab_open(&lab, "p");
	let_go(&lab);
	assert_int_equal(state_of(&lab, &live), RUN_NEW);
	assert_false(live);
	pid = holder(&lab, &end);
	assert_int_equal(session_open(lab.runs_fd, lab.s.id, true, &s, &err),
			 -EBUSY);
	assert_int_equal(state_of(&lab, &live), RUN_RUNNING);
	assert_true(live);
	/* The lookup took no lock: the holder ends normally. */
	(void)close(end);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(state_of(&lab, &live), RUN_ENDED);
	assert_false(live);
	assert_int_equal(session_open(lab.runs_fd, lab.s.id, true, &s, &err),
			 0);
	assert_true(s.lock_fd >= 0);
	session_free(&s);
	lab_close(&lab);
}

/* A process that was forked just before and has not run yet has such a
 * descriptor. */
static void test_the_lock_is_released_for_inherited_descriptors(void **state)
{
	struct session other = SESSION_NONE;
	char id[sizeof(((struct session *)NULL)->id)];
	struct lab lab;
	struct err err;
	int inherited;

	(void)state;
	lab_open(&lab, "p");
	memcpy(id, lab.s.id, sizeof(id));
	inherited = dup(lab.s.lock_fd);
	assert_return_code(inherited, errno);
	session_free(&lab.s);
	assert_int_equal(session_open(lab.runs_fd, id, true, &lab.s, &err), 0);
	(void)close(inherited);
	inherited = dup(lab.s.lock_fd);
	assert_return_code(inherited, errno);
	lock_release(&lab.s.lock_fd);
	assert_int_equal(session_open(lab.runs_fd, id, true, &other, &err), 0);
	session_free(&other);
	(void)close(inherited);
	lab_close(&lab);
}

static void test_interrupted(void **state)
{
	struct session s = SESSION_NONE;
	AUTO(record) struct record r = {0};
	struct lab lab;
	struct err err;
	int end, status;
	bool live;
	pid_t pid;

	(void)state;
	lab_open(&lab, "p");
	let_go(&lab);
	pid = holder(&lab, &end);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(state_of(&lab, &live), RUN_INTERRUPTED);
	assert_false(live);
	assert_int_equal(session_open(lab.runs_fd, lab.s.id, true, &s, &err),
			 0);
	assert_int_equal(s.state, RUN_INTERRUPTED);
	assert_true(run_state_pending(s.state));
	/* The state never reaches the disk. */
	assert_int_equal(session_save(&s, &err), 0);
	assert_int_equal(record_load(s.fd, "record", "run", 1, &r, &err), 0);
	assert_string_equal(record_get(&r, "state"), "running");
	session_free(&s);
	(void)close(end);
	lab_close(&lab);
}

/* project NULL: that of the lab. */
static void add_run_of(struct lab *lab, const char *id, const char *project)
{
	AUTO(record) struct record r = {0};
	struct err err;
	int fd = lab_mkdir(lab->runs_fd, id);

	assert_int_equal(record_load(lab->s.fd, "record", "run", 1, &r, &err),
			 0);
	record_set(&r, "id", id);
	if (project)
		record_set(&r, "project", project);
	assert_int_equal(record_save(fd, "record", "run", 1, &r, false, &err),
			 0);
	(void)close(fd);
}

static void add_run(struct lab *lab, const char *id)
{
	add_run_of(lab, id, NULL);
}

static void set_going(struct lab *lab, const char *text)
{
	assert_int_equal(unlinkat(lab->s.fd, "going", 0), 0);
	assert_int_equal(lab_file(lab->s.fd, "going", text), 0);
}

static void test_going_on(void **state)
{
	struct session s = SESSION_NONE;
	struct lab lab;
	struct err err;
	bool live;

	(void)state;
	lab_open(&lab, "p");
	lab.s.times = 1;
	lab.s.roots[0].result = 7;
	assert_int_equal(session_set_state(&lab.s, RUN_ENDED, &err), 0);
	lab.s.times = 2;
	lab.s.roots[0].result = 0;
	assert_int_equal(session_set_state(&lab.s, RUN_RUNNING, &err), 0);
	assert_int_equal(state_of(&lab, &live), RUN_RUNNING);
	assert_true(live);
	/* A later record counts, whatever the file "going" contains. */
	assert_int_equal(session_store_resumed(&lab.s, &err), 0);
	lab.s.roots[0].result = 8;
	lab.s.state = RUN_ENDED;
	assert_int_equal(session_save(&lab.s, &err), 0);
	assert_int_equal(session_store_resumed(&lab.s, &err), 0);
	assert_int_equal(state_of(&lab, &live), RUN_ENDED);
	/* Forgotten. */
	lab.s.times = 3;
	assert_int_equal(session_set_state(&lab.s, RUN_RUNNING, &err), 0);
	assert_int_equal(session_forget_resumed(&lab.s, &err), 0);
	assert_int_equal(state_of(&lab, &live), RUN_ENDED);
	/* A power cut erased the file's content. */
	assert_int_equal(session_store_resumed(&lab.s, &err), 0);
	set_going(&lab, "");
	assert_int_equal(state_of(&lab, &live), RUN_RUNNING);
	assert_int_equal(session_set_state(&lab.s, RUN_ENDED, &err), 0);
	assert_int_equal(faccessat(lab.s.fd, "going", F_OK, 0), -1);
	/* The format of a newer guard. */
	assert_int_equal(session_store_resumed(&lab.s, &err), 0);
	set_going(&lab, "guard-run 3\nid=x\n");
	assert_int_equal(session_open(lab.runs_fd, lab.s.id, false, &s, &err),
			 -EPROTO);
	lab_close(&lab);
}

static void test_beginnings(void **state)
{
	struct session s = SESSION_NONE;
	struct lab lab;
	struct err err;

	(void)state;
	lab_open(&lab, "p");
	add_run(&lab, "zzz0aa-01");
	add_run(&lab, "zzz0aa-02");
	assert_int_equal(session_open(lab.runs_fd, "zzz0aa", false, &s, &err),
			 -EEXIST);
	assert_non_null(strstr(err.text, "zzz0aa-01, zzz0aa-02"));
	assert_int_equal(session_open(lab.runs_fd, "", false, &s, &err),
			 -ENOENT);
	assert_int_equal(session_open(lab.runs_fd, "../runs", false, &s, &err),
			 -ENOENT);
	assert_int_equal(
		session_open(lab.runs_fd, "zzz0aa-02", false, &s, &err), 0);
	assert_string_equal(s.id, "zzz0aa-02");
	session_free(&s);
	lab_close(&lab);
}

static void test_list(void **state)
{
	struct session_list list = {0};
	struct session s = SESSION_NONE;
	struct lab lab;
	struct err err;
	int fd;

	(void)state;
	lab_open(&lab, "p");
	add_run(&lab, "zzz0aa-02");
	add_run(&lab, "000000-01");
	/* Damaged, incomplete, newer, and not a run at all. */
	fd = lab_mkdir(lab.runs_fd, "zzz0aa-03");
	assert_int_equal(lab_file(fd, "record", "guard-run 1\nid="), 0);
	(void)close(fd);
	(void)close(lab_mkdir(lab.runs_fd, "zzz0aa-04"));
	fd = lab_mkdir(lab.runs_fd, "zzz0aa-05");
	assert_int_equal(lab_file(fd, "record", "guard-run 3\nid=x\n"), 0);
	(void)close(fd);
	(void)close(lab_mkdir(lab.runs_fd, "something"));
	assert_int_equal(session_list(lab.runs_fd, false, &list, &err), 0);
	assert_int_equal(list.count, 3);
	assert_string_equal(list.items[0].id, "000000-01");
	assert_string_equal(list.items[1].id, lab.s.id);
	assert_string_equal(list.items[2].id, "zzz0aa-02");
	session_list_free(&list);
	/* A process holds one of these. */
	assert_int_equal(session_list(lab.runs_fd, true, &list, &err), 0);
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].id, lab.s.id);
	session_list_free(&list);
	assert_int_equal(
		session_open(lab.runs_fd, "zzz0aa-05", false, &s, &err),
		-EPROTO);
	assert_non_null(strstr(err.text, "newer guard"));
	assert_int_equal(
		session_open(lab.runs_fd, "zzz0aa-03", false, &s, &err),
		-EBADMSG);
	lab_close(&lab);
}

/* Waits until the thread `pid` sleeps in flock(2), for which the kernel has no
 * event. */
static void until_waiting(pid_t pid)
{
	auto_free char *path = mem_printf("/proc/%d/syscall", pid);
	long number = -1;

	siginfo_t ended = {0};

	/* A child that ended instead is a failure, not an endless wait. */
	while (number != SYS_flock) {
		assert_int_equal(waitid(P_PID, (id_t)pid, &ended,
					WEXITED | WNOHANG | WNOWAIT),
				 0);
		assert_int_equal(ended.si_pid, 0);
		FILE *file = fopen(path, "r");

		if (!file || fscanf(file, "%ld", &number) != 1)
			number = -1;
		if (file)
			(void)fclose(file);
		(void)sched_yield();
	}
}

static size_t count_pending(const struct lab *lab)
{
	struct session_list list;
	struct err err;
	size_t count;

	assert_int_equal(session_list_pending(lab->runs_fd, NULL, &list, &err),
			 0);
	count = list.count;
	session_list_free(&list);
	return count;
}

/* Whether the run lies among the closed ones. */
static bool lies_closed(const struct lab *lab)
{
	auto_free char *closed = mem_printf("closed/%s", lab->s.id);
	bool is_closed = faccessat(lab->runs_fd, closed, F_OK, 0) == 0;

	assert_int_equal(faccessat(lab->runs_fd, lab->s.id, F_OK, 0),
			 is_closed ? -1 : 0);
	return is_closed;
}

static void
test_a_closed_run_lies_apart_and_comes_back_when_reopened(void **state)
{
	struct session s = SESSION_NONE;
	struct session_list list;
	struct lab lab;
	struct err err;

	(void)state;
	lab_open(&lab, "p");
	assert_int_equal(count_pending(&lab), 1);
	assert_int_equal(session_set_state(&lab.s, RUN_APPLIED, &err), 0);
	assert_true(lies_closed(&lab));
	assert_int_equal(count_pending(&lab), 0);
	assert_int_equal(session_list(lab.runs_fd, false, &list, &err), 0);
	assert_int_equal(list.count, 1);
	session_list_free(&list);
	assert_int_equal(session_exists(lab.runs_fd, lab.s.id, &err), 1);
	/* By its beginning, too. */
	lab.s.id[4] = '\0';
	assert_int_equal(session_open(lab.runs_fd, lab.s.id, false, &s, &err),
			 0);
	lab.s.id[4] = s.id[4];
	assert_string_equal(s.id, lab.s.id);
	assert_int_equal(s.state, RUN_APPLIED);
	session_free(&s);
	assert_int_equal(session_set_state(&lab.s, RUN_ENDED, &err), 0);
	assert_false(lies_closed(&lab));
	assert_int_equal(count_pending(&lab), 1);
	lab_close(&lab);
}

static void test_a_pending_run_goes_before_closed_ones(void **state)
{
	struct session s = SESSION_NONE;
	struct lab lab;
	struct err err;
	char start[3] = "";
	auto_free char *closed = NULL;

	(void)state;
	lab_open(&lab, "p");
	memcpy(start, lab.s.id, 2);
	assert_int_equal(mkdirat(lab.runs_fd, "closed", 0700), 0);
	closed = mem_printf("closed/%s00-3mk9zq", start);
	assert_int_equal(mkdirat(lab.runs_fd, closed, 0700), 0);
	assert_int_equal(session_open(lab.runs_fd, start, false, &s, &err), 0);
	assert_string_equal(s.id, lab.s.id);
	session_free(&s);
	lab_close(&lab);
}

static void test_a_list_moves_a_closed_run_that_nobody_uses(void **state)
{
	struct lab lab;
	struct err err;
	char id[sizeof(lab.s.id)];

	(void)state;
	lab_open(&lab, "p");
	memcpy(id, lab.s.id, sizeof(id));
	/* As earlier versions left it, or a process killed before the move. */
	lab.s.state = RUN_APPLIED;
	assert_int_equal(session_save(&lab.s, &err), 0);
	/* From here on the list could be stored for the next process. */
	(void)usleep(150000);
	assert_int_equal(count_pending(&lab), 0);
	assert_false(lies_closed(&lab));
	session_free(&lab.s);
	memcpy(lab.s.id, id, sizeof(id));
	assert_int_equal(count_pending(&lab), 0);
	assert_true(lies_closed(&lab));
	assert_int_equal(session_open(lab.runs_fd, id, true, &lab.s, &err), 0);
	lab_close(&lab);
}

static void test_the_list_of_pending_runs_opens_no_closed_run(void **state)
{
	struct session_list list;
	struct lab lab;
	struct err err;

	(void)state;
	lab_open(&lab, "p");
	assert_int_equal(session_set_state(&lab.s, RUN_APPLIED, &err), 0);
	/* A record that would be reported if it was read. */
	assert_int_equal(lab_file(lab.s.fd, "record", "broken\n"), 0);
	assert_int_equal(session_list_pending(lab.runs_fd, NULL, &list, &err),
			 0);
	assert_int_equal(list.unread.num, 0);
	session_list_free(&list);
	assert_int_equal(session_list(lab.runs_fd, false, &list, &err), 0);
	assert_int_equal(list.unread.num, EBADMSG);
	session_list_free(&list);
	lab_close(&lab);
}

static struct session_list list_here(const struct lab *lab, const char *here)
{
	struct session_list list;
	struct err err;

	assert_int_equal(session_list_pending(lab->runs_fd, here, &list, &err),
			 0);
	return list;
}

/* Lists until the index is written: not before the clock has moved on. */
static void until_indexed(const struct lab *lab)
{
	struct session_list list;

	while (faccessat(lab->root_fd, "pending-runs", F_OK, 0) < 0) {
		list = list_here(lab, lab->project);
		session_list_free(&list);
		(void)usleep(10000);
	}
}

static void test_a_list_for_a_directory_opens_its_runs_alone(void **state)
{
	struct session_list list;
	struct lab lab;
	struct err err;
	int fd;

	(void)state;
	lab_open(&lab, "p");
	assert_int_equal(session_set_state(&lab.s, RUN_ENDED, &err), 0);
	add_run_of(&lab, "zzz0aa-01", "/elsewhere");
	until_indexed(&lab);
	/* A record that would be reported if it was read. */
	fd = openat(lab.runs_fd, "zzz0aa-01", O_PATH | O_CLOEXEC);
	assert_int_equal(unlinkat(fd, "record", 0), 0);
	assert_int_equal(lab_file(fd, "record", "broken\n"), 0);
	(void)close(fd);
	list = list_here(&lab, lab.project);
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].id, lab.s.id);
	assert_int_equal(list.elsewhere, 1);
	assert_int_equal(list.unread.num, 0);
	session_list_free(&list);
	list = list_here(&lab, "/elsewhere/below");
	assert_int_equal(list.count, 0);
	assert_int_equal(list.elsewhere, 1);
	assert_int_equal(list.unread.num, EBADMSG);
	session_list_free(&list);
	list = list_here(&lab, NULL);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.unread.num, EBADMSG);
	session_list_free(&list);
	/* Later changes are noticed. */
	add_run(&lab, "zzz0aa-02");
	list = list_here(&lab, lab.project);
	assert_int_equal(list.count, 2);
	session_list_free(&list);
	assert_int_equal(session_set_state(&lab.s, RUN_APPLIED, &err), 0);
	list = list_here(&lab, lab.project);
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].id, "zzz0aa-02");
	session_list_free(&list);
	lab_close(&lab);
}

static void test_the_index_waits_for_a_run_that_is_being_made(void **state)
{
	struct session_list list;
	struct lab lab;
	struct err err;
	int i;

	(void)state;
	lab_open(&lab, "p");
	/* The run's roots are not complete. */
	for (i = 0; i < 15; i++) {
		list = list_here(&lab, lab.project);
		assert_int_equal(list.count, 1);
		session_list_free(&list);
		(void)usleep(20000);
	}
	assert_int_equal(faccessat(lab.root_fd, "pending-runs", F_OK, 0), -1);
	assert_int_equal(session_add_root(&lab.s, lab.root, lab.root_fd, &err),
			 0);
	assert_int_equal(session_set_state(&lab.s, RUN_ENDED, &err), 0);
	until_indexed(&lab);
	list = list_here(&lab, lab.root);
	assert_int_equal(list.count, 1);
	session_list_free(&list);
	list = list_here(&lab, "/");
	assert_int_equal(list.count, 0);
	session_list_free(&list);
	lab_close(&lab);
}

static void test_base_is_waited_for(void **state)
{
	struct session s = SESSION_NONE;
	struct lab lab;
	struct err err;
	int lock, status;
	pid_t pid;

	(void)state;
	lab_open(&lab, "p");
	assert_int_equal(session_base(&lab.s, false, &err), 0);
	assert_int_equal(session_base(&lab.s, true, &err), 0);
	lock = session_lock_base(&lab.s, &err);
	assert_true(lock >= 0);
	assert_int_equal(session_lock_base(&lab.s, &err), -EBUSY);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)close(lock);
		if (session_open(lab.runs_fd, lab.s.id, false, &s, &err) < 0)
			_exit(1);
		_exit(session_base(&s, true, &err) == 42 &&
				      s.roots[0].base == 42
			      ? 0
			      : 2);
	}
	until_waiting(pid);
	assert_int_equal(session_base(&lab.s, false, &err), 0);
	assert_int_equal(session_write_base(&lab.s, 42, NULL, true, &err), 0);
	(void)close(lock);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(session_open(lab.runs_fd, lab.s.id, false, &s, &err),
			 0);
	assert_int_equal(s.roots[0].base, 42);
	session_free(&s);
	lab_close(&lab);
}

static void test_late_base_holds_for_one_start(void **state)
{
	struct lab lab;
	struct err err;

	(void)state;
	lab_open(&lab, "p");
	lab.s.times = 1;
	lab.s.roots[0].base = 7;
	lab.s.roots[0].late = true;
	lab.s.roots[1].base = 8;
	assert_int_equal(session_write_base(&lab.s, 7, NULL, false, &err), 0);
	assert_int_equal(session_put_applied(&lab.s, NULL, &err), 0);
	lab.s.roots[1].base = 0;
	assert_int_equal(session_base(&lab.s, true, &err), 7);
	assert_true(lab.s.roots[0].late);
	assert_int_equal(lab.s.roots[1].base, 8);
	assert_true(lab.s.roots[1].late);
	lab.s.times = 2;
	assert_int_equal(session_base(&lab.s, true, &err), 0);
	assert_int_equal(lab.s.roots[0].base, 0);
	assert_false(lab.s.roots[0].late);
	assert_int_equal(lab.s.roots[1].base, 0);
	assert_false(lab.s.roots[1].late);
	lab_close(&lab);
}

static void test_base_that_failed(void **state)
{
	struct session s = SESSION_NONE;
	struct lab lab;
	struct err err;

	(void)state;
	lab_open(&lab, "p");
	assert_int_equal(
		session_write_base(&lab.s, 0, "disk full", false, &err), 0);
	assert_int_equal(session_base(&lab.s, true, &err), -ENODATA);
	assert_non_null(strstr(err.text, "disk full"));
	/* The session itself can still be opened. */
	assert_int_equal(session_open(lab.runs_fd, lab.s.id, false, &s, &err),
			 0);
	assert_int_equal(s.roots[0].base, 0);
	session_free(&s);
	lab_close(&lab);
}

static void test_trash(void **state)
{
	struct session s = SESSION_NONE;
	struct dirlist list = {0};
	struct lab lab;
	struct err err;

	(void)state;
	lab_open(&lab, "p");
	assert_int_equal(session_open(lab.runs_fd, lab.s.id, false, &s, &err),
			 0);
	assert_int_equal(
		session_trash(&s, lab.runs_fd, lab.trash_fd, "discard", &err),
		-EBUSY);
	session_free(&s);
	assert_int_equal(session_trash(&lab.s, lab.runs_fd, lab.trash_fd,
				       "dis/card", &err),
			 -EINVAL);
	assert_int_equal(session_trash(&lab.s, lab.runs_fd, lab.trash_fd,
				       "discard", &err),
			 0);
	assert_int_equal(session_open(lab.runs_fd, lab.s.id, false, &s, &err),
			 -ENOENT);
	/* Foreign, without a time, or not yet expired: they stay. */
	(void)close(lab_mkdir(lab.trash_fd, "1500000000"));
	(void)close(lab_mkdir(lab.trash_fd, "1500000000-"));
	(void)close(lab_mkdir(lab.trash_fd, "1500000000-Discard"));
	(void)close(lab_mkdir(lab.trash_fd, "1500000000-x y"));
	(void)close(lab_mkdir(lab.trash_fd, "99999999999-future-aaa"));
	(void)close(lab_mkdir(lab.trash_fd, "1500000000-discard-3lf-aa"));
	(void)close(lab_mkdir(lab.trash_fd, "1500000000-discard"));
	assert_int_equal(session_empty_trash(lab.trash_fd, 3600, &err), 0);
	assert_int_equal(dirlist_read(lab.trash_fd, &list, &err), 0);
	assert_int_equal(list.count, 6);
	assert_null(dirlist_find(&list, "1500000000-discard-3lf-aa"));
	assert_null(dirlist_find(&list, "1500000000-discard"));
	dirlist_free(&list);
	/* Another process may still work on this one. */
	(void)close(lab_mkdir(lab.trash_fd, ".removing-1-0-0"));
	assert_int_equal(session_empty_trash(lab.trash_fd, 3600, &err), 0);
	assert_int_equal(faccessat(lab.trash_fd, ".removing-1-0-0", F_OK, 0),
			 0);
	assert_int_equal(session_empty_trash(lab.trash_fd, -1, &err), 0);
	assert_int_equal(dirlist_read(lab.trash_fd, &list, &err), 0);
	assert_int_equal(list.count, 5);
	dirlist_free(&list);
	lab_close(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_create_and_open),
		cmocka_unit_test(test_unknown_keys_are_kept),
		cmocka_unit_test(
			test_a_run_that_goes_on_never_loses_its_record),
		cmocka_unit_test(
			test_a_second_folder_makes_a_record_that_older_guards_refuse),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(
			test_the_lock_is_released_for_inherited_descriptors),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_going_on),
		cmocka_unit_test(test_beginnings),
		cmocka_unit_test(test_list),
		cmocka_unit_test(
			test_a_closed_run_lies_apart_and_comes_back_when_reopened),
		cmocka_unit_test(test_a_pending_run_goes_before_closed_ones),
		cmocka_unit_test(
			test_a_list_moves_a_closed_run_that_nobody_uses),
		cmocka_unit_test(
			test_the_list_of_pending_runs_opens_no_closed_run),
		cmocka_unit_test(
			test_a_list_for_a_directory_opens_its_runs_alone),
		cmocka_unit_test(
			test_the_index_waits_for_a_run_that_is_being_made),
		cmocka_unit_test(test_base_is_waited_for),
		cmocka_unit_test(test_late_base_holds_for_one_start),
		cmocka_unit_test(test_base_that_failed),
		cmocka_unit_test(test_trash),
	};

	return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
