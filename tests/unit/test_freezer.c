/* guard/sandbox/freezer.c: suspension of a run from outside. */
#include "guard/sandbox/freezer.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka has a fail() too. */
#undef fail
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/skip.h"

/* The activity of the run's processes, visible to the test. */
struct shared {
	atomic_ulong beats; /* sum over all processes */
	atomic_ulong forks;
	atomic_int stopped; /* pid of a process that stopped itself */
	atomic_int over;
};

struct run {
	struct shared *shared;
	pid_t init;
	uint64_t start;
};

/* The directory of the run. */
static char run_dir[] = "/tmp/run.XXXXXX";
static int run_fd;

/* The control group that make_group() makes. */
static char groups[] = "/tmp/groups.XXXXXX";
static char group[sizeof(groups) + 64], inner[sizeof(group) + 8];

static void *beat(void *arg)
{
	struct shared *s = arg;

	while (!atomic_load(&s->over))
		atomic_fetch_add(&s->beats, 1);
	return NULL;
}

/* Creates processes whose orphans pid 1 adopts. */
static void storm(struct shared *s)
{
	while (!atomic_load(&s->over)) {
		pid_t pid = fork();

		if (pid == 0) {
			if (fork() == 0) {
				atomic_fetch_add(&s->beats, 1);
				atomic_fetch_add(&s->forks, 1);
			}
			_exit(0);
		}
		if (pid > 0)
			(void)waitpid(pid, NULL, 0);
	}
}

static void __attribute__((noreturn)) be_init(struct shared *s)
{
	pthread_t thread;
	pid_t pid;

	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		storm(s);
		_exit(0);
	}
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)pthread_create(&thread, NULL, beat, s);
		(void)beat(s);
		_exit(0);
	}
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		atomic_store(&s->stopped, getpid());
		(void)raise(SIGSTOP);
		atomic_store(&s->stopped, 0);
		_exit(0);
	}
	while (!atomic_load(&s->over))
		(void)waitpid(-1, NULL, WNOHANG);
	/* No other process may use the memory after the test. */
	(void)kill(pid, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
	_exit(0);
}

static bool is_stopped(pid_t pid)
{
	char path[64], text[512] = "";
	FILE *file;
	char *at;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (!fgets(text, sizeof(text), file))
		*text = '\0';
	(void)fclose(file);
	at = strrchr(text, ')');
	return at && at[2] == 'T';
}

static int set_up(void **state)
{
	static struct run r;

	r.shared = mmap(NULL, sizeof(*r.shared), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(r.shared, MAP_FAILED);
	r.init = fork();
	if (r.init == 0)
		be_init(r.shared);
	r.start = freezer_start_time(r.init);
	while (!atomic_load(&r.shared->forks) ||
	       !atomic_load(&r.shared->stopped) ||
	       !is_stopped(atomic_load(&r.shared->stopped)))
		(void)sched_yield();
	*state = &r;
	return 0;
}

static int tear_down(void **state)
{
	struct run *r = *state;

	atomic_store(&r->shared->over, 1);
	(void)waitpid(r->init, NULL, 0);
	(void)munmap(r->shared, sizeof(*r->shared));
	return 0;
}

static void expect_still(const struct run *r)
{
	unsigned long was = atomic_load(&r->shared->beats);
	int i;

	/* Many times the longest wait of any process. */
	for (i = 0; i < 20; i++) {
		(void)poll(NULL, 0, 5);
		assert_int_equal(atomic_load(&r->shared->beats), was);
	}
}

static void expect_going(const struct run *r)
{
	unsigned long was = atomic_load(&r->shared->beats);
	unsigned long forks = atomic_load(&r->shared->forks);

	while (atomic_load(&r->shared->beats) < was + 1000 ||
	       atomic_load(&r->shared->forks) < forks + 3)
		(void)sched_yield();
}

static volatile sig_atomic_t stops;

static void count_stop(int sig)
{
	(void)sig;
	stops++;
}

static void ctrl_z_waits_for_the_end(void **state)
{
	struct run *r = *state;
	struct freezer *f = NULL;
	struct err err;

	stops = 0;
	(void)signal(SIGTSTP, count_stop);
	assert_int_equal(freezer_begin(run_fd, r->init, r->start, &f, &err), 0);
	assert_int_equal(raise(SIGTSTP), 0);
	assert_int_equal(stops, 0);
	freezer_end(&f);
	assert_int_equal(stops, 1);
	(void)signal(SIGTSTP, SIG_DFL);
	expect_going(r);
}

static void nothing_moves_until_the_end(void **state)
{
	struct run *r = *state;
	struct freezer *f = NULL;
	struct err err;
	int i;

	for (i = 0; i < 3; i++) {
		expect_going(r);
		assert_int_equal(
			freezer_begin(run_fd, r->init, r->start, &f, &err), 0);
		expect_still(r);
		freezer_end(&f);
		assert_null(f);
	}
	expect_going(r);
}

static void what_was_stopped_before_stays_stopped(void **state)
{
	struct run *r = *state;
	struct freezer *f = NULL;
	struct err err;

	assert_int_equal(freezer_begin(run_fd, r->init, r->start, &f, &err), 0);
	freezer_end(&f);
	expect_going(r);
	assert_int_not_equal(atomic_load(&r->shared->stopped), 0);
	assert_true(is_stopped(atomic_load(&r->shared->stopped)));
}

/* Suspends the run in a process that is then killed. */
static void suspend_and_die(const struct run *r)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct freezer *f = NULL;
		struct err err;

		if (freezer_begin_in(*group ? groups : "/sys/fs/cgroup", run_fd,
				     r->init, r->start, &f, &err) < 0)
			_exit(1);
		(void)raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	expect_still(r);
}

static void all_go_on_when_who_froze_them_is_killed(void **state)
{
	struct run *r = *state;

	suspend_and_die(r);
	freezer_resume_abandoned(run_fd);
	expect_going(r);
	assert_true(is_stopped(atomic_load(&r->shared->stopped)));
}

static void the_next_freezer_resumes_what_a_killed_one_left(void **state)
{
	struct run *r = *state;
	struct freezer *f = NULL;
	struct err err;

	suspend_and_die(r);
	assert_int_equal(freezer_begin(run_fd, r->init, r->start, &f, &err), 0);
	expect_still(r);
	freezer_end(&f);
	expect_going(r);
}

static void a_freezer_that_is_at_work_is_not_abandoned(void **state)
{
	struct run *r = *state;
	struct freezer *f = NULL, *second = NULL;
	struct err err;

	assert_int_equal(freezer_begin(run_fd, r->init, r->start, &f, &err), 0);
	freezer_resume_abandoned(run_fd);
	expect_still(r);
	assert_int_equal(
		freezer_begin(run_fd, r->init, r->start, &second, &err),
		-EBUSY);
	assert_null(second);
	expect_still(r);
	freezer_end(&f);
	expect_going(r);
}

static void another_process_of_that_number_is_left_alone(void **state)
{
	struct run *r = *state;
	struct freezer *f = NULL;
	struct err err;

	assert_int_equal(freezer_begin(run_fd, r->init, r->start + 1, &f, &err),
			 -ESRCH);
	assert_null(f);
	expect_going(r);
}

/* ---- with a control group of its own ---- */

static bool move_to(const char *dir)
{
	char path[sizeof(inner) + 16];
	int fd, got;

	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : (int)write(fd, "0", 1);
	if (fd >= 0)
		(void)close(fd);
	return got == 1;
}

/* Makes the group as guard does; false if this machine or user cannot. */
static bool make_group(void)
{
	if (!mkdtemp(groups))
		return false;
	(void)snprintf(group, sizeof(group), "%s/guard-test-%d", groups,
		       (int)getpid());
	(void)snprintf(inner, sizeof(inner), "%s/run", group);
	return unshare(CLONE_NEWCGROUP) == 0 &&
	       mount("none", groups, "cgroup2", 0, NULL) == 0 &&
	       mkdir(group, 0755) == 0 && mkdir(inner, 0755) == 0 &&
	       move_to(inner);
}

static void remove_groups(void)
{
	(void)move_to(groups);
	(void)rmdir(inner);
	(void)rmdir(group);
	(void)umount(groups);
	(void)rmdir(groups);
}

static bool is_frozen(void)
{
	char path[sizeof(inner) + 16], text[256] = "";
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/cgroup.events", inner);
	file = fopen(path, "re");
	if (!file)
		return false;
	(void)!fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	return strstr(text, "frozen 1");
}

/* Accepts the freeze and never reports the group as frozen. */
static void stop_beside_a_group(struct run *r)
{
	static const char *const parts[] = {"", "/run", "/run/cgroup.freeze"};
	char deaf[] = "/tmp/deaf.XXXXXX";
	char paths[3][sizeof(deaf) + 96];
	struct freezer *f = NULL;
	struct err err;
	size_t i;
	int fd;

	assert_non_null(mkdtemp(deaf));
	for (i = 0; i < 3; i++)
		(void)snprintf(paths[i], sizeof(paths[i]), "%s%s%s", deaf,
			       strrchr(group, '/'), parts[i]);
	assert_int_equal(mkdir(paths[0], 0755), 0);
	assert_int_equal(mkdir(paths[1], 0755), 0);
	fd = open(paths[2], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(
		freezer_begin_in(deaf, run_fd, r->init, r->start, &f, &err), 0);
	assert_true(is_stopped(r->init));
	expect_still(r);
	freezer_end(&f);
	expect_going(r);
	(void)close(fd);
	assert_int_equal(unlink(paths[2]), 0);
	assert_int_equal(rmdir(paths[1]), 0);
	assert_int_equal(rmdir(paths[0]), 0);
	assert_int_equal(rmdir(deaf), 0);
}

static void a_run_with_a_group_is_frozen_by_that(void **state)
{
	struct run *r = NULL;
	struct freezer *f = NULL;
	struct err err;

	(void)state;
	if (!make_group()) {
		remove_groups();
		skip_because("no control group can be created");
	}
	assert_int_equal(set_up((void **)&r), 0);
	assert_true(move_to(groups));
	assert_int_equal(
		freezer_begin_in(groups, run_fd, r->init, r->start, &f, &err),
		0);
	assert_true(is_frozen());
	assert_false(is_stopped(r->init));
	expect_still(r);
	freezer_end(&f);
	expect_going(r);
	suspend_and_die(r);
	assert_true(is_frozen());
	freezer_resume_abandoned(run_fd);
	expect_going(r);
	stop_beside_a_group(r);
	assert_int_equal(tear_down((void **)&r), 0);
	remove_groups();
}

static int make_run_dir(void **state)
{
	(void)state;
	run_fd = mkdtemp(run_dir) ? open(run_dir, O_RDONLY | O_CLOEXEC) : -1;
	return run_fd < 0 ? -1 : 0;
}

static int remove_run_dir(void **state)
{
	(void)state;
	(void)unlinkat(run_fd, "suspended", 0);
	(void)close(run_fd);
	return rmdir(run_dir);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_moves_until_the_end),
		TEST(ctrl_z_waits_for_the_end),
		TEST(what_was_stopped_before_stays_stopped),
		TEST(all_go_on_when_who_froze_them_is_killed),
		TEST(the_next_freezer_resumes_what_a_killed_one_left),
		TEST(a_freezer_that_is_at_work_is_not_abandoned),
		TEST(another_process_of_that_number_is_left_alone),
		cmocka_unit_test(a_run_with_a_group_is_frozen_by_that),
	};

	return cmocka_run_group_tests(tests, make_run_dir, remove_run_dir);
}
