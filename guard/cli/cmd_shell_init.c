#include <fcntl.h>

#include "base/dirtree.h"
#include "base/inside.h"
#include "base/path.h"
#include "guard/agent/agent.h"
#include "guard/cli/commands.h"

static void add_program(char ***names, const char *name)
{
	if (profile_name_ok(name) && strcmp(name, "default") != 0 &&
	    path_has_program(name))
		mem_list_add_once(names, name);
}

/* Shipped profiles and the user's own, without opening the state: a shell that
 * starts must not wait, and must not fail. */
static char **list_programs(void)
{
	const struct state state = {.home = getenv("HOME")};
	auto_free char *config = agent_config_dir(&state);
	auto_close int fd = -1;
	AUTO(dirlist) struct dirlist own = {0};
	char **names = NULL;
	const char *shipped;
	struct err ignored;
	size_t i;

	for (i = 0; (shipped = profile_shipped_name(i)); i++)
		add_program(&names, shipped);
	if (config)
		fd = open(config, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		(void)dirlist_read(fd, &own, &ignored);
	for (i = 0; i < own.count; i++)
		add_program(&names, own.items[i].name);
	return names;
}

static void print_function(bool fish, const char *name)
{
	/* "NAME()" would expand an alias; an alias would come first later. */
	if (fish)
		(void)printf("function %s --wraps %s\n"
			     "\tcommand guard run -- %s $argv\n"
			     "end\n",
			     name, name, name);
	else
		(void)printf(
			"unalias %s 2>/dev/null || :\n"
			"function %s { command guard run -- %s \"$@\"; }\n",
			name, name, name);
}

int cmd_shell_init(const struct options *o, struct context *c, struct err *err)
{
	const char *shell = o->count ? o->operands[0] : "";
	bool fish = strcmp(shell, "fish") == 0;
	char **names = NULL, **name;

	(void)c;
	(void)err;
	if (!fish && strcmp(shell, "bash") != 0 && strcmp(shell, "zsh") != 0)
		return options_usage_error(o, "expected bash, zsh or fish");
	/* Agents inside a run are in its sandbox already. */
	if (!inside_run())
		names = list_programs();
	for (name = names; name && *name; name++)
		print_function(fish, *name);
	mem_list_free(&names);
	return STATUS_OK;
}
