#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "guard/agent/agent.h"

/* Options whose value is the next argument. */
#define NODE_VALUES " -p --package -w --workspace --registry --cache "
#define PYTHON_VALUES " --from --with --spec --python -p --index-url -i "

/* Launchers that fetch and start a program, and their options with a value. */
static const struct launcher {
	const char *words[3];
	const char *values;
} launchers[] = {
	{{"npx"}, NODE_VALUES},
	{{"bunx"}, NODE_VALUES},
	{{"pnpx"}, NODE_VALUES},
	{{"npm", "exec"}, NODE_VALUES},
	{{"npm", "x"}, NODE_VALUES},
	{{"pnpm", "dlx"}, NODE_VALUES},
	{{"pnpm", "exec"}, NODE_VALUES},
	{{"yarn", "dlx"}, NODE_VALUES},
	{{"bun", "x"}, NODE_VALUES},
	{{"uvx"}, PYTHON_VALUES},
	{{"uv", "tool", "run"}, PYTHON_VALUES},
	{{"pipx", "run"}, PYTHON_VALUES},
};

/* Agents whose package has another name. */
static const struct {
	const char *package, *agent;
} packages[] = {
	{"@anthropic-ai/claude-code", "claude"},
	{"@openai/codex", "codex"},
	{"@google/gemini-cli", "gemini"},
	{"opencode-ai", "opencode"},
	{"aider-chat", "aider"},
};

/* How many words of argv name the launcher; 0: it is none. */
static size_t launcher_word_count(const struct launcher *l, char *const *argv)
{
	size_t i;

	for (i = 0; i < 3 && l->words[i]; i++)
		if (!argv[i] ||
		    strcmp(i ? argv[i] : path_name(argv[0]), l->words[i]) != 0)
			return 0;
	return i;
}

static bool option_has_value(const struct launcher *l, const char *option)
{
	auto_free char *word = mem_printf(" %s ", option);

	return strstr(l->values, word) != NULL;
}

/* The first argument that is no option; NULL: none, or the program is in the
 * text of an option. */
static const char *find_operand(const struct launcher *l, char *const *argv)
{
	for (; *argv && (*argv)[0] == '-'; argv++) {
		if (strcmp(*argv, "--") == 0)
			return argv[1];
		if (strcmp(*argv, "-c") == 0 || strcmp(*argv, "--call") == 0)
			return NULL;
		if (option_has_value(l, *argv) && argv[1])
			argv++;
	}
	return *argv;
}

/* "name@1.2", "name==1.2", "name[extra]" without the suffix. A package of an
 * unknown scope is no known agent, whatever its name. */
static char *agent_of_package(const char *package)
{
	size_t at = *package == '@';
	auto_free char *name =
		mem_strndup(package, at + strcspn(package + at, "@=<>~[ "));
	size_t i;

	for (i = 0; i < sizeof(packages) / sizeof(*packages); i++)
		if (strcmp(packages[i].package, name) == 0)
			return mem_strdup(packages[i].agent);
	return mem_strdup(*name == '@' ? "" : path_name(name));
}

char *agent_program(char *const *argv)
{
	const char *operand;
	size_t i, words;

	if (!argv || !argv[0])
		return mem_strdup("");
	for (i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
		words = launcher_word_count(&launchers[i], argv);
		if (!words)
			continue;
		operand = find_operand(&launchers[i], argv + words);
		return operand ? agent_of_package(operand) : mem_strdup("");
	}
	return mem_strdup(path_name(argv[0]));
}
