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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_is_what_it_is_called),
		cmocka_unit_test(a_launcher_is_what_it_fetches),
		cmocka_unit_test(other_uses_of_a_launcher_are_no_agent),
		cmocka_unit_test(a_package_of_somebody_else_is_no_agent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
