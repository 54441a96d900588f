#include "guard/sandbox/sandbox.h"

#include <fcntl.h>
#include <glob.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "guard/sandbox/internal.h"

/*
 * Below the home folder. Patterns with * are expanded at the time of the call.
 */
static const char *const below_home[] = {
	/* what decides about runs */
	".config/guard",
	/* keys, and what logs in elsewhere */
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
	/* logins of agents: their own runs have folders of guard's there */
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
	/* older states of all of this */
	".zfs",
	".snapshot",
	".snapshots",
	/* what was typed */
	".*_history",
	".history",
	".lesshst",
	".viminfo",
	".local/share/fish",
	".local/share/nvim/shada",
	".local/state/nvim/shada",
	NULL,
};

/* For root; plain users cannot read them, but may be in a group that can. */
static const char *const elsewhere[] = {
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
	const char *const *known;

	for (known = below_home; *known; known++)
		if (strcmp(*known, name) == 0)
			return true;
	return false;
}

struct list {
	char **items;
	size_t count, room;
};

static void add(struct list *l, char *path)
{
	GROW(l->items, l->count, l->room);
	l->items[l->count++] = path;
}

/* The folder's name may have * in it, and is no pattern. */
static char *quote_pattern(const char *text)
{
	struct buf b = {0};

	for (; *text; text++) {
		if (strchr("*?[\\", *text))
			buf_add_char(&b, '\\');
		buf_add_char(&b, *text);
	}
	return buf_take_text(&b);
}

static void add_pattern(struct list *l, const char *dir, const char *pattern)
{
	char *quoted = quote_pattern(dir);
	char *whole = mem_printf("%s%s%s", quoted, *dir ? "/" : "", pattern);
	glob_t found;
	size_t i;

	if (glob(whole, 0, NULL, &found) == 0) {
		for (i = 0; i < found.gl_pathc; i++)
			add(l, mem_strdup(found.gl_pathv[i]));
		globfree(&found);
	}
	free(whole);
	free(quoted);
}

static void add_all(struct list *l, const char *dir, const char *const *names)
{
	for (; *names; names++)
		if (strchr(*names, '*'))
			add_pattern(l, dir, *names);
		else if (*dir)
			add(l, mem_printf("%s/%s", dir, *names));
		else
			add(l, mem_strdup(*names));
}

char **sandbox_credential_paths(const char *home)
{
	struct list l = {0};
	const struct passwd *user = getpwuid(geteuid());

	if (home)
		add_all(&l, home, below_home);
	/* Somebody else's $HOME hides nothing in one's own. */
	if (user && user->pw_dir[0] == '/' && user->pw_dir[1] &&
	    (!home || strcmp(home, user->pw_dir) != 0))
		add_all(&l, user->pw_dir, below_home);
	/* What this user cannot reach, the run cannot either. */
	if ((!home || strcmp(home, "/root") != 0) && geteuid() != 0 &&
	    faccessat(AT_FDCWD, "/root", X_OK, AT_EACCESS) == 0)
		add_all(&l, "/root", below_home);
	add_all(&l, "", elsewhere);
	add(&l, NULL);
	return l.items;
}
