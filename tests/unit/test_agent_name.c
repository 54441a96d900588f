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

static void expect_acp(const char *command, const char *agent, bool wanted)
{
	char *text = strdup(command), *save = NULL;
	char *argv[WORDS + 1] = {NULL};
	struct profile p = {0};
	struct err err;
	const char *shipped = profile_shipped(agent);
	size_t i;

	expect(command, agent);
	assert_int_equal(
		profile_parse(&p, agent, false, shipped, strlen(shipped), &err),
		0);
	for (i = 0; i < WORDS; i++)
		argv[i] = strtok_r(i ? NULL : text, " ", &save);
	if (talks_acp(&p, argv) != wanted)
		print_error("%s\n", command);
	assert_true(talks_acp(&p, argv) == wanted);
	profile_free(&p);
	free(text);
}

static void an_adapter_talks_to_an_editor(void **state)
{
	(void)state;
	/* A command on a terminal does not. */
	if (isatty(STDIN_FILENO) || isatty(STDOUT_FILENO))
		skip();
	expect_acp("claude-agent-acp", "claude", true);
	expect_acp("/opt/bin/claude-code-acp --x", "claude", true);
	expect_acp("npx -y @zed-industries/claude-code-acp@latest", "claude",
		   true);
	expect_acp("npx @agentclientprotocol/claude-agent-acp", "claude", true);
	expect_acp("bunx @zed-industries/codex-acp@0.16.0 -c a", "codex", true);
	expect_acp("codex-acp -c model=x", "codex", true);
	expect_acp("gemini -m x --acp", "gemini", true);
	expect_acp("npx -y -- @google/gemini-cli --experimental-acp", "gemini",
		   true);
	expect_acp("opencode acp --cwd /x", "opencode", true);
	expect_acp("npx -y opencode-ai acp", "opencode", true);
	expect_acp("npx -y @qwen-code/qwen-code@latest --acp", "qwen", true);
	expect_acp("copilot --acp --stdio", "copilot", true);
	expect_acp("claude -p acp", "claude", false);
	expect_acp("gemini -p hi", "gemini", false);
	expect_acp("npx @github/copilot -p --help", "copilot", false);
	expect_acp("opencode run x", "opencode", false);
	expect("npx @evil/claude-agent-acp", "");
	expect("npx @evil/codex-acp@1 @zed-industries/codex-acp", "");
	expect("echo claude-agent-acp", "echo");
	expect("claude-agent", "claude-agent");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_is_what_it_is_called),
		cmocka_unit_test(a_launcher_is_what_it_fetches),
		cmocka_unit_test(other_uses_of_a_launcher_are_no_agent),
		cmocka_unit_test(a_package_of_somebody_else_is_no_agent),
		cmocka_unit_test(an_adapter_talks_to_an_editor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
