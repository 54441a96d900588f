/* The agent of a command: by the command's name, or by the program that a
 * launcher starts. */
/* users: one */
#include "guard/agent/agent.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* cmocka has a fail() too. */
#undef fail
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 8

static void expect(const char *command, const char *agent)
{
	char *text = strdup(command), *save = NULL;
	char *argv[WORDS + 1] = {NULL};
	char *got;
	size_t i;

	for (i = 0; i < WORDS; i++)
		argv[i] = strtok_r(i ? NULL : text, " ", &save);
	got = agent_program(argv);
	if (strcmp(got, agent) != 0)
		print_error("%s\n", command);
	assert_string_equal(got, agent);
	free(got);
	free(text);
}

static void a_command_is_what_it_is_called(void **state)
{
	(void)state;
	expect("claude -p npx", "claude");
	expect("/usr/local/bin/codex exec", "codex");
	expect("./gemini", "gemini");
	expect("sh -c claude", "sh");
}

static void a_launcher_is_what_it_fetches(void **state)
{
	(void)state;
	expect("npx claude", "claude");
	expect("npx -y @anthropic-ai/claude-code@latest -p hi", "claude");
	expect("/usr/bin/npx --yes @openai/codex@0.1", "codex");
	expect("npx -- @google/gemini-cli", "gemini");
	expect("npm exec -- opencode-ai", "opencode");
	expect("npm x --registry http://r codex", "codex");
	expect("npm exec --yes --package=x claude", "claude");
	expect("npx -p @anthropic-ai/claude-code claude", "claude");
	expect("pnpm dlx @openai/codex", "codex");
	expect("pnpm exec claude", "claude");
	expect("pnpx opencode-ai@latest", "opencode");
	expect("yarn dlx @google/gemini-cli", "gemini");
	expect("bunx --bun opencode-ai", "opencode");
	expect("bun x @openai/codex", "codex");
	expect("uvx aider-chat", "aider");
	expect("uvx --from aider-chat aider", "aider");
	expect("uvx --python 3.12 aider-chat==0.86", "aider");
	expect("uv tool run aider-chat[help]", "aider");
	expect("pipx run aider-chat", "aider");
}

static void other_uses_of_a_launcher_are_no_agent(void **state)
{
	(void)state;
	expect("npm run claude", "npm");
	expect("npm install claude", "npm");
	expect("uv run claude", "uv");
	expect("npx", "");
	expect("npx --yes", "");
	expect("npx -p x", "");
	expect("npx -c claude", "");
	expect("uv tool install aider-chat", "uv");
	expect("", "");
}

/* The agent's home directory has a login, which a package of another publisher
 * must not get. */
static void a_package_of_somebody_else_is_no_agent(void **state)
{
	(void)state;
	expect("npx @evil/claude", "");
	expect("npx @evil/claude-code@1", "");
	expect("npx @anthropic-ai/claude-code-x", "");
	expect("npx https://evil.example/x.tgz", "x.tgz");
}

static void expect_acp(const char *command, bool wanted)
{
	const struct state state = {0};
	char *text = strdup(command), *save = NULL, *tick;
	char *argv[WORDS + 1] = {NULL};
	size_t i;

	/* All behind a ` is one argument. */
	tick = strchr(text, '`');
	if (tick)
		*tick++ = '\0';
	for (i = 0; i < WORDS; i++) {
		argv[i] = strtok_r(i ? NULL : text, " ", &save);
		if (!argv[i]) {
			argv[i] = tick;
			break;
		}
	}
	if (agent_talks_acp(&state, argv, false) != wanted)
		print_error("%s\n", command);
	assert_true(agent_talks_acp(&state, argv, false) == wanted);
	free(text);
}

static void an_adapter_talks_to_an_editor(void **state)
{
	static const char *const adapters[] = {
		"claude-agent-acp",
		"/opt/bin/claude-code-acp --x",
		"npx -y @zed-industries/claude-code-acp@latest",
		"npx @agentclientprotocol/claude-agent-acp",
		"bunx @zed-industries/codex-acp@0.16.0 -c a",
		"codex-acp -c model=x",
		"gemini -m x --acp",
		"gemini --acp=true",
		"npx -y -- @google/gemini-cli --experimental-acp",
		"npx @google/gemini-cli@latest --acp",
		"opencode acp --cwd /x",
		"npx -y opencode-ai acp",
		"npx -y @qwen-code/qwen-code@latest --acp",
		"npx @kilocode/cli acp",
		"npx @evil/claude-agent-acp",
		"copilot --acp --stdio",
		"goose acp",
		"cursor-agent acp",
		"kimi --acp",
		"vibe-acp",
		"env X=1 claude-agent-acp",
		"/usr/bin/env -i -u Y PATH=/bin opencode acp",
		"nice claude-agent-acp",
		"nice -n 5 nohup goose acp",
		"timeout -s KILL 5m claude-agent-acp",
		"stdbuf -oL setsid -w env kimi acp",
		"npx --package some claude-agent-acp",
		"npx --call `claude-agent-acp",
		"env -S `X=1 claude-agent-acp",
		"uv tool run fast-agent-acp",
		"sh -c `claude-agent-acp",
		"bash -lc `X=1 exec \"claude-agent-acp\" \"$@\"",
		"npx -c `claude-agent-acp --x",
		"env X=1 sh -c `exec nice goose acp",
	};
	static const char *const others[] = {
		"claude -p acp",
		"claude -p `claude-agent-acp",
		"gemini -p hi",
		"gemini -p `what does --acp do",
		"npx @github/copilot -p --help",
		"opencode run x",
		"goose run -t `opencode acp",
		"echo claude-agent-acp",
		"env X=1 grep claude-agent-acp x",
		"nice -n 5 cat claude-agent-acp",
		"git -C x log acp",
		"sh -c `grep claude-agent-acp x",
		"env",
		"",
	};
	size_t i;

	(void)state;
	/* A command on a terminal does not. */
	if (isatty(STDIN_FILENO) || isatty(STDOUT_FILENO))
		skip();
	for (i = 0; i < sizeof(adapters) / sizeof(*adapters); i++)
		expect_acp(adapters[i], true);
	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		expect_acp(others[i], false);
	expect("npx -y @zed-industries/claude-code-acp@latest", "claude");
	expect("npx @agentclientprotocol/codex-acp", "codex");
	expect("codex-acp -c model=x", "codex");
	expect("npx -y @qwen-code/qwen-code@latest --acp", "qwen");
	expect("npx @kilocode/cli acp", "kilo");
	expect("goose acp", "goose");
	expect("npx vibe-acp", "vibe-acp");
	expect("npx @evil/claude-agent-acp", "");
	expect("npx @evil/codex-acp@1 @zed-industries/codex-acp", "");
	expect("echo claude-agent-acp", "echo");
	expect("claude-agent", "claude-agent");
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

static void a_link_is_what_it_leads_to(void **state)
{
	static const char *const names[] = {
		"own",
		"env own",
		"./bin/own",
		"packed",
		"node node_modules/@zed-industries/claude-agent-acp/dist/x.js",
		"my-agent serve",
	};
	char dir[] = "/tmp/names.XXXXXX";
	char *path;
	size_t i;

	(void)state;
	if (isatty(STDIN_FILENO) || isatty(STDOUT_FILENO))
		skip();
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(system("mkdir -p bin guard/agents "
				"node_modules/@zed-industries/claude-agent-acp/"
				"dist"),
			 0);
	write_file("bin/claude-agent-acp", "");
	write_file("node_modules/@zed-industries/claude-agent-acp/dist/x.js",
		   "");
	write_file("guard/agents/mine", "acp my-agent serve\n");
	assert_int_equal(chmod("guard/agents/mine", 0644), 0);
	assert_int_equal(symlink("claude-agent-acp", "bin/own"), 0);
	assert_int_equal(symlink("../node_modules/@zed-industries/"
				 "claude-agent-acp/dist/x.js",
				 "bin/packed"),
			 0);
	expect_acp("own", false);
	path = mem_printf("%s/bin", dir);
	(void)setenv("PATH", path, 1);
	free(path);
	(void)setenv("XDG_CONFIG_HOME", dir, 1);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		expect_acp(names[i], true);
	expect_acp("my-agent", false);
	expect_acp("bin/other", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_is_what_it_is_called),
		cmocka_unit_test(a_launcher_is_what_it_fetches),
		cmocka_unit_test(other_uses_of_a_launcher_are_no_agent),
		cmocka_unit_test(a_package_of_somebody_else_is_no_agent),
		cmocka_unit_test(an_adapter_talks_to_an_editor),
		cmocka_unit_test(a_link_is_what_it_leads_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
