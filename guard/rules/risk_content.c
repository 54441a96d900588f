/*
 * Lines that a change adds to a file that is executed later, or to settings.
 * Each row of the table matches lines by their place and their text; only
 * added lines count, and for a few rows removed ones. A file whose change has
 * no such line is a note.
 */
#include <fnmatch.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/path.h"
#include "base/sorted.h"
#include "guard/rules/risk_private.h"

/* Calls that start a program, open a connection, or run text as code. */
#define CALLS                                                                  \
	"(^|[^a-zA-Z0-9_])(subprocess|popen|Popen|system|exec[lv]?[pe]*|"      \
	"execSync|execFile|execFileSync|execa|spawn|spawnSync|eval|"           \
	"child_process|Function|fetch|urlopen|urllib|requests|httpx|aiohttp|"  \
	"socket|XMLHttpRequest|axios|b64decode|base64|atob|fromCharCode|"      \
	"unhexlify|marshal|pickle|ctypes|__import__|importlib|import_module|"  \
	"__builtins__|mainModule|runpy|shell_exec|proc_open|passthru|"         \
	"ProcessBuilder|getRuntime|instance_eval|class_eval|dlopen)"           \
	"([^a-zA-Z0-9_]|$)|std::process|Command::new|TcpStream|reqwest|ureq|"  \
	"Net::HTTP|open-uri|globals\\(\\)|IO\\.popen|\\\\x[0-9a-fA-F]{2}"      \
	"\\\\x|"                                                               \
	"(node:)?(http2?|https|net|dgram|vm|worker_threads)['\"]"

/* Programs that load files, or run what they load. */
#define LOADS                                                                  \
	"(^|[^a-zA-Z0-9_-])(curl|wget|nc|ncat|socat|ssh|scp|eval|base64|"      \
	"python[0-9.]*|perl|ruby|node|npx|bunx|uvx|bash|sh|zsh)([ \t]|$)"

enum { ON_ADDED, ON_REMOVED, ON_BOTH };

static const struct content_rule {
	enum risk_as as;
	struct risk_rule rule;
	const char *path; /* extended regular expression; NULL: any place */
	const char *text; /* the same; NULL: any text */
	int on;
	bool any_case;
	bool other; /* texts that `text` does not match */
} table[] = {
	/* --- CI --- */
	{AS_CI,
	 {"ci-command", RISK_HIGH, true,
	  "with the secrets of your CI at the next push"},
	 "(^|\\.)(run|script)(\\.|$)|(^|\\.)(scripts|before_script|after_"
	 "script|"
	 "command|commands|cmd|install|before_install|deploy|before_deploy|"
	 "after_success|entrypoint|shell|args)$|^runs\\.(main|pre|post|"
	 "entrypoint|image|args)",
	 NULL},
	{AS_CI,
	 {"ci-command", RISK_HIGH, true,
	  "with the secrets of your CI at the next push"},
	 NULL,
	 "^\\? |[{,] *[\"']?(run|script|uses|entrypoint)[\"']? *:|^(- "
	 "+)*[\"'][^:]*"
	 "\\\\"},
	{AS_CI,
	 {"ci-permission", RISK_HIGH, false,
	  "gives jobs of your CI more permissions"},
	 "(^|\\.)(permissions|id_tokens)(\\.|$)",
	 "write|[&*]|id_tokens"},
	{AS_CI,
	 {"ci-permission", RISK_HIGH, false,
	  "gives jobs of your CI more permissions"},
	 "(^|\\.)permissions(\\.|$)",
	 "^permissions *:",
	 ON_REMOVED},
	{AS_CI,
	 {"ci-secret", RISK_HIGH, false, "passes a secret of your CI on"},
	 NULL,
	 "secrets[.[]|secrets: *inherit|toJSON\\(secrets|GITHUB_TOKEN|"
	 "github\\.token|CI_JOB_TOKEN|id-token"},
	{AS_CI,
	 {"ci-trigger", RISK_HIGH, false,
	  "lets others start jobs that have secrets of your CI"},
	 "^(on|true)(\\.|$)",
	 "(^|[^a-z_])(pull_request_target|workflow_run|issue_comment|"
	 "repository_dispatch|discussion_comment|issues)([^a-z_.]|$)"},
	{AS_CI,
	 {"ci-container", RISK_HIGH, true, "as a container in your CI"},
	 "(^|\\.)(container|services|image)(\\.|$)",
	 "^-? *(image|container|- name) *:|docker://"},
	{AS_CI,
	 {"ci-runner", RISK_HIGH, false,
	  "moves jobs of your CI to another machine"},
	 NULL,
	 "runs-on:.*self-hosted"},
	/* --- packages --- */
	{AS_NPM,
	 {"npm-script", RISK_HIGH, true,
	  "at npm, yarn, pnpm or bun install "
	  "or run"},
	 "^(scripts|husky|simple-git-hooks|gitHooks|lint-staged|wireit|tasks|"
	 "nx|targets|pre-commit)\\.|\\.(scripts|hooks)\\.",
	 NULL},
	{AS_NPM,
	 {"npm-source", RISK_HIGH, false,
	  "takes a package from elsewhere than a registry"},
	 "(ependencies|resolutions|overrides|imports|patchedDependencies)\\.",
	 "^(git|https?|ssh|file|link|portal):|^git\\+|^(\\.|/|~/)|"
	 "^[a-zA-Z0-9_-]+:[^*]*//|^[A-Za-z0-9_-]+/[^@]"},
	{AS_NPM,
	 {"npm-allowed", RISK_HIGH, false,
	  "lets packages run their scripts, or loads plugins"},
	 "onlyBuiltDependencies|allow-plugins|trustedDependencies|"
	 "dangerouslyAllowAllBuilds|neverBuiltDependencies|^repositories",
	 NULL,
	 ON_BOTH},
	{AS_NPM,
	 {"npm-setting", RISK_HIGH, true,
	  "or changes where npm, yarn, pnpm or bun get packages"},
	 NULL,
	 "registry|script-shell|node-options|yarnPath|yarn-path|"
	 "^[- ]*\"?plugins|onload-script|ignore-scripts|globalconfig|"
	 "userconfig|(^|[^a-z])git *=|shell *=|preload|proxy|cafile|strict-ssl|"
	 "enable-pre-post|unsafe-perm|pnpmfile|checksumBehavior|"
	 "enableScripts|httpProxy"},
	{AS_LOCK,
	 {"lock-source", RISK_HIGH, false,
	  "takes a package from elsewhere than a registry"},
	 NULL,
	 "git\\+(ssh|https?|file)|resolved.*(git|ssh|file|http):|source = "
	 "\"git|^ *(remote|git|url)[:=].*(git@|ssh:|file:|http:)"},
	{AS_CARGO,
	 {"cargo-script", RISK_HIGH, true, "at cargo build"},
	 "^package\\.build$|build-dependencies|^lib\\.proc-macro|"
	 "^target\\..*\\.(runner|linker|rustflags)",
	 NULL},
	{AS_CARGO,
	 {"cargo-source", RISK_HIGH, false,
	  "takes a package from elsewhere than the registry"},
	 "^(patch|replace|source|registries)(\\.|$)",
	 NULL},
	{AS_CARGO,
	 {"cargo-source", RISK_HIGH, false,
	  "takes a package from elsewhere than the registry"},
	 NULL,
	 "(^|[^a-z-])(git|registry|registry-index) *= *\"|path *= *\"(/|.*"
	 "\\.\\./\\.\\.)"},
	{AS_GO,
	 {"go-source", RISK_HIGH, false,
	  "replaces a module, or runs another Go"},
	 NULL,
	 "^replace|=>|^toolchain|^tool |toolexec|^use "},
	{AS_GO,
	 {"go-source", RISK_HIGH, true, "at go generate or build"},
	 NULL,
	 "go:generate|#cgo|^ *(cmd|command|hooks?|args|bin|full_bin|-)[: ]"},
	{AS_PYTHON,
	 {"pip-build-system", RISK_HIGH, true,
	  "at pip, uv or poetry install or build"},
	 "^build-system(\\.|$)|build\\.hooks|cmdclass|setup_requires|"
	 "entry_points.*(distutils|setuptools)",
	 NULL},
	{AS_PYTHON,
	 {"pip-source", RISK_HIGH, false,
	  "takes a package from elsewhere than the index"},
	 "(^|\\.)(uv\\.sources|sources?|index|index-url|extra-index-url|"
	 "find-links|trusted-host|dependency_links|channels|package-sources)"
	 "(\\.|$)",
	 NULL},
	{AS_PYTHON,
	 {"pip-source", RISK_HIGH, false,
	  "takes a package from elsewhere than the index"},
	 NULL,
	 "(git|hg|svn|bzr)\\+|@ *(https?|file|ftp|ssh):|--(extra-)?index-url|"
	 "^-i |find-links|trusted-host|(git|url|path) *= *[\"']"},
	{AS_PYTHON,
	 {"pip-command", RISK_HIGH, true, "by tox, hatch, poe, make or pytest"},
	 "(^|\\.)(commands|commands_pre|commands_post|allowlist_externals|cmd|"
	 "shell|tasks|pre_commands|before-all|before-build|before-test|"
	 "test-command|install_command|setenv|set_env|requires|plugins|"
	 "addopts|required_plugins|cmdclass)(\\.|$)|"
	 "hatch\\.envs\\..*scripts",
	 NULL},
	{AS_PRECOMMIT,
	 {"pre-commit-hook", RISK_HIGH, true,
	  "by its hook manager at commit or push"},
	 NULL,
	 "^(- *)?(repo|entry|language|additional_dependencies|args|files|"
	 "default_install_hook_types|stages) *:"},
	{AS_PRECOMMIT,
	 {"pre-commit-hook", RISK_HIGH, true,
	  "by its hook manager at commit or push"},
	 "(^|\\.)(entry|additional_dependencies|args)(\\.|$)",
	 NULL},
	/* --- builds --- */
	{AS_MAKE,
	 {"make-recipe", RISK_HIGH, true, "at make"},
	 "^recipe$",
	 NULL},
	{AS_MAKE,
	 {"make-call", RISK_HIGH, true, "at each make, even make -n"},
	 NULL,
	 "\\$[({](shell|eval|file|guile|call)|!=|^[ +-]*s?include |^-include |"
	 "^load |^define |^\\.RECIPEPREFIX|^\\.SHELLFLAGS|^(override |export )*"
	 "(SHELL|MAKEFLAGS|MAKE|PATH|LD_PRELOAD)[ \t]*[:+?]?=|`"},
	{AS_SHELL,
	 {"configure-call", RISK_HIGH, true, "when it is configured"},
	 NULL,
	 "`|\\$\\(|esyscmd|m4_syscmd|m4_include|AC_CONFIG_COMMANDS|"
	 "AC_RUN_IFELSE|AC_TRY_RUN|AC_LINK_IFELSE|/dev/(tcp|udp)|" LOADS},
	{AS_MESON,
	 {"meson-call", RISK_HIGH, true, "when it is configured or built"},
	 NULL,
	 "run_command|custom_target|generator *\\(|add_install_script|"
	 "add_postconf_script|add_dist_script|run_target|subproject *\\(|"
	 "command *[:=]|compiler\\.run|cc\\.run|url *= |patch_directory|"
	 "method *= "},
	{AS_CMAKE,
	 {"cmake-call", RISK_HIGH, true, "when it is configured or built"},
	 NULL,
	 "execute_process|add_custom_command|add_custom_target|"
	 "ExternalProject|FetchContent|DOWNLOAD|try_run|exec_program|COMMAND|"
	 "cmake_language|LAUNCHER|install *\\( *(CODE|SCRIPT)|^include *\\(|"
	 "\"(cacheVariables|environment|toolchainFile)",
	 .any_case = true},
	{AS_CODE,
	 {"config-call", RISK_HIGH, true,
	  "when it is linted, tested, built or started"},
	 NULL,
	 CALLS},
	{AS_DOCKER,
	 {"docker-command", RISK_HIGH, true,
	  "when the image is built or "
	  "started"},
	 NULL,
	 "^(RUN|FROM|ADD|ENTRYPOINT|CMD|ONBUILD|SHELL|HEALTHCHECK|ENV|USER|# "
	 "*syntax) |^COPY +--from|\\\\$|&&|^ *(&&|\\|\\|)|" LOADS,
	 .any_case = true},
	/* --- settings --- */
	{AS_TOOL,
	 {"tool-plugin", RISK_HIGH, true,
	  "when it is linted, bundled or "
	  "tested"},
	 "(^|\\.)(plugins?|extends|presets?|parser|transform(er)?s?|require|"
	 "imports?|setup[A-Za-z_]*|[a-z_A-Z-]*commands?|exec|execMap|run|"
	 "scripts?|loaders?|init-hook|load-plugins|addopts|processor|hooks?|"
	 "reporters?|globalSetup|runner|resolver|testEnvironment|nodePath|"
	 "build|post[A-Za-z]*|pre[A-Z][A-Za-z]*|rulesDirectory|source)(\\.|$)",
	 NULL},
	{AS_TOOL,
	 {"tool-plugin", RISK_HIGH, true,
	  "when it is linted, bundled or "
	  "tested"},
	 NULL,
	 "https?://|\\.\\./\\.\\./|" CALLS "|<(extension|bootstrap|script)"},
	{AS_SHAPE,
	 {"shape-command", RISK_HIGH, true,
	  "with the tool whose settings these are"},
	 "^(mcp_?servers|servers)\\..*(command|url|args)|^hooks\\..*"
	 "(command|^hooks\\.[A-Za-z]+$)|^permissions\\.(allow|additional|"
	 "default)|^tasks\\.(.*\\.)?(command|args)|^auto_?approve",
	 NULL,
	 .any_case = true},
	{AS_ENV,
	 {"env-variable", RISK_HIGH, true,
	  "with the tools that read it (PATH, LD_PRELOAD, ...)"},
	 NULL,
	 "^(export +)?([A-Z_]*PATH|LD_[A-Z_]+|DYLD_[A-Z_]+|NODE_OPTIONS|"
	 "PYTHON[A-Z]*|BASH_ENV|ENV|SHELL|IFS|PROMPT_COMMAND|EDITOR|VISUAL|"
	 "PAGER|BROWSER|GIT_[A-Z_]+|[A-Za-z_]*PROXY|[a-z_]*proxy|RUBYOPT|"
	 "PERL5[A-Z]*|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS|"
	 "MAVEN_OPTS|GRADLE_OPTS|GOFLAGS|CC|CXX|LD|CFLAGS|MAKEFLAGS|RUSTFLAGS|"
	 "RUSTC[A-Z_]*|CARGO_[A-Z_]+|NPM_CONFIG_[A-Z_]+|npm_config_[a-z_]+|"
	 "PIP_[A-Z_]+|UV_[A-Z_]+|[A-Z_]*_(BASE_URL|API_BASE|ENDPOINT)|"
	 "COMPOSE_[A-Z_]+|DOCKER_[A-Z_]+|SSH_[A-Z_]+|SSL_[A-Z_]+|[A-Z_]*CA_"
	 "[A-Z_]+) *=|`|\\$\\("},
	{AS_ATTRIBUTES,
	 {"git-filter", RISK_HIGH, true,
	  "when git checks out or compares files (filters, drivers)"},
	 NULL,
	 "(filter|diff|merge|ident|export-subst|working-tree-encoding)"},
	{AS_GIT,
	 {"git-command", RISK_CRITICAL, true,
	  "at every git command that reads it"},
	 "fsmonitor|sshcommand|hookspath|pager|editor|askpass|gitproxy|"
	 "worktree|command|textconv|external|driver|clean|smudge|process|"
	 "helper|program|alias|uploadpack|receivepack|vcs|proxy|insteadof|"
	 "include|templatedir|hook|cmd|difffilter|\\.update$|url|ssl|directory|"
	 "allow|attributesfile|browser|httpd|extensions|cookie|tool.*path$|"
	 "man\\..*path$",
	 NULL,
	 .any_case = true},
	{AS_SUBMODULE,
	 {"git-submodule", RISK_HIGH, true, "with the commands of submodules"},
	 "\\.(url|update|command)$",
	 NULL,
	 .any_case = true},
	{AS_EDITOR,
	 {"editor-command", RISK_CRITICAL, true,
	  "when the directory is opened in an editor"},
	 "(path|command|cmd|args|env|shell|profile|executable|interpreter|"
	 "server|exec|approve|allow|trust|task|program|runtime|hook|plugin|"
	 "launch|debug|init|extension|mcp|script|run|argv|proxy|url|"
	 "terminal|tools?|library|sdk|home|dir|flags?|options?|build)[a-z0-9-]"
	 "*(\\.|$)|^configuration"
	 "s|^inputs|^servers|(path|command|args|env|server|executable)",
	 NULL,
	 .any_case = true},
	{AS_EDITOR,
	 {"editor-command", RISK_CRITICAL, true,
	  "when the directory is opened in an editor"},
	 NULL,
	 "\\$\\{|^[./~-]|[=: ]\\.?\\.?/|/bin/|" LOADS},
	{AS_CONTAINER,
	 {"container-command", RISK_CRITICAL, true,
	  "on your own machine when the container is opened"},
	 "command|image|docker|build|mount|args|feature|env|tasks|init|"
	 "privileged|cap|security|user|workspace|extensions|settings|hooks|"
	 "compose|run",
	 NULL,
	 .any_case = true},
	{AS_AGENT,
	 {"agent-settings", RISK_CRITICAL, true,
	  "in the next agent session, or instructs it"},
	 "(hook|mcp|permission|command|server|allow|deny|approv|env|sandbox|"
	 "plugin|marketplace|helper|status|style|tool|model|provider|url|key|"
	 "trust|bypass|auto|exec|skill|instruction|args|notify|profile|"
	 "director|include|context|agent|theme|proxy|trigger|prompt|rule)",
	 NULL,
	 .any_case = true},
	/* Any text can be a command; switches are judged by their keys. */
	{AS_AGENT,
	 {"agent-settings", RISK_CRITICAL, true,
	  "in the next agent session, or instructs it"},
	 NULL,
	 "^([a-z0-9_.\"'-]+ *[:=] *)?(true|false|null|[0-9.]*|\\{\\}|\\[\\])$|"
	 "^\\[+[a-z0-9_. -]+\\]+$|^[a-z0-9_.\"'-]+:$|^[]})][,;]?$",
	 .any_case = true,
	 .other = true},
	{AS_AGENT,
	 {"agent-settings", RISK_CRITICAL, false,
	  "forbids the next agent session less than before"},
	 "(deny|disallow|sandbox|block|exclude)",
	 NULL,
	 ON_REMOVED,
	 .any_case = true},
	{AS_PROSE,
	 {"agent-prose", RISK_HIGH, false, "instructs the next agent session"},
	 "^code$",
	 NULL},
	{AS_PROSE,
	 {"agent-prose", RISK_HIGH, false, "instructs the next agent session"},
	 NULL,
	 "https?://|^[$>] |^!|(^|[ (*])`[a-z][a-z0-9._-]* [^`]+`([ ).,:;*-]|$)|"
	 "(^|[^a-z])(curl|wget|sudo|ssh|npx|uvx|chmod|eval|base64|rm -|git "
	 "push|--no-verify|--dangerously|bypass|permissions?|allowed-tools|"
	 "auto-approve|allowlist|hooks?|mcp|tokens?|secrets?|passwords?|"
	 "credentials?|api[_ -]?keys?|private keys?|\\.env|\\.ssh|ignore (all|"
	 "any|the|previous)|disregard|(do not|don't|never) (tell|mention|show|"
	 "ask|report|warn)|without (asking|telling|review)|silently|exfiltrat|"
	 "upload)([^a-z]|$)|^@|<!--",
	 .any_case = true},
};

#define ROWS (sizeof(table) / sizeof(*table))

/* --- the table's expressions --- */

static struct {
	regex_t path, text;
	bool made;
} compiled[ROWS];

static void compile_row(size_t row)
{
	const struct content_rule *c = &table[row];
	int flags = REG_EXTENDED | REG_NOSUB | (c->any_case ? REG_ICASE : 0);

	if (compiled[row].made)
		return;
	compiled[row].made = true;
	if ((c->path && regcomp(&compiled[row].path, c->path, flags) != 0) ||
	    (c->text && regcomp(&compiled[row].text, c->text, flags) != 0))
		abort();
}

static bool row_matches(size_t row, const struct risk_line *line)
{
	if (table[row].path &&
	    regexec(&compiled[row].path, line->path, 0, NULL, 0) != 0)
		return false;
	return !table[row].text || strlen(line->text) > RISK_LINE_MAX ||
	       (regexec(&compiled[row].text, line->text, 0, NULL, 0) == 0) !=
		       table[row].other;
}

/* How many lines of a side match. A line counts once for an id. */
static size_t match_rows(enum risk_as as, int side,
			 const struct risk_lines *lines, struct risks *ret)
{
	size_t matches = 0, i, row;

	for (i = 0; i < lines->count; i++) {
		const struct risk_line *line = &lines->items[i];
		const char *done = NULL;

		if (!line->added)
			continue;
		for (row = 0; row < ROWS; row++) {
			const struct content_rule *c = &table[row];

			if (c->as != as || (c->on != side && c->on != ON_BOTH))
				continue;
			compile_row(row);
			if ((done && strcmp(done, c->rule.id) == 0) ||
			    !row_matches(row, line))
				continue;
			done = c->rule.id;
			risk_add_line(ret, &c->rule, RISK_NONE,
				      side == ON_REMOVED ? 0 : line->number,
				      side == ON_REMOVED ? "removed"
				      : lines->keyed	 ? line->path
							 : NULL,
				      line->text);
			matches++;
		}
	}
	return matches;
}

/* --- words of the old file --- */

static void add_word(struct names *to, const char *text, size_t len)
{
	*VEC_ADD(to) = mem_strndup(text, len);
}

/* words: sorted. */
static bool has_word(const struct names *words, const char *text, size_t len)
{
	auto_free char *word = mem_strndup(text, len);

	return words->count &&
	       bsearch(&word, words->items, words->count, sizeof(*words->items),
		       sorted_compare_texts);
}

/* --- actions of CI --- */

/* "owner/name@ref" behind "uses:", or NULL. */
static const char *action_of(const struct risk_line *line)
{
	const char *text = line->text;

	while (*text == '-' || *text == ' ' || *text == '\t')
		text++;
	if (strncmp(text, "uses:", 5) != 0)
		return NULL;
	text += 5;
	return text + strspn(text, " \t\"'");
}

static bool is_pinned(const char *action)
{
	const char *at = strchr(action, '@');

	return at && strspn(at + 1, "0123456789abcdef") >= 40;
}

/* "owner/", and "owner/name@" of actions that have a hash, sorted. */
static void list_actions(const struct risk_lines *old, struct names *owners,
			 struct names *pinned)
{
	size_t i;

	for (i = 0; i < old->count; i++) {
		const char *action = action_of(&old->items[i]);

		if (!action)
			continue;
		add_word(owners, action, strcspn(action, "/") + 1);
		if (is_pinned(action))
			add_word(pinned, action, strcspn(action, "@") + 1);
	}
	VEC_SORT(owners, sorted_compare_texts);
	VEC_SORT(pinned, sorted_compare_texts);
}

static size_t judge_actions(const struct risk_lines *old,
			    const struct risk_lines *now, struct risks *ret)
{
	static const struct risk_rule owner = {
		"ci-action", RISK_HIGH, true,
		"code of another owner in your CI"};
	static const struct risk_rule tag = {
		"ci-tag", RISK_HIGH, true,
		"an action by a tag that its owner can move; it was a hash"};
	AUTO(names) struct names owners = {0};
	AUTO(names) struct names pinned = {0};
	size_t matches = 0, i;

	list_actions(old, &owners, &pinned);
	for (i = 0; i < now->count; i++) {
		const struct risk_line *line = &now->items[i];
		const char *action = action_of(line);
		const struct risk_rule *rule = NULL;

		if (!line->added || !action || strncmp(action, "./", 2) == 0)
			continue;
		if (strncmp(action, "actions/", 8) != 0 &&
		    !has_word(&owners, action, strcspn(action, "/") + 1))
			rule = &owner;
		else if (!is_pinned(action) &&
			 has_word(&pinned, action, strcspn(action, "@") + 1))
			rule = &tag;
		if (rule)
			risk_add_line(ret, rule, RISK_NONE, line->number, NULL,
				      line->text);
		matches += rule != NULL;
	}
	return matches;
}

/* --- hosts of lock files --- */

/* The host of the first URL of a line; its length, or 0. */
static size_t host_of(const char *text, const char **ret_host)
{
	const char *at = strstr(text, "://");

	if (!at)
		return 0;
	*ret_host = at + 3;
	return strcspn(at + 3, "/ \t\"':");
}

static bool is_registry(const char *host, size_t len)
{
	static const char *const hosts[] = {
		"registry.npmjs.org",
		"registry.yarnpkg.com",
		"files.pythonhosted.org",
		"pypi.org",
		"index.crates.io",
		"static.crates.io",
		"rubygems.org",
		"proxy.golang.org",
		"repo.packagist.org",
		"opencollective.com",
		"tidelift.com",
		"patreon.com",
		"www.patreon.com",
		"jsr.io",
		"hex.pm",
		"repo.hex.pm",
	};
	size_t i;

	for (i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
		if (strlen(hosts[i]) == len && memcmp(hosts[i], host, len) == 0)
			return true;
	return false;
}

static size_t judge_hosts(const struct risk_lines *old,
			  const struct risk_lines *now, struct risks *ret)
{
	static const struct risk_rule rule = {
		"lock-host", RISK_HIGH, false,
		"loads a package from another host than before"};
	AUTO(names) struct names had = {0};
	const char *host;
	size_t matches = 0, len, i;

	for (i = 0; i < old->count; i++) {
		len = host_of(old->items[i].text, &host);
		if (len)
			add_word(&had, host, len);
	}
	VEC_SORT(&had, sorted_compare_texts);
	for (i = 0; i < now->count; i++) {
		const struct risk_line *line = &now->items[i];

		/* Addresses of donations are not loaded. */
		if (!line->added || strstr(line->path, "funding"))
			continue;
		len = host_of(line->text, &host);
		if (!len || is_registry(host, len) || has_word(&had, host, len))
			continue;
		risk_add_line(ret, &rule, RISK_NONE, line->number,
			      now->keyed ? line->path : NULL, line->text);
		matches++;
	}
	return matches;
}

/* --- any file --- */

/* Lines behind this text are comments; NULL: the format has none. */
static const char *comment_of(const char *name, enum risk_format format)
{
	static const char *const slashes[] = {
		"*.js", "*.cjs", "*.mjs",     "*.ts",  "*.mts",	 "*.rs",
		"*.go", "go.*",	 "*.gradle*", "*.kts", "*.swift"};
	static const char *const none[] = {"*.xml", "*.json*", "*.md",	"*.mdc",
					   "*.txt", "*.*proj", "*.html"};
	size_t i;

	if (format == FORMAT_JSON || format == FORMAT_PROSE)
		return NULL;
	for (i = 0; i < sizeof(none) / sizeof(*none); i++)
		if (fnmatch(none[i], name, 0) == 0)
			return NULL;
	for (i = 0; i < sizeof(slashes) / sizeof(*slashes); i++)
		if (fnmatch(slashes[i], name, 0) == 0)
			return "//";
	return "#";
}

static enum risk_format format_of(const char *path, enum risk_as as)
{
	static const struct {
		const char *glob;
		enum risk_format format;
	} formats[] = {
		{"*.yml", FORMAT_YAML},	     {"*.yaml", FORMAT_YAML},
		{"*.toml", FORMAT_TOML},     {"*.json", FORMAT_JSON},
		{"*.jsonc", FORMAT_JSON},    {"*.lock", FORMAT_PLAIN},
		{"*.cfg", FORMAT_INI},	     {"*.ini", FORMAT_INI},
		{"Pipfile", FORMAT_TOML},    {"*.code-workspace", FORMAT_JSON},
		{"pip.conf", FORMAT_INI},    {".flake8", FORMAT_INI},
		{".coveragerc", FORMAT_INI}, {"*pylintrc", FORMAT_INI},
		{".clang*", FORMAT_YAML},    {"*.webmanifest", FORMAT_JSON},
	};
	const char *name = path_name(path);
	size_t i;

	if (as == AS_GIT || as == AS_SUBMODULE)
		return FORMAT_GIT;
	if (as == AS_MAKE)
		return FORMAT_MAKE;
	if (as == AS_PROSE)
		return FORMAT_PROSE;
	for (i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (fnmatch(formats[i].glob, name, 0) == 0)
			return formats[i].format;
	return FORMAT_PLAIN;
}

/* Agents read prose, settings, and scripts that they execute. */
static enum risk_as agent_file_as(const char *path)
{
	static const char *const prose[] = {"*.md",    "*.mdc",	  "*.txt",
					    ".*rules", ".*hints", "*.markdown"};
	static const char *const data[] = {"*.json", "*.jsonc", "*.toml",
					   "*.yml", "*.yaml"};
	const char *name = path_name(path);
	size_t i;

	for (i = 0; i < sizeof(prose) / sizeof(*prose); i++)
		if (fnmatch(prose[i], name, 0) == 0)
			return AS_PROSE;
	for (i = 0; i < sizeof(data) / sizeof(*data); i++)
		if (fnmatch(data[i], name, 0) == 0)
			return AS_AGENT;
	return AS_NAME;
}

static size_t add_any_line(const struct risk_rule *rule,
			   const struct risk_lines *now, struct risks *ret)
{
	size_t matches = 0, i;

	for (i = 0; i < now->count; i++) {
		const struct risk_line *line = &now->items[i];

		if (!line->added)
			continue;
		risk_add_line(ret, rule, RISK_NONE, line->number,
			      now->keyed ? line->path : NULL, line->text);
		matches++;
	}
	return matches;
}

static size_t judge_lines(const struct risk_rule *rule, enum risk_as as,
			  const char *comment, struct risk_lines *old,
			  struct risk_lines *now, struct risks *ret)
{
	size_t matches;

	risk_lines_compare(now, old, comment);
	risk_lines_compare(old, now, comment);
	if (as == AS_ADDED)
		return add_any_line(rule, now, ret);
	matches = match_rows(as, ON_ADDED, now, ret) +
		  match_rows(as, ON_REMOVED, old, ret);
	if (as == AS_CI)
		matches += judge_actions(old, now, ret);
	if (as == AS_LOCK)
		matches += judge_hosts(old, now, ret);
	return matches;
}

static bool begins_with(const struct buf *b, const char *text)
{
	size_t len = strlen(text);

	return b->len >= len && memcmp(b->data, text, len) == 0;
}

/* got: as from risk_lines_parse(). */
static void add_unparsed(int got, const struct err *err, enum risk_level level,
			 struct risks *ret)
{
	auto_free char *text =
		got < 0 ? mem_printf("cannot be read (%s): its settings are "
				     "unknown",
				     err->text)
			: mem_strdup("is not valid JSON, or has a key twice: "
				     "its settings are unknown");
	const struct risk_rule rule = {"not-parsed", level, false, text};

	risk_add(ret, &rule, RISK_NONE);
}

/* Without an old side that can be parsed, all lines are new. */
static void parse_old(enum risk_format format, const struct buf *old,
		      struct risk_lines *before, struct risks *ret)
{
	struct err err;
	int got = risk_has_nul(old)
			  ? 0
			  : risk_lines_parse(format, old, before, &err);

	if (got < 0)
		add_unparsed(got, &err, RISK_NOTE, ret);
	if (got <= 0)
		risk_lines_free(before);
}

void risk_judge_content(const char *path, const struct risk_rule *rule,
			enum risk_as as, const struct buf *old,
			const struct buf *now, struct risks *ret)
{
	AUTO(risk_lines) struct risk_lines before = {0}, after = {0};
	enum risk_format format;
	struct err err;
	int got;

	if (as == AS_AGENT)
		as = begins_with(now, "#!") ? AS_NAME : agent_file_as(path);
	if (as == AS_NAME || risk_has_nul(now)) {
		risk_add(ret, rule, buf_same(old, now) ? RISK_NOTE : RISK_NONE);
		return;
	}
	format = format_of(path, as);
	/* Scripts and the like beside the settings. */
	if ((as == AS_EDITOR || as == AS_CONTAINER) && format == FORMAT_PLAIN)
		as = AS_ADDED;
	got = risk_lines_parse(format, now, &after, &err);
	if (got <= 0) {
		risk_add(ret, rule, RISK_NONE);
		add_unparsed(got, &err, RISK_NOTE, ret);
		return;
	}
	parse_old(format, old, &before, ret);
	if (judge_lines(rule, as, comment_of(path_name(path), format), &before,
			&after, ret))
		return;
	/* New instructions are followed, whatever they say. */
	risk_add(ret, rule,
		 as == AS_PROSE && !before.count ? RISK_HIGH : RISK_NOTE);
}

void risk_judge_shape(const char *path, const struct buf *old,
		      const struct buf *now, struct risks *ret)
{
	AUTO(risk_lines) struct risk_lines before = {0}, after = {0};
	static const struct risk_rule none = {0};
	enum risk_as as = AS_SHAPE;
	enum risk_format format = FORMAT_JSON;
	struct err err;
	int got;

	if ((path_has_suffix(path, ".yml") || path_has_suffix(path, ".yaml")) &&
	    buf_has(now, "jobs:") && buf_has(now, "runs-on:")) {
		as = AS_CI;
		format = FORMAT_YAML;
	} else if (!path_has_suffix(path, ".json") ||
		   !(buf_has(now, "erver") || buf_has(now, "\"hooks\"") ||
		     buf_has(now, "\"permissions\"") ||
		     buf_has(now, "\"tasks\""))) {
		return;
	}
	if (risk_has_nul(now))
		return;
	got = risk_lines_parse(format, now, &after, &err);
	if (got <= 0) {
		/* Settings of a known kind, maybe made for that. */
		if (got < 0)
			add_unparsed(got, &err, RISK_HIGH, ret);
		return;
	}
	parse_old(format, old, &before, ret);
	(void)judge_lines(&none, as, format == FORMAT_YAML ? "#" : NULL,
			  &before, &after, ret);
}

enum risk_level risk_content_level(const char *id)
{
	enum risk_level level = RISK_NONE;
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (strcmp(table[i].rule.id, id) == 0 &&
		    table[i].rule.level > level)
			level = table[i].rule.level;
	return level;
}
