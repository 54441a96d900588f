/*
 * Names of files that a tool executes, or that name commands to execute. A
 * pattern with a slash matches at any depth, too: a directory of a project can
 * be opened and built by itself. "X/" is everything below a directory X.
 */
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "guard/rules/risk_private.h"

struct name_rule {
	struct risk_rule rule;
	enum risk_as as;
	const char *patterns; /* separated by '|' */
};

/* A name has the first rule that matches: the critical ones come first. */
static const struct name_rule table[] = {
	{{"git-config", RISK_CRITICAL, true,
	  "at every git command that reads it"},
	 AS_ADDED,
	 ".config/git/"},
	{{"git-config", RISK_CRITICAL, true,
	  "at every git command that reads it"},
	 AS_NAME,
	 ".git-templates/|.git/commondir|.git/worktrees/*/gitdir|"
	 ".git/worktrees/*/commondir"},
	{{"git-config", RISK_CRITICAL, true,
	  "at every git command that reads it"},
	 AS_GIT,
	 ".git/config|.git/config.worktree|.git/modules/*/config|"
	 ".gitconfig|.git/worktrees/*/config.worktree"},
	{{"git-hook", RISK_CRITICAL, true,
	  "by git at commit, checkout, merge, push or fetch"},
	 AS_NAME,
	 ".git/hooks/|.git/modules/*/hooks/"},
	{{"vcs-config", RISK_CRITICAL, true,
	  "by hg, svn, jj or bzr at any command"},
	 AS_NAME,
	 ".hg/hgrc|.hg/requires|.svn/|.jj/repo/config.toml|"
	 ".bzr/branch/branch.conf|.hgrc|.config/hg/|.config/jj/|"
	 ".jjconfig.toml|.subversion/|.fossil-settings/"},
	{{"shell-start", RISK_CRITICAL, true, "when a shell starts"},
	 AS_NAME,
	 ".bashrc|.bash_profile|.bash_login|.profile|.bash_logout|"
	 ".bash_aliases|.bash_completion|.zshrc|.zshenv|.zprofile|"
	 ".zlogin|.zlogout|.cshrc|.tcshrc|.login|.kshrc|.mkshrc|"
	 ".xonshrc|.inputrc|.config/fish/|.config/nushell/|.config/zsh/|"
	 ".bashrc.d/|.zshrc.d/|.oh-my-zsh/|.config/starship.toml|"
	 ".bashrc.local|.zshrc.local|.zsh/|.zsh.d/|.zfunc/|.zinit/|"
	 ".p10k.zsh|.config/bash/|.local/share/fish/|.logout|"
	 ".config/elvish/|.config/xonsh/|.config/powershell/|"
	 ".config/readline/|.config/oh-my-posh/"},
	{{"terminal-start", RISK_CRITICAL, true,
	  "when a terminal or a multiplexer starts"},
	 AS_NAME,
	 ".tmux.conf|.tmux/|.config/tmux/|.screenrc|.config/zellij/|"
	 ".config/kitty/|.config/alacritty/|.alacritty.*|"
	 ".config/wezterm/|.wezterm.lua|.config/foot/|.config/ghostty/|"
	 ".Xresources|.tmuxp.*|.tmuxinator.yml|.config/terminator/|"
	 ".config/konsolerc|.local/share/konsole/|.terminfo/|.hushlogin"},
	{{"command-name", RISK_CRITICAL, true, "when its name is typed"},
	 AS_NAME,
	 ".local/bin/|.cargo/bin/|go/bin/|.bun/bin/|.deno/bin/|"
	 ".npm-global/bin/|.nvm/nvm.sh|.pyenv/shims/|.rbenv/shims/|"
	 ".asdf/shims/|.sdkman/bin/|.docker/cli-plugins/|.npm-global/|"
	 ".krew/"},
	{{"directory-enter", RISK_CRITICAL, true,
	  "when you enter the directory"},
	 AS_NAME,
	 ".envrc|.envrc.local|.autoenv|.autoenv.leave|.smartcd/|"
	 ".mise.toml|mise.toml|.mise/|.rtx.toml|.asdfrc|.tool-versions|"
	 ".direnvrc|.config/direnv/|.config/mise/|.in|.out|.env.envrc|"
	 ".kamal/hooks/|mise.*.toml|.mise.*.toml|mise/config.toml|"
	 ".config/mise.toml"},
	{{"login-start", RISK_CRITICAL, true,
	  "at login, remotely or by a timer"},
	 AS_NAME,
	 ".ssh/|.config/systemd/|.config/autostart/|"
	 ".config/environment.d/|.xinitrc|.xsession|.xprofile|"
	 ".xsessionrc|.pam_environment|.forward|.procmailrc|"
	 ".gnupg/*.conf|.crontab|.local/share/systemd/|"
	 ".local/share/dbus-1/|.local/share/applications/|"
	 ".config/plasma-workspace/|.config/openbox/|.config/i3/|.i3/|"
	 ".config/sway/|.config/hypr/|.config/awesome/|.config/bspwm/|"
	 ".config/sxhkd/|.xbindkeysrc|.config/polybar/|.config/waybar/|"
	 ".rhosts|.shosts|.config/user-tmpfiles.d/|"
	 ".config/autostart-scripts/|.config/mimeapps.list|"
	 ".local/share/mime/|.local/share/thumbnailers/|"
	 ".local/share/xsessions/|.Xdefaults|.xmonad/|"
	 ".config/kglobalshortcutsrc"},
	{{"browser-start", RISK_CRITICAL, true, "when the browser starts"},
	 AS_NAME,
	 ".config/chromium*/|.config/google-chrome*/|.mozilla/|"
	 ".config/BraveSoftware/|.pki/nssdb/|"
	 ".config/*/NativeMessagingHosts/"},
	{{"system-file", RISK_CRITICAL, true,
	  "by the system whose files these are: boot, login, timers"},
	 AS_NAME,
	 "etc/cron*/|etc/anacrontab|var/spool/cron/|var/spool/at/|"
	 "etc/systemd/|etc/init.d/|etc/rc.local|etc/profile.d/|"
	 "etc/bash.bashrc|etc/zsh/|etc/ld.so.preload|etc/ld.so.conf.d/|"
	 "etc/pam.d/|etc/sudoers*|etc/sudoers.d/|etc/udev/rules.d/|"
	 "etc/modules*|etc/modules-load.d/|etc/modprobe.d/|"
	 "etc/binfmt.d/|etc/sysctl.d/|etc/apt/|etc/dpkg/|"
	 "etc/logrotate.d/|etc/NetworkManager/dispatcher.d/|"
	 "etc/xdg/autostart/|etc/shells|etc/passwd|etc/group|etc/hosts|"
	 "etc/nsswitch.conf|etc/resolv.conf|etc/ssh/|usr/local/bin/"},
	{{"editor-open", RISK_CRITICAL, true,
	  "when the directory is opened in an editor"},
	 AS_EDITOR,
	 ".vscode/|*.code-workspace|.zed/|.clangd|.helix/|.luarc.json|"
	 "rust-project.json|.ccls|pyrightconfig.json|.rust-analyzer.json"},
	{{"editor-open", RISK_CRITICAL, true,
	  "when the directory is opened in an editor"},
	 AS_NAME,
	 ".idea/|*.iml|.run/*.xml|.fleet/|.nova/|*.sublime-project|"
	 ".externalToolBuilders/|nbproject/|.theia/|.vs/|.exrc|.vimrc|"
	 "_vimrc|.nvimrc|.nvim.lua|.lvimrc|.vim/|.config/nvim/|"
	 ".config/emacs/|.doom.d/|.config/doom/|.config/Code/|"
	 ".config/VSCodium/|.config/Cursor/|.config/zed/|.config/helix/|"
	 ".config/sublime-text*/|.config/JetBrains/|.ideavimrc|.nanorc|"
	 "Session.vim|.dir-locals.el|.dir-locals-2.el|.emacs|.emacs.d/|"
	 ".projectile|.settings/|.config/Code*/|.config/Codium*/|"
	 ".config/Codex/|.vscode*/|.local/share/JetBrains/|"
	 "*.sublime-workspace|.project|.classpath|*.code-snippets|*.suo|"
	 "*.DotSettings|*.csproj.user|*.vcxproj.user|*.vim|.gvimrc|"
	 ".viminfo|.emacs*|*.el|.lsp-session*|.kateproject|gopls.*"},
	{{"container-open", RISK_CRITICAL, true,
	  "on your own machine when the container is opened"},
	 AS_CONTAINER,
	 ".devcontainer/|.devcontainer.json|.gitpod.yml|"
	 ".gitpod.Dockerfile|.idx/|.replit|devfile.yaml|.codesandbox/|"
	 ".stackblitzrc|replit.nix|.workspace-config.yml"},
	{{"agent-session", RISK_CRITICAL, true,
	  "in the next agent session, or instructs it"},
	 AS_AGENT,
	 ".claude/|.mcp.json|CLAUDE.md|CLAUDE.local.md|.codex/|"
	 "AGENTS.md|AGENTS.override.md|.agents/|.cursor/|.cursorrules|"
	 ".gemini/|GEMINI.md|.github/copilot-instructions.md|"
	 ".github/instructions/|.github/prompts/|.github/agents/|"
	 ".github/hooks/|.aider.conf.yml|.continue/|.windsurf/|"
	 ".windsurfrules|.clinerules*|.cline/|.roo/|.roomodes|"
	 ".kilocode/|.amazonq/|.kiro/|.junie/|.goose/|.goosehints|"
	 ".opencode/|opencode.json*|.crush.json|.qwen/|.openhands/|"
	 "SKILL.md|.claude.json|.cursorignore|.cursorindexingignore|"
	 ".github/chatmodes/|.aider*|CONVENTIONS.md|.continuerc.json|"
	 ".roorules*|.augment/|.trae/|.zencoder/|.factory/|.tabnine/|"
	 "llms.txt|.rules|.ai/|crush.json|.copilot/|.pi/|.config/kilo/|"
	 ".config/opencode/|.config/crush/|.config/goose/"},
	{{"guard-settings", RISK_CRITICAL, false,
	  "configures the next run of guard"},
	 AS_NAME,
	 ".guard*|.guard/|.config/guard/"},
	{{"language-start", RISK_CRITICAL, true,
	  "when a program of that language starts"},
	 AS_NAME,
	 "sitecustomize.py|usercustomize.py|*.pth|.Rprofile|.Renviron|"
	 ".RData|.ghci|.iex.exs|.irbrc|.pryrc|.pythonrc|.gdbinit|"
	 ".lldbinit|.psqlrc|.sqliterc|*-gdb.py|.ipython/|.jupyter/|"
	 ".pdbrc|.perldb|.local/lib/|*.egg-link|__editable__*|"
	 "pyvenv.cfg|*-gdb.gdb|*-gdb.scm|.gdbearlyinit|.config/gdb/|"
	 ".lldbinit*|.rr/|.formatter.exs|.sbclrc|.quicklisp/|startup.jl|"
	 ".julia/|renv/activate.R|.Rproj|.mix/|.ghc/"},
	{{"git-attributes", RISK_HIGH, true,
	  "when git checks out or compares files (filters, drivers)"},
	 AS_ATTRIBUTES,
	 ".git/info/attributes|.gitattributes"},
	{{"git-submodule", RISK_HIGH, true, "with the commands of submodules"},
	 AS_SUBMODULE,
	 ".gitmodules"},
	{{"git-objects", RISK_HIGH, true, "with objects of another repository"},
	 AS_ADDED,
	 ".git/objects/info/alternates|.git/objects/info/http-alternates"},
	{{"hook-manager", RISK_HIGH, true,
	  "by its hook manager at commit or push"},
	 AS_PRECOMMIT,
	 ".pre-commit-config.yaml|.pre-commit-hooks.yaml"},
	{{"hook-manager", RISK_HIGH, true,
	  "by its hook manager at commit or push"},
	 AS_CODE,
	 "lint-staged.config.*|commitlint.config.*"},
	{{"hook-manager", RISK_HIGH, true,
	  "by its hook manager at commit or push"},
	 AS_ADDED,
	 "lefthook.*|lefthook-local.*|.lefthook.*|.lefthook-local.*|.husky/"
	 "|.overcommit.yml|.githooks/|"
	 ".simple-git-hooks.*|.lintstagedrc*|.commitlintrc*|.czrc"},
	{{"env-file", RISK_HIGH, true,
	  "with the tools that read it (PATH, LD_PRELOAD, ...)"},
	 AS_ENV,
	 ".env|.env.*"},
	{{"toolchain", RISK_HIGH, true,
	  "by version managers: another toolchain"},
	 AS_ADDED,
	 ".nvmrc|.node-version|.python-version|.ruby-version|"
	 ".java-version|.sdkmanrc|rust-toolchain|rust-toolchain.toml|"
	 "global.json|.go-version|.terraform-version|.swift-version|"
	 "rust-toolchain*"},
	{{"nix-shell", RISK_HIGH, true,
	  "by nix or guix when the environment is entered"},
	 AS_ADDED,
	 "shell.nix|default.nix|flake.nix|flake.lock|devenv.nix|"
	 "devbox.json|guix.scm|.devbox/|manifest.scm"},
	{{"program-settings", RISK_HIGH, true,
	  "by the programs whose settings they are"},
	 AS_ADDED,
	 ".mailcap|.lessfilter|.lesskey|.curlrc|.wgetrc|.config/mpv/|"
	 ".config/ranger/|.config/lf/|.config/yazi/|.config/vifm/|"
	 ".config/mc/|.muttrc|.config/mutt/|.config/newsboat/|.mutt/|"
	 ".msmtprc|.fetchmailrc|.netrc|.dircolors|.config/lesskey|"
	 ".toprc|.config/htop/|.config/curlrc|.aria2/|.config/yt-dlp/|"
	 ".ripgreprc|.rgignore|.config/bat/|.config/fd/|.ackrc|"
	 ".agignore|.config/gh/|.config/glab-cli/|.config/hub|"
	 ".config/lazygit/|.tigrc|.config/nano/|.config/micro/|"
	 ".parallel/|.config/parallel/|*.psqlrc|.my.cnf|.mongorc.js|"
	 ".mongoshrc.js|.redisclirc|.gemrc"},
	{{"cloud-settings", RISK_HIGH, true,
	  "by the clients of clouds and registries"},
	 AS_ADDED,
	 ".docker/config.json|.config/containers/|.kube/|.aws/config|"
	 ".aws/credentials|.azure/|.config/gcloud/|.terraform.d/|"
	 ".vault-token|.ansible.cfg|.helm/|.config/helm/|.config/op/|"
	 ".pypirc|auth.json"},
	{{"home-build", RISK_HIGH, true, "at every build with that tool"},
	 AS_ADDED,
	 ".gradle/init.gradle|.gradle/init.gradle.kts|.gradle/init.d/|"
	 ".m2/settings.xml|.m2/extensions.xml|.sbt/|.lein/"},
	{{"make-run", RISK_HIGH, true, "at make"},
	 AS_MAKE,
	 "Makefile|makefile|GNUmakefile|*.mk|Makefile.*|BSDmakefile"},
	{{"build-run", RISK_HIGH, true, "when it is configured or built"},
	 AS_CMAKE,
	 "CMakeLists.txt|*.cmake|CMakePresets.json|"
	 "CMakeUserPresets.json|CTestTestfile.cmake"},
	{{"build-run", RISK_HIGH, true, "when it is configured or built"},
	 AS_MESON,
	 "meson.build|meson.options|meson_options.txt|*.wrap"},
	{{"build-run", RISK_HIGH, true, "when it is configured or built"},
	 AS_SHELL,
	 "configure|configure.ac|configure.in|aclocal.m4|m4/|"
	 "config.guess|config.sub|ltmain.sh|libtool"},
	{{"build-run", RISK_HIGH, true, "when it is configured or built"},
	 AS_CODE,
	 "magefile.go|Rakefile|*.rake|build.zig|magefiles/|build.py"},
	{{"build-run", RISK_HIGH, true, "when it is configured or built"},
	 AS_PYTHON,
	 "tox.ini"},
	{{"build-run", RISK_HIGH, true, "when it is configured or built"},
	 AS_MAKE,
	 "*.make|*.am"},
	{{"build-run", RISK_HIGH, true, "when it is configured or built"},
	 AS_ADDED,
	 "autogen.sh|bootstrap.sh|SConstruct|SConscript|wscript|"
	 "build.ninja|BUILD|BUILD.bazel|WORKSPACE|MODULE.bazel|*.bzl|"
	 ".bazelrc|tools/bazel|Tupfile|xmake.lua|premake5.lua|justfile|"
	 "Justfile|.justfile|Taskfile.yml|Taskfile.yaml|Earthfile|"
	 "dodo.py|tasks.py|fabfile.py|noxfile.py|Snakefile|build.sh|"
	 "install.sh|setup.sh|conanfile.*|vcpkg.json|bootstrap|waf|"
	 "Jamfile|Jamroot|project-config.jam|*.ninja|WORKSPACE*|"
	 ".bazelversion|BUCK|.buckconfig|*.pro|*.pri|*.qbs|Kconfig|"
	 "Kbuild|gn/|*.gn|*.gni|taskfile.yml|taskfile.yaml|"
	 "build.zig.zon|vcpkg-configuration.json|vcpkg_installed/|"
	 "cpanfile|dune|dune-project|*.opam|Cakefile|nob.c|build.yaml"},
	{{"npm-run", RISK_HIGH, true, "at npm, yarn, pnpm or bun install"},
	 AS_NAME,
	 ".yarn/releases/|.yarn/plugins/|.pnp.cjs|.pnp.loader.mjs|"
	 ".pnpmfile.cjs|.yarn/sdks/"},
	{{"npm-run", RISK_HIGH, true, "at npm, yarn, pnpm or bun install"},
	 AS_NPM,
	 "package.json|.npmrc|.pnpmrc|.yarnrc|.yarnrc.yml|"
	 "pnpm-workspace.yaml|bunfig.toml|deno.json|deno.jsonc|"
	 "lerna.json|nx.json|turbo.json|project.json|rush.json|.yarnrc*|"
	 ".config/pnpm/|packages.config"},
	{{"tool-config", RISK_HIGH, true,
	  "when it is linted, bundled or tested"},
	 AS_CODE,
	 "*.config.js|*.config.cjs|*.config.mjs|*.config.ts|"
	 "*.config.mts|.*rc.js|.*rc.cjs|.*rc.mjs|.*rc.ts|*.conf.js|"
	 "eslint.config.*|prettier.config.*|stylelint.config.*|"
	 "babel.config.*|webpack.config.*|vite.config.*|vitest.config.*|"
	 "rollup.config.*|next.config.*|nuxt.config.*|svelte.config.*|"
	 "astro.config.*|metro.config.js|tailwind.config.*|"
	 "postcss.config.*|jest.config.*|jest.setup.*|karma.conf.*|"
	 "cypress.config.*|playwright.config.*|gulpfile.*|Gruntfile.*|"
	 ".storybook/|conftest.py|spec_helper.rb|webpack.*.js|"
	 "vitest.workspace.*|esbuild.*|tsup.config.*|remix.config.*|"
	 "gatsby-*.js|ember-cli-build.js|cypress/|ava.config.*|"
	 "forge.config.*|release.config.*|knexfile.*|drizzle.config.*|"
	 "codegen.*|docusaurus.config.*|capacitor.config.*|app.config.*|"
	 "metro*.js|sst.config.*|ecosystem.config.*|.pythonrc*|"
	 "rector.php|.phpstorm.meta.php|ecs.php"},
	{{"tool-config", RISK_HIGH, true,
	  "when it is linted, bundled or tested"},
	 AS_TOOL,
	 ".eslintrc*|.prettierrc.*|.babelrc*|.mocharc*|renovate.json*|"
	 ".releaserc*|pytest.ini|.pylintrc|pylintrc|.flake8|mypy.ini|"
	 ".rspec|.rubocop.yml|phpunit.xml*|.php-cs-fixer*|phpstan.neon*|"
	 ".prettierrc*|.stylelintrc*|angular.json|.postcssrc*|.nycrc*|"
	 ".swcrc|tsconfig*.json|jsconfig.json|electron-builder.*|"
	 ".ncurc*|prisma/schema.prisma|.graphqlrc*|wrangler.toml|"
	 "serverless.yml|serverless.yaml|.sequelizerc|nodemon.json|"
	 "pm2*.json|.coveragerc|.mypy.ini|ruff.toml|.ruff.toml|"
	 ".isort.cfg|.bandit|.style.yapf|psalm.xml|.solargraph.yml|"
	 ".swiftlint.yml|.scalafix.conf|.scalafmt.conf|.perltidyrc|"
	 ".perlcriticrc|.proverc|.luacheckrc|.luarc|.busted|"
	 "analysis_options.yaml|omnisharp.json|*.ruleset|.tflint.hcl"},
	{{"pip-build", RISK_HIGH, true,
	  "when it is installed or built by pip, uv or poetry"},
	 AS_CODE,
	 "setup.py|hatch_build.py|_build_backend/"},
	{{"pip-build", RISK_HIGH, true,
	  "when it is installed or built by pip, uv or poetry"},
	 AS_PYTHON,
	 "setup.cfg|pyproject.toml|pip.conf|uv.toml|Pipfile|poetry.toml|"
	 "MANIFEST.in|environment.yml|environment.yaml|conda*.yml|"
	 "conda*.yaml|pixi.toml|.config/uv/|.config/pip/|.pdm*"},
	{{"python-tool", RISK_HIGH, true, "by Python tools that use this name"},
	 AS_ADDED,
	 "dvc.yaml|.dvc/config|fabric.yml|fabric.yaml"},
	{{"python-tool", RISK_HIGH, true, "by Python tools that use this name"},
	 AS_TOOL,
	 "mkdocs.yml|scrapy.cfg"},
	{{"python-tool", RISK_HIGH, true, "by Python tools that use this name"},
	 AS_CODE,
	 "*.ipynb|manage.py|settings.py|wsgi.py|asgi.py|celeryconfig.py|"
	 "gunicorn.conf.py|alembic/env.py|conf.py|locustfile.py"},
	{{"cargo-build", RISK_HIGH, true,
	  "at cargo build, and by rust-analyzer"},
	 AS_CODE,
	 "build.rs"},
	{{"cargo-build", RISK_HIGH, true,
	  "at cargo build, and by rust-analyzer"},
	 AS_ADDED,
	 ".cargo/|.rustup/"},
	{{"cargo-build", RISK_HIGH, true,
	  "at cargo build, and by rust-analyzer"},
	 AS_CARGO,
	 "Cargo.toml|rustfmt.toml|clippy.toml"},
	{{"go-build", RISK_HIGH, true, "at go generate or build"},
	 AS_GO,
	 "go.mod|go.work|go.env|.golangci.yml|.golangci.yaml|.air.toml|"
	 ".goreleaser.yml|.goreleaser.yaml|.mockery.yaml|tools.go|"
	 ".config/go/env"},
	{{"jvm-build", RISK_HIGH, true,
	  "by maven, gradle, sbt or an IDE's import"},
	 AS_ADDED,
	 "pom.xml|.mvn/|mvnw|mvnw.cmd|build.gradle*|settings.gradle*|"
	 "init.gradle*|gradle.properties|gradle/wrapper/|gradlew|"
	 "gradlew.bat|buildSrc/|build.xml|build.sbt|project/plugins.sbt|"
	 "build.sc|deps.edn|project.clj|mvnw*|settings.xml|gradlew*|"
	 "gradle/libs.versions.toml|build-logic/|ivy.xml|*.sbt|"
	 "project/*.scala|project/build.properties|.sbtopts|.jvmopts|"
	 "*.mill|bb.edn|shadow-cljs.edn|profiles.clj|META-INF/services/|"
	 "*.jar|lombok.config"},
	{{"dotnet-build", RISK_HIGH, true, "at dotnet restore or build"},
	 AS_ADDED,
	 "*.csproj|*.vbproj|*.fsproj|*.vcxproj|Directory.Build.*|"
	 "*.targets|nuget.config|NuGet.Config|.config/dotnet-tools.json|"
	 "*.props|*.sln|*.slnx|Directory.Packages.props|*.cake|"
	 "build.fsx|paket.*|*.ps1|*.psm1|*.nuspec"},
	{{"package-tool", RISK_HIGH, true,
	  "by bundler, composer, mix, cabal and the like"},
	 AS_ADDED,
	 "Gemfile|*.gemspec|.bundle/config|config.ru|Guardfile|"
	 "Vagrantfile|Podfile|Fastfile|Dangerfile|composer.json|artisan|"
	 ".user.ini|.htaccess|Package.swift|mix.exs|rebar.config*|"
	 "Setup.hs|stack.yaml|cabal.project*|Makefile.PL|Build.PL|"
	 "latexmkrc|.latexmkrc|lakefile.*|gems.rb|Capfile|Berksfile|"
	 "Brewfile|fastlane/|Appraisals|test/test_helper.rb|lib/tasks/|"
	 "php.ini|*.phar|castor.php|deployer.php|captainhook.json|"
	 "grumphp.yml|grumphp.yaml|*.xcodeproj/|*.xcworkspace/|"
	 "*.xcscheme|Cartfile|project.yml|Tuist/|*.playground|"
	 "*.playground/|pubspec.yaml|config/*.exs|*.app.src|erlang.mk|"
	 "*.cabal|Setup.lhs|package.yaml|hie.yaml|info.rkt|*.asd|"
	 "Project.toml|Manifest.toml|renv.lock|DESCRIPTION|"
	 "configure.win|_targets.R|*.nimble|config.nims|nim.cfg|"
	 "dub.json|dub.sdl|shard.yml|v.mod|dist.ini|rockspec|*.rockspec|"
	 "lean-toolchain|_CoqProject|elm.json|gleam.toml|spago.*|"
	 "bsconfig.json|rescript.json|haxelib.json|*.hxml|Alire.toml|"
	 "fpm.toml"},
	{{"deploy-run", RISK_HIGH, true, "when it is started or deployed"},
	 AS_DOCKER,
	 "Dockerfile*|Containerfile"},
	{{"deploy-run", RISK_HIGH, true, "when it is started or deployed"},
	 AS_ADDED,
	 "docker-compose*.yml|docker-compose*.yaml|compose.yml|"
	 "compose.yaml|*.tf|*.tf.json|.terraformrc|terragrunt.hcl|"
	 "ansible.cfg|playbook*.yml|skaffold.yaml|Tiltfile|"
	 "helmfile.yaml|*.service|*.timer|*.socket|crontab|Procfile|"
	 "*.desktop|compose*.yml|compose*.yaml|docker-bake.hcl|*.tfvars|"
	 "Pulumi.*|cdk.json|template.yml|template.yaml|*.bicep|"
	 "playbook*.yaml|group_vars/|.vault_pass*|Chart.yaml|"
	 "kustomization.yml|kustomization.yaml|helmfile.yml|*.hcl|"
	 "*.nomad|cloud-init*|user-data|*.path|Procfile*|"
	 "supervisord.conf|.ebextensions/|.platform/|fly.toml|"
	 "vercel.json|netlify.toml|render.yaml|app.yaml|heroku.yml|"
	 "railway.*|.do/"},
	{{"ci-run", RISK_HIGH, true,
	  "with the secrets of your CI at the next push"},
	 AS_CI,
	 ".github/workflows/|.github/actions/|action.yml|action.yaml|"
	 ".gitlab-ci.yml|.gitlab/|.circleci/|.travis.yml|"
	 "azure-pipelines*.yml|Jenkinsfile*|bitbucket-pipelines.yml|"
	 ".drone.yml|.woodpecker*|.buildkite/|appveyor.yml|.cirrus.*|"
	 ".tekton/|cloudbuild.yaml|buildspec.yml|.forgejo/|.gitea/|"
	 ".jenkins/|.semaphore/|cloudbuild.yml|codemagic.yaml|"
	 ".teamcity/|.act*|wercker.yml|azure-pipelines*.yaml"},
	{{"path-shadow", RISK_HIGH, true,
	  "before programs of the same name, where PATH says so"},
	 AS_NAME,
	 ".bin/|.venv/bin/|venv/bin/|vendor/bin/|*.so|*.so.*|*.pyd|"
	 "*.dll|*.dylib"},
	{{"opened-file", RISK_HIGH, true, "when it is opened"},
	 AS_NAME,
	 "*.AppImage|*.directory|*.xlsm|*.docm|*.hta|*.chm|*.lnk|*.scf|"
	 "*.url|*.webloc|*.mht"},
	{{"pickle-load", RISK_HIGH, true,
	  "when it is loaded (pickled objects)"},
	 AS_NAME,
	 "*.pkl|*.pickle|*.joblib|*.dill|*.pt|*.ckpt|*.h5|*.keras|"
	 "*.marshal"},
	{{"lock-file", RISK_NOTE, false,
	  "determines downloads of the next install"},
	 AS_LOCK,
	 "package-lock.json|npm-shrinkwrap.json|yarn.lock|"
	 "pnpm-lock.yaml|bun.lock|bun.lockb|deno.lock|requirements*.txt|"
	 "constraints*.txt|poetry.lock|Pipfile.lock|uv.lock|Cargo.lock|"
	 "go.sum|Gemfile.lock|composer.lock|mix.lock|pdm.lock"},
	{{"script-file", RISK_NOTE, false, "is a script, or becomes one"},
	 AS_NAME,
	 "*.sh|*.in|bin/|*.sql|*.tex|*.bib|*.dvi|*.eps|*.ps|*.xps|"
	 "*.conf|*.j2|roles/|inventory*|values*.yml|values*.yaml|"
	 "app.json|t/*.t|vendor/"},
	{{"test-file", RISK_NOTE, false, "runs with the tests"},
	 AS_NAME,
	 "*_test.py|test_*.py|doctest*.txt"},
	{{"stdlib-name", RISK_NOTE, false,
	  "has the name of a module of Python's standard library"},
	 AS_NAME,
	 "json.py|os.py|typing.py|re.py|types.py|logging.py|random.py|"
	 "string.py|token.py|copy.py|code.py|email/|http/|xml/"},
	{{"editor-settings", RISK_NOTE, false,
	  "configures how editors and compilers read the files here"},
	 AS_NAME,
	 ".editorconfig|compile_commands.json|.mailmap|.gitmessage"},
	{{"unchecked-data", RISK_NOTE, false,
	  "has data that programs load without a check"},
	 AS_NAME,
	 "*.npy|*.bin"},
	{{"git-hidden", RISK_NOTE, false, "hides files from git"},
	 AS_NAME,
	 ".gitignore|.git/info/exclude|.npmignore|.dockerignore|"
	 ".eslintignore"},
	{{"git-history", RISK_NOTE, false,
	  "changes the history that git shows"},
	 AS_NAME,
	 ".git/info/grafts|.git/shallow|.git/refs/replace/"},
	{{"required-checks", RISK_NOTE, false,
	  "configures required reviews or checks"},
	 AS_NAME,
	 "CODEOWNERS|.github/dependabot.yml|.mergify.yml|.trivyignore|"
	 ".semgrepignore|.snyk|SECURITY.md|bors.toml|.sonarcloud*|"
	 "sonar-project.properties|.checkov.yml|.checkov.yaml|"
	 "trivy.yaml|.gitleaks.toml|.semgrep*|.megalinter*|"
	 ".mega-linter.yml|.mega-linter.yaml|*.crt"},
};

/* Longest pattern with a wildcard. */
#define PATTERN_MAX 256

#define ROWS (sizeof(table) / sizeof(*table))

/* The patterns by a byte of the paths that they match: most paths have another
 * one. */
struct rule_pattern {
	const char *text; /* len bytes of the table */
	unsigned char len, row;
	struct rule_pattern *next; /* in the order of the table */
};

struct pattern_index {
	struct rule_pattern *by_byte[UCHAR_MAX + 1];
};

/* A pattern with a slash matches from every part of a path on, others match the
 * name. The byte is the first one of the part, or '*'; last: the last byte of
 * the name, for names that may begin with any. */
static struct pattern_index parts, names, last;
static pthread_once_t indexed = PTHREAD_ONCE_INIT;

/* The list is in the order of the table. */
static void index_pattern(struct pattern_index *index, char byte,
			  struct rule_pattern *p)
{
	struct rule_pattern **end = &index->by_byte[(unsigned char)byte];

	while (*end)
		end = &(*end)->next;
	*end = p;
}

static void index_rule_patterns(void)
{
	size_t i;

	for (i = 0; i < ROWS; i++) {
		const char *at = table[i].patterns;

		while (*at) {
			struct rule_pattern *p =
				mem_resize(NULL, 1, sizeof(*p));
			size_t len = strcspn(at, "|");

			*p = (struct rule_pattern){
				.text = at,
				.len = (unsigned char)len,
				.row = (unsigned char)i,
			};
			if (memchr(at, '/', len))
				index_pattern(&parts, *at, p);
			else if (*at == '*' && !strchr("*?]", at[len - 1]))
				index_pattern(&last, at[len - 1], p);
			else
				index_pattern(&names, *at, p);
			at += len + (at[len] == '|');
		}
	}
}

static bool glob_matches(const char *rule_pattern, size_t len, const char *path)
{
	const char *star = memchr(rule_pattern, '*', len);
	char glob[PATTERN_MAX];
	size_t have = strlen(path);

	if (!star)
		return have == len && memcmp(rule_pattern, path, len) == 0;
	/* "*.so" matches a name, which has no slash. */
	if (star == rule_pattern && !memchr(rule_pattern + 1, '*', len - 1) &&
	    !memchr(rule_pattern, '/', len))
		return have >= len - 1 &&
		       memcmp(path + have - (len - 1), rule_pattern + 1,
			      len - 1) == 0 &&
		       !strchr(path, '/');
	if (len >= sizeof(glob))
		return false;
	memcpy(glob, rule_pattern, len);
	glob[len] = '\0';
	return fnmatch(glob, path, FNM_PATHNAME) == 0;
}

/* path: begins at one of its parts. */
static bool match_pattern_at(const char *rule_pattern, size_t len,
			     const char *path)
{
	char head[PATTERN_MAX];
	size_t at = 0, i;

	if (rule_pattern[len - 1] != '/')
		return glob_matches(rule_pattern, len, path);
	/* The path has to go on behind as many parts as the pattern has. */
	for (i = 0; i < len; i++) {
		if (rule_pattern[i] != '/')
			continue;
		at += strcspn(path + at, "/");
		if (!path[at])
			return false;
		at += i + 1 < len;
	}
	if (!at || at >= sizeof(head))
		return false;
	memcpy(head, path, at);
	head[at] = '\0';
	return glob_matches(rule_pattern, len - 1, head);
}

/* The first row, up to `best`, with a pattern below the byte that matches the
 * path from here on. */
static size_t find_best_rule_at(const struct pattern_index *index, char byte,
				const char *at, size_t best)
{
	const struct rule_pattern *p = index->by_byte[(unsigned char)byte];

	for (; p && p->row < best; p = p->next)
		if (match_pattern_at(p->text, p->len, at))
			return p->row;
	return best;
}

bool risk_pattern_matches(const char *pattern, const char *path)
{
	size_t len = strlen(pattern);
	bool deep = strchr(pattern, '/') != NULL;
	const char *at = path;

	for (;;) {
		if (len && (deep || !strchr(at, '/')) &&
		    match_pattern_at(pattern, len, at))
			return true;
		at += strcspn(at, "/");
		if (!*at)
			return false;
		at++;
	}
}

const struct risk_rule *risk_name_rule(const char *path, enum risk_as *ret_as)
{
	const char *name = path_name(path), *at = path;
	size_t best = ROWS;

	(void)pthread_once(&indexed, index_rule_patterns);
	best = find_best_rule_at(&names, *name, name, best);
	best = find_best_rule_at(&names, '*', name, best);
	if (*name)
		best = find_best_rule_at(&last, name[strlen(name) - 1], name,
					 best);
	for (;;) {
		best = find_best_rule_at(&parts, *at, at, best);
		best = find_best_rule_at(&parts, '*', at, best);
		at += strcspn(at, "/");
		if (!*at)
			break;
		at++;
	}
	if (best == ROWS)
		return NULL;
	*ret_as = table[best].as;
	return &table[best].rule;
}

/* Whether the path is that of a directory on the way to the pattern's files.
 * Only hidden ones count there: a link named "go" is no $HOME/go/bin. */
static bool leads_to_pattern(const char *pattern, size_t len, const char *path)
{
	size_t i;

	for (i = 1; i < len; i++)
		if (pattern[i] == '/' && (*pattern == '.' || i + 1 == len) &&
		    glob_matches(pattern, i, path))
			return true;
	return false;
}

const struct risk_rule *risk_link_rule(const char *path)
{
	size_t i;

	for (i = 0; i < ROWS; i++) {
		const char *at = table[i].patterns;
		size_t len;

		for (; *at; at += len + (at[len] == '|')) {
			const char *part = path;

			len = strcspn(at, "|");
			while (part && !leads_to_pattern(at, len, part)) {
				part = strchr(part, '/');
				part += part != NULL;
			}
			if (part)
				return &table[i].rule;
		}
	}
	return NULL;
}

static bool call_with(bool (*each)(void *arg, const char *path, bool directory),
		      void *arg, const char *path, size_t len, bool directory)
{
	auto_free char *copy = mem_strndup(path, len);

	return each(arg, copy, directory);
}

void risk_each_critical_name(bool (*each)(void *arg, const char *path,
					  bool directory),
			     void *arg)
{
	size_t i, len, k;

	for (i = 0; i < ROWS; i++) {
		const char *at = table[i].patterns;

		if (table[i].rule.level != RISK_CRITICAL)
			continue;
		for (; *at; at += len + (at[len] == '|')) {
			len = strcspn(at, "|");
			for (k = 1; k <= len && at[k - 1] != '*'; k++)
				if ((k < len ? at[k] == '/'
					     : at[k - 1] != '/') &&
				    !call_with(each, arg, at, k, k + 1 == len))
					break;
		}
	}
}

char *risk_above(const char *root)
{
	const char *above = path_name(root);
	const struct risk_rule *leads, *in;
	auto_free char *inner = NULL;
	enum risk_as as;

	/* /etc: patterns begin with it. */
	if (above <= root + 1)
		return mem_strdup(above);
	for (above--; above[-1] != '/'; above--)
		continue;
	inner = path_join(above, "*");
	leads = risk_link_rule(above);
	in = risk_name_rule(inner, &as);
	if ((leads && leads->level == RISK_CRITICAL) ||
	    (in && in->level == RISK_CRITICAL))
		return mem_strdup(above);
	return NULL;
}

const char *risk_by_name(const char *path, enum risk_level *ret_level)
{
	enum risk_as as;
	const struct risk_rule *rule = risk_name_rule(path, &as);

	if (!rule)
		return NULL;
	*ret_level = rule->level;
	return rule->text;
}

enum risk_level risk_name_level(const char *id)
{
	enum risk_level level = RISK_NONE;
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (strcmp(table[i].rule.id, id) == 0 &&
		    table[i].rule.level > level)
			level = table[i].rule.level;
	return level;
}
