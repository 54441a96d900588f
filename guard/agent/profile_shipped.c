/*
 * The shipped profiles, in the words of a user's own file (profile.h).
 * "default" is for every run. Sources: the documentation of the agents, and the
 * files that they wrote when they were started in an empty home.
 */
#include <string.h>

#include "guard/agent/profile.h"

static const struct {
	const char *name, *text;
} shipped[] = {
	{"default", "cache ~/.cache\n"
		    "cache ~/.npm\n"
		    "cache ~/.cargo/registry\n"
		    "cache ~/.cargo/git\n"
		    "cache ~/go/pkg/mod\n"
		    "cache ~/.gradle/caches\n"
		    "cache ~/.m2/repository\n"
		    "cache ~/.bun/install/cache\n"
		    "cache ~/.local/share/pnpm/store\n"},
	/* CLAUDE_CONFIG_DIR moves ~/.claude.json into the directory, too: a
	 * single file that is replaced by renames cannot be a mount. As root it
	 * works without questions only with IS_SANDBOX set. */
	{"claude",
	 "home ~/.claude\n"
	 "env CLAUDE_CONFIG_DIR=~/.claude\n"
	 "env DISABLE_AUTOUPDATER=1\n"
	 "env IS_SANDBOX=1\n"
	 "env ANTHROPIC_BASE_URL\n"
	 "env ANTHROPIC_MODEL\n"
	 "nested\n"
	 "login ~/.claude/.credentials.json\n"
	 "history ~/.claude/projects/*.jsonl\n"
	 "seed ~/.claude/settings.json\n"
	 "seed ~/.claude/keybindings.json\n"
	 "seed ~/.claude/CLAUDE.md\n"
	 "seed ~/.claude/agents\n"
	 "seed ~/.claude/commands\n"
	 "seed ~/.claude/hooks\n"
	 "seed ~/.claude/rules\n"
	 "seed ~/.claude/skills\n"
	 "seed ~/.claude/output-styles\n"
	 "code ~/.claude/settings*.json\n"
	 "code ~/.claude/CLAUDE*.md\n"
	 "code ~/.claude/agents\n"
	 "code ~/.claude/commands\n"
	 "code ~/.claude/hooks\n"
	 "code ~/.claude/rules\n"
	 "code ~/.claude/skills\n"
	 "code ~/.claude/output-styles\n"
	 "code ~/.claude/plugins\n"
	 "code ~/.claude/local\n"
	 "code ~/.claude/scheduled_tasks*\n"
	 "code ~/.claude/projects/*/memory\n"
	 "code ~/.claude/agent-memory\n"
	 "code ~/.claude/.claude.json#mcpServers,hooks,env,apiKeyHelper\n"},
	/* codex's sandbox searches for other names of its masked paths in /tmp,
	 * and finds the name of a directory below guard's state on the disk,
	 * which does not exist in the run: "bwrap: Can't mkdir parents". A /tmp
	 * in memory has no other name. */
	{"codex",
	 "home ~/.codex\n"
	 "env CODEX_HOME=~/.codex\n"
	 "env OPENAI_BASE_URL\n"
	 "nested\n"
	 "tmp-size 1G\n"
	 "login ~/.codex/auth.json\n"
	 "history ~/.codex/sessions/*.jsonl\n"
	 "write ~/.codex/config.toml check_for_update_on_startup = false\n"
	 "seed ~/.codex/config.toml\n"
	 "seed ~/.codex/AGENTS.md\n"
	 "seed ~/.codex/prompts\n"
	 "seed ~/.codex/rules\n"
	 "seed ~/.codex/skills\n"
	 "code ~/.codex/*.toml\n"
	 "code ~/.codex/AGENTS*.md\n"
	 "code ~/.codex/hooks*\n"
	 "code ~/.codex/memories\n"
	 "code ~/.codex/plugins\n"
	 "code ~/.codex/prompts\n"
	 "code ~/.codex/rules\n"
	 "code ~/.codex/skills\n"},
	{"gemini",
	 "home ~/.gemini\n"
	 "env GEMINI_SANDBOX=false\n"
	 "env GEMINI_CLI_SYSTEM_SETTINGS_PATH=~/.gemini/guard.json\n"
	 "write ~/.gemini/guard.json {\"general\":{\"enableAutoUpdate\":"
	 "false,\"enableAutoUpdateNotification\":false}}\n"
	 "env GEMINI_MODEL\n"
	 "login ~/.gemini/oauth_creds.json\n"
	 "history ~/.gemini/tmp/*/chats/*\n"
	 "env GOOGLE_GEMINI_BASE_URL\n"
	 "seed ~/.gemini/settings.json\n"
	 "seed ~/.gemini/GEMINI.md\n"
	 "seed ~/.gemini/agents\n"
	 "seed ~/.gemini/commands\n"
	 "seed ~/.gemini/policies\n"
	 "seed ~/.gemini/skills\n"
	 "code ~/.gemini/guard.json\n"
	 "code ~/.gemini/settings.json\n"
	 "code ~/.gemini/trustedFolders.json\n"
	 "code ~/.gemini/*.md\n"
	 "code ~/.gemini/.env\n"
	 "code ~/.gemini/agents\n"
	 "code ~/.gemini/commands\n"
	 "code ~/.gemini/extensions\n"
	 "code ~/.gemini/hooks\n"
	 "code ~/.gemini/tmp/bin\n"
	 "code ~/.gemini/policies\n"
	 "code ~/.gemini/skills\n"},
	{"opencode", "home ~/.config/opencode\n"
		     "home ~/.local/share/opencode\n"
		     "home ~/.local/state/opencode\n"
		     "env OPENCODE_DISABLE_AUTOUPDATE=1\n"
		     "login ~/.local/share/opencode/auth.json\n"
		     "history ~/.local/share/opencode/storage/session/*.json\n"
		     "seed ~/.config/opencode/opencode.json\n"
		     "seed ~/.config/opencode/opencode.jsonc\n"
		     "seed ~/.config/opencode/AGENTS.md\n"
		     "seed ~/.config/opencode/agents\n"
		     "seed ~/.config/opencode/commands\n"
		     "seed ~/.config/opencode/modes\n"
		     "seed ~/.config/opencode/themes\n"
		     "code ~/.config/opencode/*.json*\n"
		     "code ~/.config/opencode/*.md\n"
		     "code ~/.config/opencode/node_modules\n"
		     "code ~/.local/share/opencode/bin\n"
		     "code ~/.config/opencode/agent*\n"
		     "code ~/.config/opencode/command*\n"
		     "code ~/.config/opencode/mode*\n"
		     "code ~/.config/opencode/plugin*\n"
		     "code ~/.config/opencode/skill*\n"
		     "code ~/.config/opencode/tool*\n"},
	{"aider", "home ~/.aider\n"
		  "env AIDER_CHECK_UPDATE=false\n"
		  "env OPENAI_API_BASE\n"
		  "noise .aider.chat.history.md\n"
		  "noise .aider.input.history\n"
		  "noise .aider.llm.history\n"
		  "noise .aider.tags.cache.v*\n"},
};

const char *profile_shipped(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(shipped) / sizeof(*shipped); i++)
		if (strcmp(shipped[i].name, name) == 0)
			return shipped[i].text;
	return NULL;
}

const char *profile_shipped_name(size_t n)
{
	return n < sizeof(shipped) / sizeof(*shipped) ? shipped[n].name : NULL;
}
