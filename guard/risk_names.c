/*
 * Names of files that something executes, or that say what is executed.
 *
 * A pattern with a slash matches at any depth, too: a folder of a project is
 * opened and built by itself. "X/" is all below a folder X.
 */
#include <fnmatch.h>
#include <string.h>

#include "base/auto.h"
#include "base/path.h"
#include "guard/risk.h"

struct risky {
	enum risk_level level;
	const char *when;
	const char *patterns; /* parted by '|' */
};

static const struct risky table[] = {
	/* without being asked for */
	{RISK_CRITICAL, "at every git command that reads it",
	 ".git/config|.git/config.worktree|.git/modules/*/config|"
	 ".git/commondir|.git/worktrees/*/gitdir|.git/worktrees/*/commondir|"
	 ".gitconfig|.config/git/"},
	{RISK_CRITICAL, "by git at commit, checkout, merge, push or fetch",
	 ".git/hooks/|.git/modules/*/hooks/"},
	{RISK_HIGH, "when git checks out or compares files (filters, drivers)",
	 ".git/info/attributes|.gitattributes"},
	{RISK_HIGH, "with the commands of submodules", ".gitmodules"},
	{RISK_HIGH, "with objects of another repository",
	 ".git/objects/info/alternates"},
	{RISK_CRITICAL, "by hg, svn, jj or bzr at any command",
	 ".hg/hgrc|.hg/requires|.svn/|.jj/repo/config.toml|"
	 ".bzr/branch/branch.conf|.hgrc|.config/hg/|.config/jj/"
	 "|.jjconfig.toml"},
	{RISK_HIGH, "by its hook manager at commit or push",
	 "lefthook.yml|.lefthook.yml|.husky/|.pre-commit-config.yaml|"
	 ".pre-commit-hooks.yaml|.overcommit.yml|.githooks/|"
	 ".simple-git-hooks.*|.lintstagedrc*|lint-staged.config.*|"
	 ".commitlintrc*|commitlint.config.*|.czrc"},
	{RISK_CRITICAL, "when a shell starts",
	 ".bashrc|.bash_profile|.bash_login|.profile|.bash_logout|"
	 ".bash_aliases|.bash_completion|.zshrc|.zshenv|.zprofile|.zlogin|"
	 ".zlogout|.cshrc|.tcshrc|.login|.kshrc|.mkshrc|.xonshrc|.inputrc|"
	 ".config/fish/|.config/nushell/|.config/zsh/|.bashrc.d/|.zshrc.d/|"
	 ".oh-my-zsh/|.config/starship.toml"},
	{RISK_CRITICAL, "when a terminal or a multiplexer starts",
	 ".tmux.conf|.tmux/|.config/tmux/|.screenrc|.config/zellij/|"
	 ".config/kitty/|.config/alacritty/|.alacritty.*|.config/wezterm/|"
	 ".wezterm.lua|.config/foot/|.config/ghostty/|.Xresources"},
	{RISK_CRITICAL, "when its name is typed",
	 ".local/bin/|.cargo/bin/|go/bin/|.bun/bin/|.deno/bin/|"
	 ".npm-global/bin/|.nvm/nvm.sh|.pyenv/shims/|.rbenv/shims/|"
	 ".asdf/shims/|.sdkman/bin/|.docker/cli-plugins/"},
	{RISK_CRITICAL, "when somebody enters the folder",
	 ".envrc|.envrc.local|.autoenv|.autoenv.leave|.smartcd/|.mise.toml|"
	 "mise.toml|.mise/|.rtx.toml|.asdfrc|.tool-versions|.direnvrc|"
	 ".config/direnv/|.config/mise/"},
	{RISK_HIGH, "with the tools that read it (PATH, LD_PRELOAD, ...)",
	 ".env|.env.*"},
	{RISK_HIGH, "by version managers: another toolchain",
	 ".nvmrc|.node-version|.python-version|.ruby-version|.java-version|"
	 ".sdkmanrc|rust-toolchain|rust-toolchain.toml|global.json|"
	 ".go-version|.terraform-version"},
	{RISK_HIGH, "by nix or guix when the environment is entered",
	 "shell.nix|default.nix|flake.nix|flake.lock|devenv.nix|devbox.json|"
	 "guix.scm"},
	{RISK_CRITICAL, "at login, remotely or by a timer",
	 ".ssh/|.config/systemd/|.config/autostart/|.config/environment.d/|"
	 ".xinitrc|.xsession|.xprofile|.xsessionrc|.pam_environment|"
	 ".forward|.procmailrc|.gnupg/*.conf|.crontab|.local/share/systemd/|"
	 ".local/share/dbus-1/|.local/share/applications/|"
	 ".config/plasma-workspace/|.config/openbox/|.config/i3/|.i3/|"
	 ".config/sway/|.config/hypr/|.config/awesome/|.config/bspwm/|"
	 ".config/sxhkd/|.xbindkeysrc|.config/polybar/|.config/waybar/"},
	{RISK_CRITICAL, "when the folder is opened in an editor",
	 ".vscode/|*.code-workspace|.idea/|*.iml|.run/*.xml|.fleet/|.nova/|"
	 "*.sublime-project|.externalToolBuilders/|nbproject/|.zed/|"
	 ".theia/|.vs/|.exrc|.vimrc|_vimrc|.nvimrc|.nvim.lua|.lvimrc|.vim/|"
	 ".config/nvim/|.config/emacs/|.doom.d/|.config/doom/|.config/Code/|"
	 ".config/VSCodium/|.config/Cursor/|.config/zed/|.config/helix/|"
	 ".config/sublime-text*/|.config/JetBrains/|.ideavimrc|.nanorc|"
	 "Session.vim|.dir-locals.el|.dir-locals-2.el|.emacs|.emacs.d/|"
	 ".projectile|.clangd|.helix/|.luarc.json|rust-project.json|"
	 ".settings/"},
	{RISK_CRITICAL, "on your own machine when the container is opened",
	 ".devcontainer/|.devcontainer.json|.gitpod.yml|.gitpod.Dockerfile|"
	 ".idx/|.replit|devfile.yaml"},
	{RISK_CRITICAL, "or steers the next agent's session",
	 ".claude/|.mcp.json|CLAUDE.md|CLAUDE.local.md|.codex/|AGENTS.md|"
	 "AGENTS.override.md|.agents/|.cursor/|.cursorrules|.gemini/|"
	 "GEMINI.md|.github/copilot-instructions.md|.github/instructions/|"
	 ".github/prompts/|.github/agents/|.github/hooks/|.aider.conf.yml|"
	 ".continue/|.windsurf/|.windsurfrules|.clinerules*|.cline/|.roo/|"
	 ".roomodes|.kilocode/|.amazonq/|.kiro/|.junie/|.goose/|.goosehints|"
	 ".opencode/|opencode.json*|.crush.json|.qwen/|.openhands/|"
	 "SKILL.md"},
	{RISK_CRITICAL, "or steers the next run of guard",
	 ".guard*|.guard/|.config/guard/"},
	{RISK_CRITICAL, "when a program of that language starts",
	 "sitecustomize.py|usercustomize.py|*.pth|.Rprofile|.Renviron|"
	 ".RData|.ghci|.iex.exs|.irbrc|.pryrc|.pythonrc|.gdbinit|.lldbinit|"
	 ".psqlrc|.sqliterc|*-gdb.py|.ipython/|.jupyter/|.pdbrc|.perldb"},
	{RISK_HIGH, "by the programs whose settings they are",
	 ".mailcap|.lessfilter|.lesskey|.curlrc|.wgetrc|.config/mpv/|"
	 ".config/ranger/|.config/lf/|.config/yazi/|.config/vifm/|"
	 ".config/mc/|.muttrc|.config/mutt/|.config/newsboat/"},
	{RISK_HIGH, "at every build with that tool",
	 ".gradle/init.gradle|.gradle/init.gradle.kts|.gradle/init.d/|"
	 ".m2/settings.xml|.m2/extensions.xml|.sbt/|.lein/"},
	/* in a routine command */
	{RISK_HIGH, "at make",
	 "Makefile|makefile|GNUmakefile|*.mk|Makefile.*|BSDmakefile"},
	{RISK_HIGH, "when it is configured or built",
	 "CMakeLists.txt|*.cmake|CMakePresets.json|CMakeUserPresets.json|"
	 "meson.build|meson.options|meson_options.txt|*.wrap|configure|"
	 "configure.ac|autogen.sh|bootstrap.sh|SConstruct|SConscript|wscript|"
	 "build.ninja|BUILD|BUILD.bazel|WORKSPACE|MODULE.bazel|*.bzl|"
	 ".bazelrc|tools/bazel|Tupfile|xmake.lua|premake5.lua|justfile|"
	 "Justfile|.justfile|Taskfile.yml|Taskfile.yaml|magefile.go|"
	 "Earthfile|dodo.py|tasks.py|fabfile.py|noxfile.py|tox.ini|Snakefile|"
	 "Rakefile|*.rake|build.sh|install.sh|setup.sh|build.zig|"
	 "conanfile.*|vcpkg.json"},
	{RISK_HIGH, "at npm, yarn, pnpm or bun install",
	 "package.json|.npmrc|.pnpmrc|.yarnrc|.yarnrc.yml|.yarn/releases/|"
	 ".yarn/plugins/|.pnp.cjs|.pnp.loader.mjs|.pnpmfile.cjs|"
	 "pnpm-workspace.yaml|bunfig.toml|deno.json|deno.jsonc|lerna.json|"
	 "nx.json|turbo.json"},
	{RISK_HIGH, "when it is linted, bundled or tested",
	 ".eslintrc*|eslint.config.*|.prettierrc.*|prettier.config.*|"
	 "stylelint.config.*|babel.config.*|.babelrc*|webpack.config.*|"
	 "vite.config.*|vitest.config.*|rollup.config.*|next.config.*|"
	 "nuxt.config.*|svelte.config.*|astro.config.*|metro.config.js|"
	 "tailwind.config.*|postcss.config.*|jest.config.*|jest.setup.*|"
	 ".mocharc*|karma.conf.*|cypress.config.*|playwright.config.*|"
	 "gulpfile.*|Gruntfile.*|.storybook/|renovate.json*|.releaserc*|"
	 "conftest.py|pytest.ini|.pylintrc|pylintrc|.flake8|mypy.ini|"
	 ".rspec|.rubocop.yml|spec_helper.rb|phpunit.xml*|"
	 ".php-cs-fixer*|phpstan.neon*"},
	{RISK_HIGH, "when it is installed or built by pip, uv or poetry",
	 "setup.py|setup.cfg|pyproject.toml|hatch_build.py|pip.conf|uv.toml|"
	 "Pipfile|poetry.toml"},
	{RISK_HIGH, "at cargo build, and by rust-analyzer",
	 "build.rs|Cargo.toml|.cargo/"},
	{RISK_HIGH, "at go generate or build",
	 "go.mod|go.work|go.env|.golangci.yml|.golangci.yaml|.air.toml"},
	{RISK_HIGH, "by maven, gradle, sbt or an IDE's import",
	 "pom.xml|.mvn/|mvnw|mvnw.cmd|build.gradle*|settings.gradle*|"
	 "init.gradle*|gradle.properties|gradle/wrapper/|gradlew|"
	 "gradlew.bat|buildSrc/|build.xml|build.sbt|project/plugins.sbt|"
	 "build.sc|deps.edn|project.clj"},
	{RISK_HIGH, "at dotnet restore or build",
	 "*.csproj|*.vbproj|*.fsproj|*.vcxproj|Directory.Build.*|*.targets|"
	 "nuget.config|NuGet.Config|.config/dotnet-tools.json"},
	{RISK_HIGH, "by bundler, composer, mix, cabal and the like",
	 "Gemfile|*.gemspec|.bundle/config|config.ru|Guardfile|Vagrantfile|"
	 "Podfile|Fastfile|Dangerfile|composer.json|artisan|.user.ini|"
	 ".htaccess|Package.swift|mix.exs|rebar.config*|Setup.hs|stack.yaml|"
	 "cabal.project*|Makefile.PL|Build.PL|latexmkrc|.latexmkrc|"
	 "lakefile.*"},
	{RISK_HIGH, "when it is started or deployed",
	 "Dockerfile*|Containerfile|docker-compose*.yml|"
	 "docker-compose*.yaml|compose.yml|compose.yaml|*.tf|*.tf.json|"
	 ".terraformrc|terragrunt.hcl|ansible.cfg|playbook*.yml|"
	 "skaffold.yaml|Tiltfile|helmfile.yaml|*.service|*.timer|*.socket|"
	 "crontab|Procfile|*.desktop"},
	{RISK_HIGH, "with the secrets of your CI at the next push",
	 ".github/workflows/|.github/actions/|action.yml|action.yaml|"
	 ".gitlab-ci.yml|.gitlab/|.circleci/|.travis.yml|"
	 "azure-pipelines*.yml|Jenkinsfile*|bitbucket-pipelines.yml|"
	 ".drone.yml|.woodpecker*|.buildkite/|appveyor.yml|.cirrus.*|"
	 ".tekton/|cloudbuild.yaml|buildspec.yml|.forgejo/|.gitea/"},
	{RISK_HIGH, "before programs of the same name, where PATH says so",
	 ".bin/|.venv/bin/|venv/bin/|vendor/bin/"},
	{RISK_HIGH, "when it is loaded (pickled objects)",
	 "*.pkl|*.pickle|*.joblib|*.dill"},
};

/* What steers more than it runs. */
static const struct risky notes[] = {
	{RISK_NOTE, "says what is fetched at the next install",
	 "package-lock.json|npm-shrinkwrap.json|yarn.lock|pnpm-lock.yaml|"
	 "bun.lock|bun.lockb|deno.lock|requirements*.txt|constraints*.txt|"
	 "poetry.lock|Pipfile.lock|uv.lock|Cargo.lock|go.sum|Gemfile.lock|"
	 "composer.lock|mix.lock"},
	{RISK_NOTE, "hides files from git", ".gitignore|.git/info/exclude"},
	{RISK_NOTE, "changes what git shows of the past",
	 ".git/info/grafts|.git/shallow|.git/refs/replace/"},
	{RISK_NOTE, "says who has to agree, or what is checked",
	 "CODEOWNERS|.github/dependabot.yml|.mergify.yml|.trivyignore|"
	 ".semgrepignore|.snyk"},
};

/* pattern is len bytes of the table; nothing in it is longer than this. */
#define PATTERN_MAX 64

static bool glob_is(const char *pattern, size_t len, const char *path)
{
	char glob[PATTERN_MAX];

	if (!memchr(pattern, '*', len))
		return strlen(path) == len && memcmp(pattern, path, len) == 0;
	if (len >= sizeof(glob))
		return false;
	memcpy(glob, pattern, len);
	glob[len] = '\0';
	return fnmatch(glob, path, FNM_PATHNAME) == 0;
}

/* How long the first parts of a path are; 0: nothing is below them. */
static size_t parts_len(const char *path, size_t parts)
{
	size_t at = 0;

	while (parts--) {
		at += strcspn(path + at, "/");
		if (!path[at])
			return 0;
		at += parts > 0;
	}
	return at;
}

/* path: from one of its parts on. */
static bool match_here(const char *pattern, size_t len, const char *path)
{
	char head[PATTERN_MAX];
	size_t parts = 1, at, i;

	if (pattern[len - 1] != '/')
		return glob_is(pattern, len, path);
	for (i = 0; i + 1 < len; i++)
		parts += pattern[i] == '/';
	at = parts_len(path, parts);
	if (!at || at >= sizeof(head))
		return false;
	memcpy(head, path, at);
	head[at] = '\0';
	return glob_is(pattern, len - 1, head);
}

static bool match(const char *pattern, size_t len, const char *path)
{
	const char *at = path;

	/* Most patterns are names, and most of them begin otherwise. */
	if (!memchr(pattern, '/', len))
		at = path_name(path);
	for (;;) {
		if ((*pattern == '*' || *pattern == *at) &&
		    match_here(pattern, len, at))
			return true;
		at += strcspn(at, "/");
		if (!*at)
			return false;
		at++;
	}
}

static bool match_any(const char *patterns, const char *path)
{
	while (*patterns) {
		size_t len = strcspn(patterns, "|");

		if (match(patterns, len, path))
			return true;
		patterns += len + (patterns[len] == '|');
	}
	return false;
}

const char *risk_by_name(const char *path, enum risk_level *ret_level)
{
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (match_any(table[i].patterns, path)) {
			*ret_level = table[i].level;
			return table[i].when;
		}
	for (i = 0; i < sizeof(notes) / sizeof(*notes); i++)
		if (match_any(notes[i].patterns, path)) {
			*ret_level = notes[i].level;
			return notes[i].when;
		}
	return NULL;
}

bool risk_is_generated(const char *name)
{
	static const char *const names[] = {
		"node_modules", "bower_components",
		"__pycache__",	".venv",
		"venv",		".tox",
		".mypy_cache",	".pytest_cache",
		".ruff_cache",	".gradle",
		".next",	".nuxt",
		".svelte-kit",	".parcel-cache",
		".turbo",	".cache",
		".eggs",	".terraform",
		".dart_tool",	".stack-work",
		"DerivedData",	".ccache",
		"CMakeFiles",	".zig-cache",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

bool risk_in_generated(const char *path)
{
	auto_free char *dir = path_parent(path);
	char *at = dir;

	while (*at) {
		size_t len = strcspn(at, "/");
		auto_free char *name = mem_strndup(at, len);

		if (risk_is_generated(name))
			return true;
		at += len;
		at += *at == '/';
	}
	return false;
}
