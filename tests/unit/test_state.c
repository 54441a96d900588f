/* guard/state/state.c: where the state lies, and what may be a project. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/dirtree.h"
#include "guard/state/state.h"

struct place {
	char root[64]; /* holds home/ and away/ */
	char *home, *away;
	struct state state;
};

static void make(const char *dir, const char *name)
{
	auto_free char *path = path_join(dir, name);

	assert_int_equal(mkdir(path, 0700), 0);
}

static int set_up(void **given)
{
	struct place *p = mem_zalloc(sizeof(*p));
	auto_free char *own = NULL;
	struct err err;

	(void)snprintf(p->root, sizeof(p->root), "/var/tmp/guard-state-XXXXXX");
	assert_non_null(mkdtemp(p->root));
	p->home = path_join(p->root, "home");
	p->away = path_join(p->root, "away");
	make(p->root, "home");
	make(p->root, "away");
	own = path_join(p->home, ".local/share/guard");
	assert_int_equal(setenv("HOME", p->home, 1), 0);
	assert_int_equal(unsetenv("XDG_DATA_HOME"), 0);
	assert_int_equal(unsetenv("GUARD_RUN"), 0);
	assert_int_equal(setenv("GUARD_HOME", own, 1), 0);
	assert_int_equal(state_open(&p->state, &err), 0);
	*given = p;
	return 0;
}

static int tear_down(void **given)
{
	struct place *p = *given;
	struct err err;
	int dir = open("/var/tmp", O_RDONLY | O_DIRECTORY);

	state_close(&p->state);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(dirtree_remove(dir, path_name(p->root), &err), 0);
	(void)close(dir);
	free(p->home);
	free(p->away);
	free(p);
	return 0;
}

static void state_is_private_and_whole(void **given)
{
	struct place *p = *given;
	struct stat st;

	assert_int_equal(fstat(p->state.fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(faccessat(p->state.fd, "runs", F_OK, 0), 0);
	assert_int_equal(faccessat(p->state.fd, "workspaces", F_OK, 0), 0);
	assert_int_equal(faccessat(p->state.fd, "trash", F_OK, 0), 0);
}

static void state_that_others_may_enter_is_refused(void **given)
{
	struct place *p = *given;
	struct state second;
	struct err err;

	assert_int_equal(chmod(p->state.path, 0750), 0);
	assert_int_equal(state_open(&second, &err), -EPERM);
	assert_non_null(strstr(err.text, "chmod 700"));
	assert_int_equal(chmod(p->state.path, 0700), 0);
}

static void relative_guard_home_is_refused(void **given)
{
	struct place *p = *given;
	struct state second;
	struct err err;

	assert_int_equal(setenv("GUARD_HOME", "some/where", 1), 0);
	assert_int_equal(state_open(&second, &err), -EINVAL);
	assert_int_equal(setenv("GUARD_HOME", p->state.path, 1), 0);
}

static void a_variable_makes_no_run(void **given)
{
	struct place *p = *given;
	struct state second;
	struct err err;

	assert_int_equal(setenv("GUARD_RUN", "abc", 1), 0);
	assert_int_equal(setenv("GUARD_HOME", "/proc/nowhere", 1), 0);
	assert_true(state_open(&second, &err) < 0);
	assert_null(strstr(err.text, "inside"));
	assert_int_equal(unsetenv("GUARD_RUN"), 0);
	assert_int_equal(setenv("GUARD_HOME", p->state.path, 1), 0);
}

static void project_is_the_work_tree_around_a_folder(void **given)
{
	struct place *p = *given;
	auto_free char *sub = path_join(p->away, "sub");
	auto_free char *found = NULL;
	auto_free char *again = NULL;
	struct err err;

	make(p->away, "sub");
	found = state_project(&p->state, sub, PROJECT_RUN, &err);
	assert_string_equal(found, sub);
	make(p->away, ".git");
	again = state_project(&p->state, sub, PROJECT_RUN, &err);
	assert_string_equal(again, p->away);
}

static void home_in_git_does_not_swallow_its_projects(void **given)
{
	struct place *p = *given;
	auto_free char *work = path_join(p->home, "work");
	auto_free char *found = NULL;
	struct err err;

	make(p->home, ".git");
	make(p->home, "work");
	found = state_project(&p->state, work, PROJECT_RUN, &err);
	assert_string_equal(found, work);
}

static void refuses(struct place *p, const char *dir, const char *why)
{
	struct err err;

	assert_null(state_project(&p->state, dir, PROJECT_RUN, &err));
	assert_int_equal(err.num, EPERM);
	assert_non_null(strstr(err.text, why));
}

static void forbidden_projects_are_refused_with_the_way_out(void **given)
{
	struct place *p = *given;

	refuses(p, "/", "-C");
	refuses(p, p->home, "home directory");
	refuses(p, p->root, "contains your home");
	refuses(p, p->state.path, "guard's own state");
}

static void state_inside_the_project_is_refused(void **given)
{
	struct place *p = *given;
	auto_free char *inner = path_join(p->away, "state");
	struct state second;
	struct err err;

	assert_int_equal(setenv("GUARD_HOME", inner, 1), 0);
	assert_int_equal(state_open(&second, &err), 0);
	assert_null(state_project(&second, p->away, PROJECT_RUN, &err));
	assert_non_null(strstr(err.text, "GUARD_HOME"));
	state_close(&second);
	assert_int_equal(setenv("GUARD_HOME", p->state.path, 1), 0);
}

static void missing_folder_is_named(void **given)
{
	struct place *p = *given;
	struct err err;

	assert_null(
		state_project(&p->state, "/no/such/folder", PROJECT_RUN, &err));
	assert_int_equal(err.num, ENOENT);
	assert_non_null(strstr(err.text, "'/no/such/folder'"));
}

static void actions_are_lines_of_json(void **given)
{
	struct place *p = *given;
	char text[512];
	ssize_t len;
	auto_close int fd = -1;

	state_log(&p->state, "run", "command", "printf '\n\x1b[31m\xff'", NULL);
	state_log(&p->state, "end", "status", "3", NULL);
	fd = openat(p->state.fd, "oplog", O_RDONLY);
	len = read(fd, text, sizeof(text) - 1);
	assert_true(len > 0);
	text[len] = '\0';
	assert_non_null(strstr(text, "\"action\":\"run\""));
	assert_non_null(strstr(text, "\"status\":\"3\""));
	assert_null(strchr(text, '\x1b'));
	assert_ptr_equal(strchr(strchr(text, '\n') + 1, '\n'), text + len - 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(state_is_private_and_whole),
		CASE(state_that_others_may_enter_is_refused),
		CASE(relative_guard_home_is_refused),
		CASE(a_variable_makes_no_run),
		CASE(project_is_the_work_tree_around_a_folder),
		CASE(home_in_git_does_not_swallow_its_projects),
		CASE(forbidden_projects_are_refused_with_the_way_out),
		CASE(state_inside_the_project_is_refused),
		CASE(missing_folder_is_named),
		CASE(actions_are_lines_of_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
