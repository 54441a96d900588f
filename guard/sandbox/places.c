#include "guard/sandbox/places.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/vec.h"

/* Masked paths below the home directory. A * matches only in the last part. */
static const char *const below_home[] = {
	/* guard's own settings, which decide about runs */
	".config/guard",
	/* keys and logins of other machines and services */
	".ssh",
	".gnupg",
	".netrc",
	"_netrc",
	".authinfo",
	".authinfo.gpg",
	".git-credentials",
	".config/git/credentials",
	".cache/git",
	".aws",
	".azure",
	".oci",
	".bluemix",
	".s3cfg",
	".boto",
	".gsutil",
	".config/gh",
	".config/glab-cli",
	".config/hub",
	".config/gcloud",
	".config/op",
	".config/rclone",
	".config/sops",
	".config/age",
	".config/containers/auth.json",
	".config/doctl",
	".config/fly",
	".fly",
	".config/heroku",
	".config/netlify",
	".netlify",
	".config/vercel",
	".local/share/com.vercel.cli",
	".config/configstore",
	".config/Keybase",
	".config/keybase",
	".config/keyrings",
	".config/stripe",
	".config/ngrok",
	".ngrok2",
	".config/hcloud",
	".config/scw",
	".config/wrangler",
	".config/.wrangler",
	".supabase",
	".codeium/config.json",
	".wrangler/config",
	".config/github-copilot",
	".config/helm",
	".config/tea",
	".cloudflared",
	".expo/state.json",
	".modal.toml",
	".railway",
	".step/secrets",
	".tsh",
	".docker",
	".kube",
	".minikube",
	".vault-token",
	".terraform.d",
	".terraformrc",
	".pulumi/credentials.json",
	".ansible/vault",
	".snowflake",
	".databrickscfg",
	".pgpass",
	".my.cnf",
	".mylogin.cnf",
	".config/psql",
	".config/mc",
	".mc",
	".msmtprc",
	".fetchmailrc",
	".config/msmtp",
	".config/neomutt",
	".krb5",
	".ksshaskpass",
	/* logins of agents: in an agent's run these paths are its own */
	".claude/.credentials.json",
	".codex/auth.json",
	".gemini/oauth_creds.json",
	".gemini/google_accounts.json",
	".gemini/mcp-oauth-tokens.json",
	".local/share/opencode/auth.json",
	".local/share/opencode/mcp-auth.json",
	".aider/oauth-keys.env",
	".config/cursor/auth.json",
	".qwen/oauth_creds.json",
	".cline/data/secrets.json",
	".cline/data/settings/providers.json",
	".local/share/kilo/auth.json",
	".pi/agent/auth.json",
	".continue/auth.json",
	".augment/session.json",
	".copilot/config.json",
	".config/goose/secrets.yaml",
	/* package registries */
	".pypirc",
	".cargo/credentials",
	".cargo/credentials.toml",
	".gem/credentials",
	".bundle/config",
	".m2/settings-security.xml",
	".nuget",
	".config/NuGet",
	".composer/auth.json",
	".config/composer/auth.json",
	".config/pypoetry/auth.toml",
	".local/share/uv/credentials",
	".hex",
	".huggingface/token",
	".cache/huggingface/token",
	".cache/huggingface/stored_tokens",
	".kaggle",
	".config/kaggle",
	".wandb",
	".config/wandb",
	/* password stores, wallets */
	".password-store",
	".local/share/keyrings",
	".local/share/kwalletd",
	".local/share/pki",
	".pki",
	".electrum",
	".bitcoin",
	".ethereum",
	".config/solana",
	".config/Bitwarden",
	".config/Bitwarden CLI",
	".config/1Password",
	".config/keepassxc",
	"*.kdbx",
	/* browsers, mail, messengers: logged in */
	".mozilla",
	".thunderbird",
	".config/chromium",
	".config/google-chrome",
	".config/BraveSoftware",
	".config/microsoft-edge",
	".config/vivaldi",
	".config/opera",
	".config/Signal",
	".config/Slack",
	".config/discord",
	".config/teams",
	".config/Element",
	".local/share/TelegramDesktop",
	".var/app",
	"snap/firefox",
	"snap/chromium",
	"snap/thunderbird",
	/* older versions of these files */
	".zfs",
	".snapshot",
	".snapshots",
	/* tokens of this machine's services */
	".Xauthority",
	".ICEauthority",
	".vnc",
	".config/tigervnc",
	".erlang.cookie",
	".config/erlang/.erlang.cookie",
	".config/code-server",
	".local/share/jupyter/runtime",
	".emacs.d/server",
	".config/emacs/server",
	".config/syncthing",
	".local/state/syncthing",
	".config/transmission",
	".config/transmission-daemon",
	".config/obs-studio/plugin_config/obs-websocket",
	".config/kdeconnect",
	".config/pulse/cookie",
	".pulse-cookie",
	".ollama/id_*",
	/* typed commands; further ones: find_histories() */
	".*history*",
	".config/zsh/.*history*",
	".lesshst",
	".viminfo",
	".local/share/fish",
	".local/share/nvim/shada",
	".local/state/nvim/shada",
};

/* Files below the home directory that hold settings and perhaps secrets. */
static const struct {
	const char *name;
	unsigned int how;
} redacted[] = {
	{".npmrc", PLACE_MASKED | PLACE_SETTINGS},
	{".yarnrc", PLACE_SETTINGS},
	{".yarnrc.yml", PLACE_MASKED | PLACE_SETTINGS},
	{".gitconfig", PLACE_SETTINGS},
	{".config/git/config", PLACE_SETTINGS},
	{".m2/settings.xml", PLACE_MASKED | PLACE_SETTINGS},
	{".gradle/gradle.properties", PLACE_MASKED | PLACE_SETTINGS},
	{".config/pip/pip.conf", PLACE_SETTINGS},
	{".pip/pip.conf", PLACE_SETTINGS},
	{".cargo/config", PLACE_SETTINGS},
	{".cargo/config.toml", PLACE_SETTINGS},
	{".sentryclirc", PLACE_SETTINGS},
	/* keys of agents, and variables of their MCP servers */
	{".claude.json", PLACE_PROSE},
	{".codex/config.toml", PLACE_PROSE},
	{".gemini/settings.json", PLACE_PROSE},
	{".gemini/.env", PLACE_PROSE},
	{".qwen/settings.json", PLACE_PROSE},
	{".qwen/.env", PLACE_PROSE},
	{".profile", PLACE_PROSE},
	{".bash_profile", PLACE_PROSE},
	{".bash_login", PLACE_PROSE},
	{".bashrc", PLACE_PROSE},
	{".bash_aliases", PLACE_PROSE},
	{".zshenv", PLACE_PROSE},
	{".zprofile", PLACE_PROSE},
	{".zshrc", PLACE_PROSE},
	{".zlogin", PLACE_PROSE},
	{".config/zsh/.zshenv", PLACE_PROSE},
	{".config/zsh/.zprofile", PLACE_PROSE},
	{".config/zsh/.zshrc", PLACE_PROSE},
	{".config/zsh/.zlogin", PLACE_PROSE},
	{".config/fish/config.fish", PLACE_PROSE},
	{".config/fish/fish_variables", PLACE_PROSE},
	{".config/fish/conf.d/*", PLACE_PROSE},
	{".config/environment.d/*", PLACE_PROSE},
};

/* Variables that move a directory, and its default below the home directory:
 * the entries below the default are looked for below the value, too. */
static const struct {
	const char *variable, *at;
} bases[] = {
	{"XDG_CONFIG_HOME", ".config"},
	{"XDG_DATA_HOME", ".local/share"},
	{"XDG_STATE_HOME", ".local/state"},
	{"XDG_CACHE_HOME", ".cache"},
	{"CARGO_HOME", ".cargo"},
	{"GRADLE_USER_HOME", ".gradle"},
	{"COMPOSER_HOME", ".config/composer"},
	{"GNUPGHOME", ".gnupg"},
	{"PASSWORD_STORE_DIR", ".password-store"},
	{"GH_CONFIG_DIR", ".config/gh"},
	{"DOCKER_CONFIG", ".docker"},
	{"AZURE_CONFIG_DIR", ".azure"},
	{"CLOUDSDK_CONFIG", ".config/gcloud"},
	{"HF_HOME", ".cache/huggingface"},
	{"JUPYTER_DATA_DIR", ".local/share/jupyter"},
	{"JUPYTER_RUNTIME_DIR", ".local/share/jupyter/runtime"},
	{"GLAB_CONFIG_DIR", ".config/glab-cli"},
	{"KAGGLE_CONFIG_DIR", ".kaggle"},
	{"POETRY_CONFIG_DIR", ".config/pypoetry"},
	{"PULUMI_HOME", ".pulumi"},
	{"STEPPATH", ".step"},
	{"TELEPORT_HOME", ".tsh"},
	{"WANDB_CONFIG_DIR", ".config/wandb"},
	{"CODEX_HOME", ".codex"},
	{"COPILOT_HOME", ".copilot"},
	{"PI_CODING_AGENT_DIR", ".pi/agent"},
	{"CLAUDE_CONFIG_DIR", ".claude"},
	{"ZDOTDIR", ".config/zsh"},
	/* All of it: a run has a runtime directory of its own, in its /run. */
	{"XDG_RUNTIME_DIR", ""},
};

/* Variables with a file, a directory or a list of them. Their names do not say
 * so: see secret_words. */
static const struct {
	const char *variable;
	unsigned int how;
} file_variables[] = {
	{"KUBECONFIG", PLACE_MASKED},
	{"AWS_CONFIG_FILE", PLACE_MASKED},
	{"BOTO_CONFIG", PLACE_MASKED},
	{"DATABRICKS_CONFIG_FILE", PLACE_MASKED},
	{"HELM_REGISTRY_CONFIG", PLACE_MASKED},
	{"OCI_CLI_CONFIG_FILE", PLACE_MASKED},
	{"NETRC", PLACE_MASKED},
	{"RCLONE_CONFIG", PLACE_MASKED},
	{"TF_CLI_CONFIG_FILE", PLACE_MASKED},
	{"KRB5CCNAME", PLACE_MASKED},
	{"NPM_CONFIG_USERCONFIG", PLACE_MASKED | PLACE_SETTINGS},
	{"npm_config_userconfig", PLACE_MASKED | PLACE_SETTINGS},
	{"PIP_CONFIG_FILE", PLACE_SETTINGS},
	{"GIT_CONFIG_GLOBAL", PLACE_SETTINGS},
};

/* A regular file is a credential if such a word is in the name of the variable
 * with its path: AWS_SHARED_CREDENTIALS_FILE, PGPASSFILE, XAUTHORITY,
 * HISTFILE... */
static const char *const secret_words[] = {
	"KEY",	"TOKEN",  "SECRET", "PASS", "CRED",
	"AUTH", "COOKIE", "HIST",   NULL,
};

/* Settings that name further files. */
static const struct {
	const char *name; /* of the file with the setting */
	const char *key;
	const char *before; /* what the value has in front of the path */
	unsigned int how;
} file_settings[] = {
	{".ssh/config", "IdentityFile", "", PLACE_MASKED},
	{".gitconfig", "path", "", PLACE_SETTINGS},
	{".gitconfig", "helper", "store --file", PLACE_MASKED},
	{".config/git/config", "path", "", PLACE_SETTINGS},
	{".config/git/config", "helper", "store --file", PLACE_MASKED},
};

/* Readable by root only, but a plain user may be in a group that can read
 * them. */
static const char *const machine_paths[] = {
	"/etc/shadow",
	"/etc/shadow-",
	"/etc/gshadow",
	"/etc/gshadow-",
	"/etc/ssl/private",
	"/etc/ssh/ssh_host_*_key",
	"/etc/krb5.keytab",
	"/etc/sudoers",
	"/etc/sudoers.d",
	"/etc/wireguard",
	"/etc/openvpn",
	"/etc/NetworkManager/system-connections",
	"/etc/kubernetes",
	"/etc/rancher",
	"/etc/letsencrypt/archive",
	"/etc/letsencrypt/live",
	"/etc/ppp/chap-secrets",
	"/etc/ppp/pap-secrets",
	"/var/lib/docker",
	"/var/lib/containerd",
	"/var/lib/kubelet",
	"/var/spool/cron",
	"/var/mail",
	"/var/lib/NetworkManager",
	"/var/lib/systemd/coredump",
	"/home/.zfs",
	"/home/.snapshot",
	"/home/.snapshots",
	"/.zfs",
	"/.snapshots",
	NULL,
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define SETTINGS_MAX (1u << 20)

struct search {
	const char *home, *project;
	const char *here; /* the current directory, or NULL */
	struct places *to;
};

/* ---- default places ---- */

/* True also if the lookup is denied: in a directory without search permission
 * for its owner, the run could add it. */
static bool may_exist(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
	       (errno != ENOENT && errno != ENOTDIR);
}

static void add_place(struct places *to, char *path, const char *entry,
		      bool moved, unsigned int how)
{
	*VEC_ADD(to) = (struct place){path, mem_strdup(entry), moved, how};
}

/* Adds the matches in dir, sorted. */
static void add_pattern(struct places *to, const char *dir, const char *pattern,
			const char *entry, bool moved, unsigned int how)
{
	AUTO(names) struct names found = {0};
	DIR *open = opendir(dir);
	struct dirent *e;
	size_t i;

	if (!open)
		return;
	while ((e = readdir(open)))
		if (fnmatch(pattern, e->d_name, FNM_PERIOD) == 0)
			names_add(&found, e->d_name);
	(void)closedir(open);
	VEC_SORT(&found, sorted_compare_texts);
	for (i = 0; i < found.count; i++)
		add_place(to, path_join(dir, found.items[i]), entry, moved,
			  how);
}

static void add_below(const struct search *s, int home_fd, const char *home,
		      const char *name, unsigned int how)
{
	auto_free char *entry = NULL;

	if (!strchr(name, '*') && !may_exist(home_fd, name))
		return;
	entry = s->home == home ? mem_printf("~/%s", name)
				: path_join(home, name);
	if (strchr(name, '*')) {
		auto_free char *above = path_parent(name);
		auto_free char *dir =
			*above ? path_join(home, above) : mem_strdup(home);

		add_pattern(s->to, dir, path_name(name), entry, false, how);
	} else {
		add_place(s->to, path_join(home, name), entry, false, how);
	}
}

/* ---- moved places ---- */

/* The path as the user writes it. */
static char *shorten_path(const struct search *s, const char *path)
{
	if (s->here && s->here[1] && path_below(path, s->here) &&
	    strcmp(path, s->here) != 0)
		return mem_strdup(path_rest(path, s->here));
	if (s->home && strcmp(path, s->home) == 0)
		return mem_strdup("~");
	return s->home && path_below(path, s->home)
		       ? mem_printf("~/%s", path_rest(path, s->home))
		       : mem_strdup(path);
}

/* The reason why a mask over real would leave nothing to run; NULL: none. */
static const char *why_visible(const struct search *s, const char *real,
			       bool dir)
{
	static const char *const system[] = {
		"/",	 "/bin",   "/boot",  "/dev",	 "/etc",     "/home",
		"/lib",	 "/lib32", "/lib64", "/media",	 "/mnt",     "/opt",
		"/proc", "/root",  "/run",   "/sbin",	 "/srv",     "/sys",
		"/tmp",	 "/usr",   "/var",   "/var/lib", "/var/tmp", NULL,
	};

	if (s->project && path_below(s->project, real))
		return "it contains the project";
	if (s->home && path_below(s->home, real))
		return "it contains your home directory";
	if (mem_list_has(system, real) || (dir && path_below(real, "/usr")))
		return "it is a system directory";
	return NULL;
}

static bool is_known(const struct places *to, const char *path)
{
	size_t i;

	for (i = 0; i < to->count; i++)
		if (strcmp(to->items[i].path, path) == 0 ||
		    (to->items[i].how == PLACE_MASKED &&
		     path_below(path, to->items[i].path)))
			return true;
	return false;
}

/* Adds the file or directory at path, which the variable or file `entry`
 * names. */
static void add_moved(const struct search *s, const char *path,
		      const char *entry, bool only_file, unsigned int how)
{
	struct err ignored;
	struct stat st;
	const char *why;
	auto_free char *real = NULL, *shown = NULL;
	bool known = stat(path, &st) == 0;

	/* Without permission to look, it may be a file or a directory. */
	if (known ? !S_ISREG(st.st_mode) && (only_file || !S_ISDIR(st.st_mode))
		  : errno == ENOENT || errno == ENOTDIR)
		return;
	real = path_resolve(path, &ignored);
	/* Packages hold no secrets of the user. */
	if (only_file && real && path_below(real, "/usr"))
		return;
	if (!real || path_below(real, "/proc") || path_below(real, "/sys") ||
	    path_below(real, "/dev") || is_known(s->to, path))
		return;
	shown = shorten_path(s, path);
	why = why_visible(s, real, known && S_ISDIR(st.st_mode));
	if (why) {
		*VEC_ADD(&s->to->notes) =
			mem_printf("%s names %s: not hidden, %s", entry,
				   text_quote(shown), why);
		return;
	}
	if (s->project && path_below(real, s->project) && how == PLACE_MASKED)
		*VEC_ADD(&s->to->notes) =
			mem_printf("%s is hidden (%s); --ro %s grants it",
				   text_quote(shown), entry, shown);
	add_place(s->to, mem_strdup(path), entry, true, how);
}

/* The absolute path that a variable or a setting means, without a slash at its
 * end; NULL: none. dir: for relative paths. */
static char *full_path(const struct search *s, const char *text, size_t len,
		       const char *dir)
{
	while (len > 1 && text[len - 1] == '/')
		len--;
	if (!len || !dir)
		return NULL;
	if (len >= 2 && text[0] == '~' && text[1] == '/' && s->home)
		return mem_printf("%s/%.*s", s->home, (int)len - 2, text + 2);
	return *text == '/' ? mem_strndup(text, len)
			    : mem_printf("%s/%.*s", dir, (int)len, text);
}

/* Adds the value and, of a list, each part: "a:b", "FILE:/tmp/x". */
static void add_files(const struct search *s, const char *entry,
		      const char *value, const char *dir, bool only_file,
		      unsigned int how)
{
	auto_free char *list = mem_strdup(value);
	auto_free char *whole = full_path(s, value, strlen(value), dir);
	char *save = NULL, *part;

	if (whole)
		add_moved(s, whole, entry, only_file, how);
	if (!strchr(value, ':'))
		return;
	for (part = strtok_r(list, ":", &save); part;
	     part = strtok_r(NULL, ":", &save)) {
		auto_free char *path = full_path(s, part, strlen(part), dir);

		/* Other lists have patterns or commands: HISTIGNORE. */
		if (path && (!only_file || *part == '/'))
			add_moved(s, path, entry, only_file, how);
	}
}

/* The nth entry of the table, below the home directory, and *ret_how; NULL
 * after the last. */
static const char *places_entry(size_t n, unsigned int *ret_how)
{
	*ret_how = PLACE_MASKED;
	if (n < COUNT(below_home))
		return below_home[n];
	n -= COUNT(below_home);
	if (n >= COUNT(redacted))
		return NULL;
	*ret_how = redacted[n].how;
	return redacted[n].name;
}

/* Looks below the value of a variable for the entries below its default. */
static void add_base(const struct search *s, size_t base, const char *value)
{
	auto_free char *dir = full_path(s, value, strlen(value), s->here);
	const char *variable = bases[base].variable, *name;
	unsigned int how;
	size_t i;

	if (!dir)
		return;
	if (!*bases[base].at) {
		if (!path_below(dir, "/run"))
			add_moved(s, dir, variable, false, PLACE_MASKED);
		return;
	}
	for (i = 0; (name = places_entry(i, &how)); i++) {
		auto_free char *path = NULL;
		const char *rest;

		if (!path_below(name, bases[base].at))
			continue;
		rest = path_rest(name, bases[base].at);
		path = *rest ? path_join(dir, rest) : mem_strdup(dir);
		if (strchr(rest, '*')) {
			auto_free char *above = path_parent(path);

			add_pattern(s->to, above, path_name(path), variable,
				    true, how);
		} else {
			add_moved(s, path, variable, false, how);
		}
	}
}

static bool names_secret(const char *variable, size_t len)
{
	const char *const *word;

	/* A program that asks for a password. */
	if (memmem(variable, len, "ASKPASS", 7))
		return false;
	for (word = secret_words; *word; word++)
		if (memmem(variable, len, *word, strlen(*word)))
			return true;
	return false;
}

static void add_variable(const struct search *s, const char *variable)
{
	size_t len = strcspn(variable, "="), i;
	auto_free char *name = mem_strndup(variable, len);
	const char *value;

	if (variable[len] != '=' || !variable[len + 1])
		return;
	value = variable + len + 1;
	for (i = 0; i < COUNT(bases); i++)
		if (strcmp(bases[i].variable, name) == 0) {
			add_base(s, i, value);
			return;
		}
	for (i = 0; i < COUNT(file_variables); i++)
		if (strcmp(file_variables[i].variable, name) == 0) {
			add_files(s, name, value, s->here, false,
				  file_variables[i].how);
			return;
		}
	/* A word that is a secret itself may be the name of a file in the
	 * current directory. */
	if (names_secret(name, len) && strpbrk(value, "/."))
		add_files(s, name, value, s->here, true, PLACE_MASKED);
}

/* ---- files that settings name ---- */

/* The value of `key = value` or `key value`, to free, or NULL. */
static char *value_of_line(const char *line, size_t len, const char *key,
			   const char *before)
{
	auto_free char *text = text_trim(line, len);
	const char *at = text;

	if (strncasecmp(at, key, strlen(key)) != 0)
		return NULL;
	at += strlen(key);
	if (!*at || !strchr(" \t=", *at))
		return NULL;
	at += strspn(at, " \t=\"");
	if (strncmp(at, before, strlen(before)) != 0)
		return NULL;
	at += strlen(before);
	at += strspn(at, *before ? " \t=\"'" : "\"");
	return mem_strndup(at, strcspn(at, "\"'"));
}

static void follow_settings(const struct search *s, const char *name)
{
	AUTO(buf) struct buf text = {0};
	auto_free char *file = path_join(s->home, name);
	auto_free char *entry = mem_printf("~/%s", name);
	auto_free char *dir = path_parent(file);
	auto_close int fd =
		open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct err ignored;
	const char *at, *end;
	struct stat st;
	size_t i;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    fd_slurp(fd, SETTINGS_MAX, &text, &ignored) < 0)
		return;
	end = buf_text(&text) + text.len;
	for (at = buf_text(&text); at < end;) {
		size_t len = strcspn(at, "\n");

		for (i = 0; i < COUNT(file_settings); i++) {
			auto_free char *value =
				strcmp(file_settings[i].name, name) == 0
					? value_of_line(at, len,
							file_settings[i].key,
							file_settings[i].before)
					: NULL;
			auto_free char *path =
				value ? full_path(s, value, strlen(value), dir)
				      : NULL;

			if (path)
				add_moved(s, path, entry, true,
					  file_settings[i].how);
		}
		at += len + 1;
	}
}

/* ---- histories ---- */

#define HISTORY_LEVELS 4
#define HISTORY_DIRS_MAX 256

/* Directories are read level by level: programs keep their histories near the
 * top, and the first ones are found in a very large tree, too. Sources of
 * programs (history.js) are no histories; guard's own state is masked as a
 * whole. */
static void find_histories(const struct search *s, const char *top)
{
	static const char *const patterns[] = {
		"*history",	"*history.txt",	    "*history.log",
		"*history.db*", "*history.sqlite*", "*history.json*",
		NULL,
	};
	AUTO(names) struct names dirs = {0};
	size_t i, level = 1, level_end = 1;

	names_add(&dirs, top);
	for (i = 0; i < dirs.count && i < HISTORY_DIRS_MAX; i++) {
		auto_close int fd =
			open(dirs.items[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		AUTO(dirlist) struct dirlist list = {0};
		struct err ignored;
		size_t k;

		if (i == level_end) {
			level_end = dirs.count;
			level++;
		}
		if (fd < 0 || dirlist_read(fd, &list, &ignored) < 0)
			continue;
		for (k = 0; k < list.count; k++) {
			const struct dirlist_item *e = &list.items[k];
			const char *const *pattern = patterns;
			auto_free char *path = NULL;

			if (!i && strcmp(e->name, "guard") == 0)
				continue;
			path = path_join(dirs.items[i], e->name);
			if (e->type == DT_DIR && level < HISTORY_LEVELS &&
			    dirs.count < HISTORY_DIRS_MAX)
				*VEC_ADD(&dirs) = TAKE(path);
			if (e->type != DT_REG)
				continue;
			while (*pattern &&
			       fnmatch(*pattern, e->name, FNM_CASEFOLD) != 0)
				pattern++;
			if (*pattern && !is_known(s->to, path))
				add_place(s->to, TAKE(path), "histories", true,
					  PLACE_MASKED);
		}
	}
}

/* ---- all places ---- */

static void add_home(const struct search *s, const char *home)
{
	auto_close int fd = open(home, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *name;
	unsigned int how;
	size_t i;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return;
	for (i = 0; (name = places_entry(i, &how)); i++)
		add_below(s, fd, home, name, how);
}

static void add_histories(const struct search *s, char *const *variables)
{
	static const char *const tops[][2] = {
		{"XDG_DATA_HOME=", ".local/share"},
		{"XDG_STATE_HOME=", ".local/state"},
	};
	size_t i;

	for (i = 0; i < COUNT(tops); i++) {
		size_t len = strlen(tops[i][0]);
		auto_free char *usual = path_join(s->home, tops[i][1]);
		char *const *v = variables;

		find_histories(s, usual);
		while (*v && strncmp(*v, tops[i][0], len) != 0)
			v++;
		if (*v && (*v)[len] == '/' && strcmp(*v + len, usual) != 0 &&
		    !why_visible(s, *v + len, true))
			find_histories(s, *v + len);
	}
}

void places_find(char *const *variables, const char *home, const char *project,
		 struct places *ret)
{
	auto_free char *here = getcwd(NULL, 0);
	const struct search s = {home, project, here, ret};
	const struct passwd *user = getpwuid(geteuid());
	const char *const *path;
	char *const *variable;
	size_t i;

	if (home)
		add_home(&s, home);
	/* $HOME may name another user's home directory; the user's own is
	 * masked as well. */
	if (user && user->pw_dir[0] == '/' && user->pw_dir[1] &&
	    (!home || strcmp(home, user->pw_dir) != 0))
		add_home(&s, user->pw_dir);
	/* A directory that the user cannot search is closed to the run, too. */
	if ((!home || strcmp(home, "/root") != 0) && geteuid() != 0 &&
	    faccessat(AT_FDCWD, "/root", X_OK, AT_EACCESS) == 0)
		add_home(&s, "/root");
	for (path = machine_paths; *path; path++) {
		auto_free char *dir =
			strchr(*path, '*') ? path_parent(*path) : NULL;

		if (dir)
			add_pattern(ret, dir, path_name(*path), *path, false,
				    PLACE_MASKED);
		else if (may_exist(AT_FDCWD, *path))
			add_place(ret, mem_strdup(*path), *path, false,
				  PLACE_MASKED);
	}
	for (variable = variables; *variable; variable++)
		add_variable(&s, *variable);
	if (!home)
		return;
	for (i = 0; i < COUNT(file_settings); i++)
		if (!i || strcmp(file_settings[i].name,
				 file_settings[i - 1].name) != 0)
			follow_settings(&s, file_settings[i].name);
	add_histories(&s, variables);
}

void places_free(struct places *places)
{
	size_t i;

	for (i = 0; i < places->count; i++) {
		free(places->items[i].path);
		free(places->items[i].entry);
	}
	names_free(&places->notes);
	VEC_FREE(places);
}

const struct place *places_of(const struct places *places, const char *real)
{
	size_t i;

	for (i = 0; i < places->count; i++) {
		struct err ignored;
		auto_free char *path =
			path_resolve(places->items[i].path, &ignored);

		if (path && strcmp(path, real) == 0)
			return &places->items[i];
	}
	return NULL;
}
