/* The environment of a run. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard/sandbox/sandbox.h"

#undef fail
#include <cmocka.h>

static const char *value_of(char **envp, const char *name)
{
	size_t len = strlen(name);

	for (; *envp; envp++)
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
			return *envp + len + 1;
	return NULL;
}

static size_t count_of(char **envp, const char *name)
{
	size_t len = strlen(name), count = 0;

	for (; *envp; envp++)
		count += strncmp(*envp, name, len) == 0 && (*envp)[len] == '=';
	return count;
}

static int start_clean(void **state)
{
	const char *output = getenv("CMOCKA_MESSAGE_OUTPUT");
	char *kept = mem_strdup(output ? output : "STDOUT");

	(void)state;
	(void)clearenv();
	/* cmocka reads the variable again after each test. */
	(void)setenv("CMOCKA_MESSAGE_OUTPUT", kept, 1);
	free(kept);
	(void)setenv("PATH", "/bin:/x", 1);
	(void)setenv("TERM", "xterm", 1);
	(void)setenv("LC_ALL", "C.UTF-8", 1);
	(void)setenv("TMPDIR", "/somewhere", 1);
	(void)setenv("LD_PRELOAD", "/x.so", 1);
	(void)setenv("BASH_ENV", "/x.sh", 1);
	(void)setenv("MY_API_KEY", "k", 1);
	(void)setenv("GITHUB_TOKEN", "t", 1);
	(void)setenv("SSH_AUTH_SOCK", "/run/agent", 1);
	(void)setenv("HARMLESS", "h", 1);
	return 0;
}

static void only_what_is_on_the_list_comes_along(void **state)
{
	char **e = sandbox_environ(NULL, "/home/u", "r1", NULL);

	(void)state;
	assert_string_equal(value_of(e, "PATH"), "/bin:/x");
	assert_string_equal(value_of(e, "TERM"), "xterm");
	assert_string_equal(value_of(e, "LC_ALL"), "C.UTF-8");
	assert_null(value_of(e, "TMPDIR"));
	assert_null(value_of(e, "LD_PRELOAD"));
	assert_null(value_of(e, "BASH_ENV"));
	assert_null(value_of(e, "MY_API_KEY"));
	assert_null(value_of(e, "SSH_AUTH_SOCK"));
	assert_null(value_of(e, "HARMLESS"));
	sandbox_environ_free(e);
}

static void the_run_is_told_where_it_is(void **state)
{
	char **e = sandbox_environ(NULL, "/home/u", "r1", NULL);

	(void)state;
	assert_string_equal(value_of(e, "GUARD"), "1");
	assert_string_equal(value_of(e, "GUARD_RUN"), "r1");
	assert_string_equal(value_of(e, "HOME"), "/home/u");
	assert_memory_equal(value_of(e, "XDG_RUNTIME_DIR"), "/run/user/", 10);
	assert_string_equal(value_of(e, "GIT_CONFIG_KEY_0"), "commit.gpgsign");
	assert_string_equal(value_of(e, "GIT_CONFIG_VALUE_0"), "false");
	sandbox_environ_free(e);
	e = sandbox_environ(NULL, NULL, NULL, NULL);
	assert_string_equal(value_of(e, "HOME"), "/tmp/home");
	assert_null(value_of(e, "GUARD_RUN"));
	sandbox_environ_free(e);
}

static void what_is_asked_for_comes_along_once(void **state)
{
	static const char *const extra[] = {"MY_API_KEY", "TERM=dumb", "NEW=1",
					    "ABSENT", NULL};
	struct buf dropped = {0};
	char **e = sandbox_environ(extra, "/h", "r", &dropped);

	(void)state;
	assert_string_equal(value_of(e, "MY_API_KEY"), "k");
	assert_string_equal(value_of(e, "TERM"), "dumb");
	assert_int_equal(count_of(e, "TERM"), 1);
	assert_string_equal(value_of(e, "NEW"), "1");
	assert_null(value_of(e, "ABSENT"));
	assert_null(strstr(buf_text(&dropped), "MY_API_KEY"));
	buf_free(&dropped);
	sandbox_environ_free(e);
}

static void what_will_be_missed_is_named_without_values(void **state)
{
	struct buf dropped = {0};
	char **e;

	(void)state;
	(void)setenv("EVIL\x1b_TOKEN", "x", 1);
	e = sandbox_environ(NULL, "/h", "r", &dropped);
	assert_non_null(strstr(buf_text(&dropped), "GITHUB_TOKEN"));
	assert_non_null(strstr(buf_text(&dropped), "SSH_AUTH_SOCK"));
	assert_non_null(strstr(buf_text(&dropped), "MY_API_KEY, "));
	assert_null(strstr(buf_text(&dropped), "HARMLESS"));
	assert_null(strstr(buf_text(&dropped), "/run/agent"));
	assert_null(strchr(buf_text(&dropped), 0x1b));
	buf_free(&dropped);
	sandbox_environ_free(e);
}

static void proxies_come_along_without_passwords_only(void **state)
{
	char **e;

	(void)state;
	(void)setenv("https_proxy", "http://proxy:3128", 1);
	(void)setenv("HTTP_PROXY", "http://me:secret@proxy:3128", 1);
	e = sandbox_environ(NULL, "/h", "r", NULL);
	assert_string_equal(value_of(e, "https_proxy"), "http://proxy:3128");
	assert_null(value_of(e, "HTTP_PROXY"));
	sandbox_environ_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(only_what_is_on_the_list_comes_along,
				       start_clean),
		cmocka_unit_test_setup(the_run_is_told_where_it_is,
				       start_clean),
		cmocka_unit_test_setup(what_is_asked_for_comes_along_once,
				       start_clean),
		cmocka_unit_test_setup(
			what_will_be_missed_is_named_without_values,
			start_clean),
		cmocka_unit_test_setup(
			proxies_come_along_without_passwords_only, start_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
