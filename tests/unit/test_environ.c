/* The environment of a run. */
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

#include "base/auto.h"
#include "base/mem.h"
#include "guard/agent/redact.h"
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

/* A variable of a program is passed on with its value. */
static const char *const ordinary[] = {
	"CC=clang",
	"CXX=clang++ -stdc++",
	"CFLAGS=-O3 -DKEY_MAX=8 -DPASSWORD_LEN=32",
	"CPPFLAGS=-I/opt/include",
	"LDFLAGS=-Wl,-rpath,/opt/lib",
	"LD=ld.gold",
	"MAKEFLAGS= -j8 --jobserver-auth=3,4",
	"NODE_ENV=production",
	"PORT=3000",
	"HOST=localhost",
	"DEBUG=*",
	"RUST_LOG=debug,hyper=info",
	"RUST_BACKTRACE=1",
	"RUSTFLAGS=-C target-cpu=native",
	"GOFLAGS=-mod=vendor",
	"GOOS=linux",
	"GOPROXY=https://proxy.golang.org,direct",
	"PKG_CONFIG_PATH=/opt/lib/pkgconfig",
	"CMAKE_GENERATOR=Ninja",
	"ENV=production",
	"PYTHONUNBUFFERED=1",
	"PYTHONHASHSEED=0",
	"DJANGO_SETTINGS_MODULE=site.settings",
	"FLASK_APP=app:create",
	"RAILS_ENV=test",
	"LOG_LEVEL=info",
	"JAVA_OPTS=-Xmx2g -Dfile.encoding=UTF-8",
	"MAVEN_OPTS=-Xmx1g",
	"npm_config_registry=https://registry.npmjs.org/",
	"PUPPETEER_EXECUTABLE_PATH=/usr/bin/chromium",
	"AWS_REGION=eu-west-1",
	"AWS_PROFILE=dev",
	"AZURE_TENANT_ID=8d1f6a4e-6c0b-4a55-9c5e-0b0d5f6f2a11",
	"GOOGLE_CLOUD_PROJECT=demo-1",
	"OPENAI_BASE_URL=http://localhost:8080/v1",
	"MAX_TOKENS=4096",
	"TOKEN_LIMIT=3",
	"AUTH_PROVIDER=ldap",
	"PUBLIC_KEY=ssh-ed25519 AAAA me",
	"LD_FLAGS=-lm",
	"PRIMARY_KEY=id",
	"CACHE_KEY=v1",
	"KEY_COUNT=5",
	"SECRETARY=bob",
	"RANDOM_SEED=42",
	"GIT_AUTHOR_NAME=Jane Doe",
	"GIT_AUTHOR_EMAIL=jane.doe.1985@example.org",
	"GIT_AUTHOR_DATE=2026-11-28T10:00:00Z",
	"GIT_EDITOR=true",
	"GIT_REMOTE=ssh://git@git.example/x.git",
	"AUTHOR=jane",
	"KEYBOARD_LAYOUT=us",
	"MONKEY=1",
	"TOKENIZERS_PARALLELISM=false",
	"TOKENIZERS_CACHE=/opt/cache/tokenizers-2",
	"PASSENGER_APP_ENV=production",
	"COMPASS=config",
	"BYPASS=yes",
	"SSH_TTY=/dev/pts/3",
	"NEXTAUTH_URL=http://localhost:3000",
	"PASSWORD_MIN_LENGTH=8",
	"MONGODB_URI=mongodb://localhost/x",
	"SOCKET_TIMEOUT=30",
	"DOCKER_BUILDKIT=1",
	"BUNDLE_BUILD__NOKOGIRI=--use-system-libraries",
	"GIT_ASKPASS=",
	"EMPTY=",
	"TMPDIR=/tmp",
	"STARSHIP_SESSION_KEY=1234567890123456",
	"LINES_2=a\nb\n",
	"BYTES=\xff\xfe",
	"Program(x86)=c",
	"GIT_SHA=4b825dc642cb6eb9a060e54bf8d69288fbee4904",
	"https_proxy=http://proxy:3128",
	"ci_url=https://example.org/?page=1&sort=key",
};

/* Each is dropped, and named. */
static const char *const dropped_ones[] = {
	/* a secret in the name */
	"MY_API_KEY=k",
	"GITHUB_TOKEN=t",
	"GH_PAT=t",
	"DB_PASSWORD=1234",
	"PGPASSWORD=true",
	"MYSQL_PWD=x",
	"REDISCLI_AUTH=x",
	"AWS_ACCESS_KEY_ID=x",
	"AWS_SECRET_ACCESS_KEY=x",
	"AWS_SESSION_TOKEN=x",
	"GOOGLE_APPLICATION_CREDENTIALS=/home/u/k.json",
	"AZURE_STORAGE_CONNECTION_STRING=x",
	"DATABASE_URL=postgres://localhost/x",
	"SENTRY_DSN=x",
	"SLACK_WEBHOOK_URL=https://hooks.slack.example/T0/B0/x",
	"OTEL_EXPORTER_OTLP_HEADERS=x-team=k",
	"SESSION_COOKIE=x",
	"npm_config__auth=x",
	"npm_config_//registry.npmjs.org/:_authToken=x",
	"apiKey=x",
	"githubToken=x",
	"API_KEY2=x",
	"TOKEN_1=x",
	"SSH_ASKPASS=/usr/bin/ask",
	"CLIENT_SECRET=x\ny",
	"ci_secret=x",
	"EVIL\x1b_TOKEN=x",
	"STRIPEKEY=a1b2c3d4e5f6a7b8",
	"DBPASS=a1b2c3d4-e5f6a7b8",
	/* a secret in the value */
	"A=ghp_0123456789abcdefghij",
	"A=x sk-ant-api03-0123456789",
	"A=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
	"A=-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n",
	"A=redis://:pw@host:6379/0",
	"GITHUB_TOKENS=one,two",
	"PROXY_AUTHORIZATION=x",
	"A_URL=https://hooks.slack.com/services/T0/B0/x",
	"A_URL=https://blob.example/c?sv=1&sig=abc",
	"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/v2/x",
	"A_URL=postgres://u:p@h/db",
	"A=Server=h;Password=hunter2",
	"A={\"apiKey\": \"abc123def\"}",
	"JAVA_OPTS=-Djavax.net.ssl.trustStorePassword=changeit",
	"HTTP_PROXY=http://me:secret@proxy:3128",
	"all_proxy=me:secret@proxy:3128",
	/* loaders, interpreters, git */
	"LD_PRELOAD=/x.so",
	"LD_AUDIT=/x.so",
	"LD_LIBRARY_PATH=/x",
	"GLIBC_TUNABLES=x",
	"GCONV_PATH=/x",
	"BASH_ENV=/x.sh",
	"npm_config_node_options=--require=/x.js",
	"npm_config_script_shell=/x",
	"GST_PLUGIN_PATH=/x",
	"QML2_IMPORT_PATH=/x",
	"LDAP_BINDPW=x",
	"WIFI_PSK=x",
	"SEED_PHRASE=one two",
	"WALLET_SEED=one two",
	"BORG_PASSCOMMAND=cat x",
	"AT_SPI_BUS_ADDRESS=x",
	"CLAUDE_CODE_SSE_PORT=1",
	"ENV=/x.sh",
	"ENV=$HOME/.shinit",
	"BASH_FUNC_ls%%=() { id; }",
	"PROMPT_COMMAND=id",
	"PYTHONPATH=/x",
	"PYTHONSTARTUP=/x",
	"PERL5OPT=-Mx",
	"PERL5LIB=/x",
	"RUBYOPT=-rx",
	"NODE_OPTIONS=--require=/x",
	"JAVA_TOOL_OPTIONS=-javaagent:x",
	"CLASSPATH=/x",
	"MAKEFILES=/x",
	"ZDOTDIR=/x",
	"TMPDIR=/scratch/x",
	"GIT_SSH_COMMAND=ssh -i k",
	"GIT_EXTERNAL_DIFF=x",
	"GIT_CONFIG_PARAMETERS='core.pager=x'",
	"GIT_DIR=/x",
	/* sockets */
	"SSH_AUTH_SOCK=/run/agent",
	"DBUS_SESSION_BUS_ADDRESS=unix:path=/x",
	"DISPLAY=:0",
	"WAYLAND_DISPLAY=wayland-0",
	"DOCKER_HOST=tcp://h",
	"TMUX=/tmp/tmux-1000/default,1,0",
	"SWAYSOCK=/x",
	"NOTIFY_SOCKET=@x",
	"VSCODE_IPC_HOOK_CLI=/x",
	"MY_DAEMON=unix:/x/y",
	"MY_DAEMON=/x/y.sock",
	"MY_DAEMON=/run/user/1000/y",
};

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static bool has_secret(const char *value, size_t len)
{
	AUTO(buf) struct buf ignored = {0};

	return redact_has_secret(value, len) ||
	       redact_prose(value, len, &ignored);
}

static const struct environ_request plain = {
	.home = "/home/u", .run_id = "r1", .has_secret = has_secret};

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
	(void)setenv("PWD", "/somewhere", 1);
	(void)setenv("HARMLESS", "h", 1);
	return 0;
}

/* The environment of a run whose caller has this variable, too. */
static char **environ_with(const char *entry, const struct environ_request *q,
			   struct names *dropped)
{
	auto_free char *copy = mem_strdup(entry);
	auto_free char *name = mem_strndup(entry, strcspn(entry, "="));
	char **e;

	/* setenv(3) would copy it, and takes no empty name. */
	assert_int_equal(putenv(copy), 0);
	e = sandbox_environ(q, dropped);
	assert_int_equal(unsetenv(name), 0);
	return e;
}

static bool has_entry(char **envp, const char *entry)
{
	for (; *envp; envp++)
		if (strcmp(*envp, entry) == 0)
			return true;
	return false;
}

static void ordinary_variables_are_passed_on(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(ordinary); i++) {
		AUTO(names) struct names dropped = {0};
		char **e = environ_with(ordinary[i], &plain, &dropped);

		if (!has_entry(e, ordinary[i]) || dropped.count)
			fail_msg("not passed on: %s", ordinary[i]);
		sandbox_environ_free(e);
	}
}

static void secrets_code_and_sockets_are_dropped_and_named(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(dropped_ones); i++) {
		const char *entry = dropped_ones[i];
		AUTO(names) struct names dropped = {0};
		char **e = environ_with(entry, &plain, &dropped);
		size_t len = strcspn(entry, "=");

		if (has_entry(e, entry))
			fail_msg("passed on: %s", entry);
		if (dropped.count != 1 || strlen(dropped.items[0]) != len ||
		    strncmp(dropped.items[0], entry, len) != 0)
			fail_msg("not named: %s", entry);
		sandbox_environ_free(e);
	}
}

static void the_list_passes_no_other_variable_with_clean(void **state)
{
	const struct environ_request clean = {
		.home = "/h", .clean = true, .has_secret = has_secret};
	size_t i;
	char **e;

	(void)state;
	for (i = 0; i < COUNT(ordinary); i++) {
		e = environ_with(ordinary[i], &clean, NULL);
		if (has_entry(e, ordinary[i]) &&
		    strncmp(ordinary[i], "https_proxy", 11) != 0)
			fail_msg("passed on: %s", ordinary[i]);
		sandbox_environ_free(e);
	}
	for (i = 0; i < COUNT(dropped_ones); i++) {
		e = environ_with(dropped_ones[i], &clean, NULL);
		assert_false(has_entry(e, dropped_ones[i]));
		sandbox_environ_free(e);
	}
	e = sandbox_environ(&clean, NULL);
	assert_string_equal(value_of(e, "PATH"), "/bin:/x");
	assert_string_equal(value_of(e, "TERM"), "xterm");
	assert_string_equal(value_of(e, "LC_ALL"), "C.UTF-8");
	assert_null(value_of(e, "HARMLESS"));
	sandbox_environ_free(e);
}

static void the_callers_own_places_are_not_passed_on(void **state)
{
	AUTO(names) struct names dropped = {0};
	char **e = sandbox_environ(&plain, &dropped);

	(void)state;
	assert_null(value_of(e, "PWD"));
	assert_int_equal(count_of(e, "HOME"), 1);
	assert_int_equal(dropped.count, 0);
	sandbox_environ_free(e);
}

static void the_run_is_told_where_it_is(void **state)
{
	static const struct environ_request none = {.home = NULL};
	char **e;

	(void)state;
	(void)setenv("GUARD_RUN", "x", 1);
	(void)setenv("GIT_CONFIG_COUNT", "9", 1);
	e = sandbox_environ(&plain, NULL);
	assert_string_equal(value_of(e, "GUARD"), "1");
	assert_string_equal(value_of(e, "GUARD_RUN"), "r1");
	assert_int_equal(count_of(e, "GUARD_RUN"), 1);
	assert_string_equal(value_of(e, "HOME"), "/home/u");
	assert_memory_equal(value_of(e, "XDG_RUNTIME_DIR"), "/run/user/", 10);
	assert_string_equal(value_of(e, "GIT_CONFIG_COUNT"), "2");
	assert_string_equal(value_of(e, "GIT_CONFIG_KEY_0"), "commit.gpgsign");
	assert_string_equal(value_of(e, "GIT_CONFIG_VALUE_0"), "false");
	sandbox_environ_free(e);
	(void)unsetenv("PATH");
	e = sandbox_environ(&none, NULL);
	assert_string_equal(value_of(e, "HOME"), "/tmp/home");
	assert_string_equal(value_of(e, "PATH"),
			    "/usr/local/bin:/usr/bin:/bin");
	assert_null(value_of(e, "GUARD_RUN"));
	sandbox_environ_free(e);
}

static void what_is_asked_for_comes_along_once(void **state)
{
	static const char *const extra[] = {"MY_API_KEY", "TERM=dumb", "NEW=1",
					    "ABSENT", NULL};
	const struct environ_request q = {.extra = extra};
	char **e = environ_with("MY_API_KEY=k", &q, NULL);

	(void)state;
	assert_string_equal(value_of(e, "MY_API_KEY"), "k");
	assert_string_equal(value_of(e, "TERM"), "dumb");
	assert_int_equal(count_of(e, "TERM"), 1);
	assert_string_equal(value_of(e, "NEW"), "1");
	assert_null(value_of(e, "ABSENT"));
	sandbox_environ_free(e);
}

static void sockets_are_named_last(void **state)
{
	AUTO(names) struct names dropped = {0};

	(void)state;
	(void)setenv("A_SOCK", "/x", 1);
	(void)setenv("B_TOKEN", "/x", 1);
	sandbox_environ_free(sandbox_environ(&plain, &dropped));
	assert_int_equal(dropped.count, 2);
	assert_string_equal(dropped.items[0], "B_TOKEN");
	assert_string_equal(dropped.items[1], "A_SOCK");
}

static void a_large_environment_is_passed_on(void **state)
{
	enum { MANY = 2000, LONG = 100000 };
	AUTO(names) struct names dropped = {0};
	auto_free char *large = mem_zalloc(LONG + 1);
	char name[32], **e;
	size_t i, count = 0;

	(void)state;
	memset(large, 'x', LONG);
	(void)setenv("LARGE", large, 1);
	for (i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "V%zu", i);
		(void)setenv(name, "v", 1);
	}
	e = sandbox_environ(&plain, &dropped);
	for (; e[count];)
		count++;
	assert_true(count > MANY);
	assert_string_equal(value_of(e, "LARGE"), large);
	assert_int_equal(dropped.count, 0);
	sandbox_environ_free(e);
}

static void a_mistake_in_the_list_is_named_by_its_line(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(
		sandbox_environ_check("f", "# x\n\nkeep A B=*\n", &err), 0);
	assert_true(sandbox_environ_check("f", "keep A\nhold B\n", &err) < 0);
	assert_non_null(strstr(err.text, "'f':2"));
	assert_true(sandbox_environ_check("f", "keep  A\n", &err) < 0);
	assert_true(sandbox_environ_check("f", "keep\n", &err) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(ordinary_variables_are_passed_on,
				       start_clean),
		cmocka_unit_test_setup(
			secrets_code_and_sockets_are_dropped_and_named,
			start_clean),
		cmocka_unit_test_setup(
			the_list_passes_no_other_variable_with_clean,
			start_clean),
		cmocka_unit_test_setup(the_callers_own_places_are_not_passed_on,
				       start_clean),
		cmocka_unit_test_setup(the_run_is_told_where_it_is,
				       start_clean),
		cmocka_unit_test_setup(what_is_asked_for_comes_along_once,
				       start_clean),
		cmocka_unit_test_setup(sockets_are_named_last, start_clean),
		cmocka_unit_test_setup(a_large_environment_is_passed_on,
				       start_clean),
		cmocka_unit_test_setup(
			a_mistake_in_the_list_is_named_by_its_line,
			start_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
