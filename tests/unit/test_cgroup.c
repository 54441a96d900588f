/* Cgroups on ordinary directories with the same names: the written values.
 * tests/integration/limits.t uses the cgroups of the machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "guard/sandbox/cgroup.h"
#include "guard/sandbox/sandbox.h"

/* A write replaces only the beginning of the file. */
#define SWITCHED_ON "......... cpu memory pids\n"

static char top[] = "/tmp/cgroup.XXXXXX";

static void put(const char *name, const char *text)
{
	char path[256];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", top, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(fd_write(fd, text, strlen(text)), 0);
	(void)close(fd);
}

static void make(const char *name)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", top, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

static char *get(const char *name)
{
	static char text[256];
	char path[256];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", top, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	(void)close(fd);
	return text;
}

/* The group's directory exists with its files; in a real cgroup the kernel
 * creates them. */
static char *group(const char *above, const char *file)
{
	static char name[128];

	(void)snprintf(name, sizeof(name), "%s%sguard-%d/%s", above,
		       *above ? "/" : "", (int)getpid(), file);
	return name;
}

static int begin(void **state)
{
	(void)state;
	strcpy(top, "/tmp/cgroup.XXXXXX");
	return mkdtemp(top) ? 0 : -1;
}

static int end(void **state)
{
	char command[64];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -r %s", top);
	return system(command);
}

static const struct sandbox_policy all = {
	.memory = 512 << 20,
	.cpus_milli = 1500,
	.pids_limit = 77,
};

static void close_all(struct cgroup *c)
{
	int i;

	for (i = 0; i < CGROUP_KINDS; i++) {
		if (c->fd[i] >= 0)
			(void)close(c->fd[i]);
		if (c->parent[i] >= 0)
			(void)close(c->parent[i]);
		if (c->inner[i] >= 0)
			(void)close(c->inner[i]);
	}
}

static void one_group_of_version_2_has_all_limits(void **state)
{
	struct cgroup c;

	(void)state;
	put("cgroup.subtree_control", SWITCHED_ON);
	put("cgroup.procs", "");
	make(group("", ""));
	put(group("", "memory.max"), "");
	put(group("", "memory.swap.max"), "");
	put(group("", "cpu.max"), "");
	put(group("", "pids.max"), "");
	cgroup_make(&c, top, &all);
	assert_int_equal(c.version, 2);
	assert_true(c.holds[CGROUP_MEMORY] && c.holds[CGROUP_CPU] &&
		    c.holds[CGROUP_PIDS]);
	assert_string_equal(get(group("", "memory.max")), "536870912");
	assert_string_equal(get(group("", "cpu.max")), "150000 100000");
	assert_string_equal(get(group("", "pids.max")), "77");
	close_all(&c);
}

/* A nested sandbox can mount its own group. */
static void the_run_is_in_a_group_below_the_limits(void **state)
{
	struct err err;
	struct cgroup c;

	(void)state;
	put("cgroup.subtree_control", SWITCHED_ON);
	put("cgroup.procs", "");
	make(group("", ""));
	put(group("", "cgroup.procs"), "");
	put(group("", "pids.max"), "");
	make(group("", "run"));
	put(group("", "run/cgroup.procs"), "");
	cgroup_make(&c, top, &(struct sandbox_policy){.pids_limit = 5});
	assert_int_equal(cgroup_enter(&c, 4711, &err), 0);
	assert_string_equal(get(group("", "run/cgroup.procs")), "4711");
	assert_string_equal(get(group("", "cgroup.procs")), "");
	close_all(&c);
}

static void a_group_with_processes_of_its_own_is_passed_by(void **state)
{
	struct cgroup c;

	(void)state;
	put("cgroup.subtree_control", SWITCHED_ON);
	put("cgroup.type", "domain\n");
	put("cgroup.procs", "1\n");
	make(group("", ""));
	make(group("", "run"));
	put(group("", "pids.max"), "");
	cgroup_make(&c, top, &(struct sandbox_policy){.pids_limit = 77});
	assert_false(c.holds[CGROUP_PIDS]);
	assert_string_equal(get(group("", "pids.max")), "");
	put("cgroup.procs", "");
	cgroup_make(&c, top, &(struct sandbox_policy){.pids_limit = 77});
	assert_true(c.holds[CGROUP_PIDS]);
	assert_string_equal(get(group("", "pids.max")), "77");
	close_all(&c);
}

static void where_a_controller_is_missing_version_1_is_asked(void **state)
{
	struct cgroup c;

	(void)state;
	make("cgroup.subtree_control");
	make("pids");
	make(group("pids", ""));
	put(group("pids", "pids.max"), "");
	cgroup_make(&c, top, &all);
	assert_false(c.holds[CGROUP_MEMORY]);
	assert_false(c.holds[CGROUP_CPU]);
	assert_true(c.holds[CGROUP_PIDS]);
	assert_int_equal(c.version, 1);
	assert_string_equal(get(group("pids", "pids.max")), "77");
	close_all(&c);
}

static void without_any_nothing_holds(void **state)
{
	struct cgroup c;

	(void)state;
	cgroup_make(&c, top, &all);
	assert_int_equal(c.version, 0);
	assert_false(c.holds[CGROUP_MEMORY] || c.holds[CGROUP_CPU] ||
		     c.holds[CGROUP_PIDS]);
}

static void without_a_limit_nothing_is_made(void **state)
{
	struct cgroup c;

	(void)state;
	put("cgroup.subtree_control", SWITCHED_ON);
	cgroup_make(&c, top, &(struct sandbox_policy){0});
	assert_int_equal(c.version, 0);
	assert_null(get(group("", "pids.max")));
}

static void what_a_killed_guard_left_is_removed(void **state)
{
	struct cgroup c;

	(void)state;
	put("cgroup.subtree_control", SWITCHED_ON);
	put("cgroup.procs", "");
	/* above the kernel's largest pid */
	make("guard-4194399");
	make("guard-4194399/run");
	make("guard-1");
	make(group("", ""));
	put(group("", "pids.max"), "");
	cgroup_make(&c, top, &(struct sandbox_policy){.pids_limit = 5});
	assert_null(get("guard-4194399"));
	assert_non_null(get("guard-1"));
	close_all(&c);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(one_group_of_version_2_has_all_limits),
		TEST(the_run_is_in_a_group_below_the_limits),
		TEST(a_group_with_processes_of_its_own_is_passed_by),
		TEST(where_a_controller_is_missing_version_1_is_asked),
		TEST(without_any_nothing_holds),
		TEST(without_a_limit_nothing_is_made),
		TEST(what_a_killed_guard_left_is_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
