#include "guard/sandbox/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/vec.h"

/* Paths below the home directory. Patterns with * match only directly in it. */
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
	".wrangler/config",
	".config/github-copilot",
	".config/helm",
	".config/tea",
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
	/* package registries */
	".pypirc",
	".npmrc",
	".yarnrc.yml",
	".cargo/credentials",
	".cargo/credentials.toml",
	".gem/credentials",
	".bundle/config",
	".m2/settings.xml",
	".m2/settings-security.xml",
	".gradle/gradle.properties",
	".nuget",
	".config/NuGet",
	".composer/auth.json",
	".config/composer/auth.json",
	".hex",
	".huggingface/token",
	".cache/huggingface/token",
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
	/* typed commands */
	".*_history",
	".history",
	".lesshst",
	".viminfo",
	".local/share/fish",
	".local/share/nvim/shada",
	".local/state/nvim/shada",
	NULL,
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

bool credentials_listed(const char *name)
{
	return mem_list_has(below_home, name);
}

/* True also if the lookup is denied: in a directory without search permission
 * for its owner, the run could add it. */
static bool may_credential_exist(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
	       (errno != ENOENT && errno != ENOTDIR);
}

/* Adds the matches in dir, sorted. */
static void add_pattern(struct names *l, const char *dir, const char *pattern)
{
	DIR *open = opendir(dir);
	size_t first = l->count;
	struct dirent *e;

	if (!open)
		return;
	while ((e = readdir(open)))
		if (fnmatch(pattern, e->d_name, FNM_PERIOD) == 0)
			*VEC_ADD(l) = path_join(dir, e->d_name);
	(void)closedir(open);
	vec_sort(l->items + first, l->count - first, sizeof(*l->items),
		 sorted_compare_texts);
}

static void add_paths_below(struct names *l, const char *home)
{
	auto_close int dir = open(home, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *const *name;

	if (dir < 0 && (errno == ENOENT || errno == ENOTDIR))
		return;
	for (name = below_home; *name; name++)
		if (strchr(*name, '*'))
			add_pattern(l, home, *name);
		else if (may_credential_exist(dir, *name))
			*VEC_ADD(l) = path_join(home, *name);
}

char **sandbox_credential_paths(const char *home)
{
	struct names l = {0};
	const struct passwd *user = getpwuid(geteuid());
	const char *const *path;

	if (home)
		add_paths_below(&l, home);
	/* $HOME may name another user's home directory; the user's own is
	 * masked as well. */
	if (user && user->pw_dir[0] == '/' && user->pw_dir[1] &&
	    (!home || strcmp(home, user->pw_dir) != 0))
		add_paths_below(&l, user->pw_dir);
	/* A directory that the user cannot search is closed to the run, too. */
	if ((!home || strcmp(home, "/root") != 0) && geteuid() != 0 &&
	    faccessat(AT_FDCWD, "/root", X_OK, AT_EACCESS) == 0)
		add_paths_below(&l, "/root");
	for (path = machine_paths; *path; path++) {
		auto_free char *dir =
			strchr(*path, '*') ? path_parent(*path) : NULL;

		if (dir)
			add_pattern(&l, dir, path_name(*path));
		else if (may_credential_exist(AT_FDCWD, *path))
			names_add(&l, *path);
	}
	*VEC_ADD(&l) = NULL;
	return l.items;
}
