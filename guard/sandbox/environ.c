#include "guard/sandbox/sandbox.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"

/* Variables that a run inherits. Patterns of fnmatch(3). */
static const char *const allowed[] = {
	/* identity and location */
	"PATH",
	"USER",
	"LOGNAME",
	"SHELL",
	"TZ",
	"LANG",
	"LANGUAGE",
	"LC_*",
	"XDG_CONFIG_HOME",
	"XDG_CACHE_HOME",
	"XDG_DATA_HOME",
	"XDG_STATE_HOME",
	"XDG_DATA_DIRS",
	"XDG_CONFIG_DIRS",
	"MANPATH",
	"INFOPATH",
	/* the terminal */
	"TERM",
	"COLORTERM",
	"TERM_PROGRAM",
	"TERM_PROGRAM_VERSION",
	"TERMINFO",
	"TERMINFO_DIRS",
	"NO_COLOR",
	"FORCE_COLOR",
	"CLICOLOR",
	"CLICOLOR_FORCE",
	"LS_COLORS",
	"LESS",
	"COLUMNS",
	"LINES",
	/* programs of the user's choice */
	"EDITOR",
	"VISUAL",
	"PAGER",
	"CI",
	"SOURCE_DATE_EPOCH",
	/* directories of tools */
	"CARGO_HOME",
	"RUSTUP_HOME",
	"RUSTUP_TOOLCHAIN",
	"GOPATH",
	"GOROOT",
	"GOBIN",
	"GOCACHE",
	"GOMODCACHE",
	"JAVA_HOME",
	"NVM_DIR",
	"PYENV_ROOT",
	"PYENV_VERSION",
	"RBENV_ROOT",
	"VOLTA_HOME",
	"PNPM_HOME",
	"BUN_INSTALL",
	"DENO_DIR",
	"VIRTUAL_ENV",
	"CONDA_PREFIX",
	"CONDA_DEFAULT_ENV",
	"ANDROID_HOME",
	"NIX_PATH",
	"NIX_PROFILES",
	/* trusted certificates */
	"SSL_CERT_FILE",
	"SSL_CERT_DIR",
	"NIX_SSL_CERT_FILE",
	"REQUESTS_CA_BUNDLE",
	"CURL_CA_BUNDLE",
	"NODE_EXTRA_CA_CERTS",
	NULL,
};

/* Inherited unless the value contains a password (user:password@host). */
static const char *const proxies[] = {
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",    "ALL_PROXY",
	"FTP_PROXY",  "http_proxy",  "https_proxy", "no_proxy",
	"all_proxy",  "ftp_proxy",   NULL,
};

/* Not inherited like all other variables, but reported, since a program may
 * need them. */
static const char *const reported_variables[] = {
	"*_TOKEN",	   "*_KEY",	  "*_SECRET",
	"*_PASSWORD",	   "*_PASSWD",	  "*_CREDENTIAL*",
	"*_AUTH*",	   "*_APIKEY",	  "*_DSN",
	"*_URI",	   "*_SOCK",	  "*_SOCKET",
	"*PASSWORD*",	   "*SECRET*",	  "*_PAT",
	"DATABASE_URL",	   "*_ASKPASS",	  "AWS_*",
	"AZURE_*",	   "GOOGLE_*",	  "GH_*",
	"GITHUB_*",	   "GITLAB_*",	  "NPM_*",
	"DOCKER_*",	   "KUBECONFIG",  "DISPLAY",
	"WAYLAND_DISPLAY", "DBUS_*",	  "GPG_*",
	"KRB5CCNAME",	   "ANTHROPIC_*", "OPENAI_*",
	"GEMINI_*",	   "HF_*",	  "NODE_OPTIONS",
	"PYTHONPATH",	   "LD_PRELOAD",  "LD_LIBRARY_PATH",
	"*_PROXY",	   "*_proxy",	  NULL,
};

static bool matches_pattern(const char *const *patterns, const char *name)
{
	for (; *patterns; patterns++)
		if (fnmatch(*patterns, name, 0) == 0)
			return true;
	return false;
}

static void set_variable(struct names *l, const char *entry)
{
	size_t len = (size_t)(strchr(entry, '=') - entry) + 1, i;

	for (i = 0; i < l->count; i++)
		if (strncmp(l->items[i], entry, len) == 0) {
			free(l->items[i]);
			l->items[i] = mem_strdup(entry);
			return;
		}
	names_add(l, entry);
}

static void set_named_variable(struct names *l, const char *name,
			       const char *value)
{
	auto_free char *entry = mem_printf("%s=%s", name, value);

	set_variable(l, entry);
}

static bool is_variable_requested(const char *const *extra, const char *name)
{
	size_t len = strlen(name);

	for (; extra && *extra; extra++)
		if (strncmp(*extra, name, len) == 0 &&
		    ((*extra)[len] == '\0' || (*extra)[len] == '='))
			return true;
	return false;
}

static void inherit_variables(struct names *l, const char *const *extra,
			      struct buf *dropped)
{
	char **e;

	for (e = environ; *e; e++) {
		const char *equals = strchr(*e, '=');
		auto_free char *name = NULL;

		if (!equals || equals == *e)
			continue;
		name = mem_strndup(*e, (size_t)(equals - *e));
		if (matches_pattern(allowed, name) ||
		    (matches_pattern(proxies, name) && !strchr(equals, '@'))) {
			set_variable(l, *e);
		} else if (dropped &&
			   matches_pattern(reported_variables, name) &&
			   !is_variable_requested(extra, name)) {
			if (dropped->len)
				buf_add_text(dropped, ", ");
			text_escape(dropped, name, strlen(name), false);
		}
	}
}

/* "K=V" is set as it is, "K" gets its value from this process. */
static void add_requested_variables(struct names *l, const char *const *names)
{
	for (; names && *names; names++) {
		const char *value = getenv(*names);

		if (strchr(*names, '='))
			set_variable(l, *names);
		else if (value)
			set_named_variable(l, *names, value);
	}
}

char **sandbox_environ(const char *const *extra, const char *home,
		       const char *run_id, struct buf *dropped)
{
	struct names l = {0};
	auto_free char *runtime = mem_printf("/run/user/%u", geteuid());

	set_named_variable(&l, "PATH", "/usr/local/bin:/usr/bin:/bin");
	inherit_variables(&l, extra, dropped);
	set_named_variable(&l, "HOME", home ? home : "/tmp/home");
	set_named_variable(&l, "XDG_RUNTIME_DIR", runtime);
	set_named_variable(&l, "GUARD", "1");
	if (run_id)
		set_named_variable(&l, "GUARD_RUN", run_id);
	/* The signing keys are masked, and a run must not sign in the user's
	 * name. */
	set_named_variable(&l, "GIT_CONFIG_COUNT", "2");
	set_named_variable(&l, "GIT_CONFIG_KEY_0", "commit.gpgsign");
	set_named_variable(&l, "GIT_CONFIG_VALUE_0", "false");
	set_named_variable(&l, "GIT_CONFIG_KEY_1", "tag.gpgsign");
	set_named_variable(&l, "GIT_CONFIG_VALUE_1", "false");
	add_requested_variables(&l, extra);
	*VEC_ADD(&l) = NULL;
	return l.items;
}

char **sandbox_environ_exec(const char *const *extra, bool terminal)
{
	static const char *const shown[] = {"TERM", "COLORTERM", "TERM_PROGRAM",
					    "TERM_PROGRAM_VERSION", NULL};
	struct names l = {0};

	if (terminal)
		add_requested_variables(&l, shown);
	add_requested_variables(&l, extra);
	*VEC_ADD(&l) = NULL;
	return l.items;
}

void sandbox_environ_free(char **envp)
{
	mem_list_free(&envp);
}
