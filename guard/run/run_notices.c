#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/record.h"
#include "base/text.h"
#include "guard/agent/agent.h"
#include "guard/agent/home_versions.h"
#include "guard/state/report.h"
#include "guard/run/run.h"
#include "guard/sandbox/encryption.h"
#include "guard/sandbox/mount_list.h"
#include "restore/workspace.h"

/* Programs whose main call is refused in a run, and whose own message does not
 * name guard. */
static const struct {
	const char *names; /* each between bars */
	bool nested, perf; /* --nested, --allow perf help */
	const char *why;
} hints[] = {
	{"|sudo|su|doas|pkexec|run0|", false, false,
	 "no process can change its user in a run: start guard as that user, "
	 "or do this outside"},
	{"|systemctl|systemd-run|loginctl|crontab|at|batch|", false, false,
	 "it would start a process outside of the run, which a run cannot do: "
	 "do this outside"},
	{"|unshare|bwrap|firejail|flatpak|podman|buildah|chromium|chrome|"
	 "google-chrome|google-chrome-stable|chromium-browser|",
	 true, false,
	 "it creates namespaces, which a run may not do: use --nested"},
	{"|perf|", false, true,
	 "performance events are forbidden in a run: use --allow perf"},
};

void run_hints_print(const struct run_options *o)
{
	const char *slash = strrchr(o->argv[0], '/');
	const char *name = slash ? slash + 1 : o->argv[0];
	auto_free char *barred = mem_printf("|%s|", name);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(hints); i++)
		if (*name && !strchr(name, '|') &&
		    strstr(hints[i].names, barred) &&
		    !(hints[i].nested && o->nested) &&
		    !(hints[i].perf && o->allow_perf))
			report_note("%s: %s", text_quote(name), hints[i].why);
}

/* In the workspace: each name that was told, by its kind. */
#define NOTICES_SHOWN "told"
#define VERSION 1
#define NAMED_MAX 8
#define VARIABLES_MAX 20
/* Entries of a masked directory that are inspected: keys are near its top, and
 * a browser's cache may be below. */
#define INSPECTED_MAX 64

/* Names of one kind that are shown. */
enum notice {
	NOTICE_SECRET,
	NOTICE_CLOSED,
	NOTICE_TRACKED,
	NOTICE_PATH,
	NOTICE_LINK,
	NOTICE_VARIABLE,
	NOTICE_SOCKET,
	NOTICES
};

static const struct {
	const char *key; /* in the record */
	const char *intro; /* in front of the names */
	const char *remedy; /* option that grants one */
} kinds[NOTICES] = {
	[NOTICE_SECRET] = {"secret", "exposed without their secrets",
			   "--ro PATH exposes the original"},
	[NOTICE_CLOSED] = {"closed",
			   "empty, because guard cannot remove their secrets "
			   "(no text, or larger than 64 MiB)",
			   "--ro PATH exposes the original"},
	[NOTICE_TRACKED] = {"tracked",
			    "git tracks them here, so the run can read their "
			    "secrets",
			    "--hide PATH masks one"},
	[NOTICE_PATH] = {"path", "masked", "--ro PATH exposes one"},
	[NOTICE_LINK] = {"link", "masked, but it has another hard link",
			 "find ~ -samefile NAME finds it, --hide masks it"},
	[NOTICE_VARIABLE] = {"variable", "not passed on",
			     "--env NAME passes one on"},
	[NOTICE_SOCKET] = {"socket", "not reachable",
			   "--ro PATH exposes one, and its server acts "
			   "outside"},
};

/* A notice is shown once in a project. */
struct notice_log {
	struct record record;
	bool any; /* something is new */
	struct buf names[NOTICES];
	size_t counts[NOTICES];
};

static void notice_log_free(struct notice_log *t)
{
	record_free(&t->record);
}

static bool is_new_notice(struct notice_log *t, const char *key,
			  const char *text)
{
	if (record_has(&t->record, key, text))
		return false;
	record_add(&t->record, key, text);
	t->any = true;
	return true;
}

static void add_notice(struct notice_log *t, enum notice kind, const char *name)
{
	struct buf *names = &t->names[kind];

	if (!is_new_notice(t, kinds[kind].key, name) ||
	    t->counts[kind]++ >= NAMED_MAX)
		return;
	if (names->len)
		buf_add_text(names, ", ");
	text_escape_name(names, name);
}

static void print_notices(struct notice_log *t)
{
	size_t i;

	for (i = 0; i < NOTICES; i++) {
		struct buf *names = &t->names[i];

		if (t->counts[i] > NAMED_MAX)
			buf_printf(names, " and %zu more",
				   t->counts[i] - NAMED_MAX);
		if (t->counts[i])
			report_note("%s: %s (%s; shown once per project)",
				    kinds[i].intro, buf_text(names),
				    kinds[i].remedy);
		buf_free(names);
	}
}

/* Let in, or seen without its secrets, which is told by itself. */
static bool is_visible(const struct run *run,
		       const struct redactions *redactions, const char *path)
{
	size_t i;

	for (i = 0; i < redactions->count; i++)
		if (strcmp(redactions->items[i].path, path) == 0)
			return true;
	return grants_cover(&run->agent->grants, path);
}

static bool has_hard_link_names(int dirfd, const char *name)
{
	struct stat s;

	return fstatat(dirfd, name, &s, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(s.st_mode) && s.st_nlink > 1;
}

/* "~/.x" below the home directory, else the path; to free. */
static char *name_home_path(const struct run *run, const char *path)
{
	const char *home = run->context.state.home;

	return home && path_below(path, home)
		       ? mem_printf("~/%s", path_rest(path, home))
		       : mem_strdup(path);
}

/* The name of a hidden path for a notice, to free: below the home directory, or
 * where a variable or settings name the path; NULL: not named. */
static char *name_hidden(const struct run *run, const char *path)
{
	const char *home = run->context.state.home;
	auto_free char *name = home && path_below(path, home)
				       ? name_home_path(run, path)
				       : NULL;
	size_t i;

	for (i = 0; i < run->places.count; i++) {
		const struct place *place = &run->places.items[i];

		if (!place->moved || strcmp(place->path, path) != 0 ||
		    (!name && mount_list_private_dir(path)))
			continue;
		return mem_printf("%s (%s)", name ? name : path, place->entry);
	}
	return TAKE(name);
}

/* Existing paths below the home directory, and moved ones. */
static void add_hidden_paths(struct notice_log *t, const struct run *run,
			     const struct redactions *redactions,
			     char *const *hide)
{
	const struct state *st = &run->context.state;
	struct stat s;

	/* The state is behind the others, then come destinations of backups. */
	for (; *hide && strcmp(*hide, st->path) != 0; hide++) {
		auto_free char *name = NULL;
		size_t left = INSPECTED_MAX;
		const struct dirent *e;
		DIR *dir;

		if (lstat(*hide, &s) < 0 || is_visible(run, redactions, *hide))
			continue;
		name = name_hidden(run, *hide);
		if (!name)
			continue;
		add_notice(t, NOTICE_PATH, name);
		/* A mask covers one name. A file with hard links elsewhere can
		 * be read by its other names, and only a search of the whole
		 * file system finds those. */
		if (has_hard_link_names(AT_FDCWD, *hide))
			add_notice(t, NOTICE_LINK, name);
		dir = opendir(*hide);
		while (dir && left-- && (e = readdir(dir))) {
			auto_free char *below = NULL;

			if (e->d_type == DT_DIR || e->d_type == DT_LNK ||
			    !has_hard_link_names(dirfd(dir), e->d_name))
				continue;
			below = mem_printf("%s/%s", name, e->d_name);
			add_notice(t, NOTICE_LINK, below);
		}
		if (dir)
			(void)closedir(dir);
	}
}

static bool is_passed_on(const struct run *run, const char *name)
{
	const char *const *env = run->options->env;
	size_t len = strlen(name);

	for (; *env; env++)
		if (strncmp(*env, name, len) == 0 &&
		    (!(*env)[len] || (*env)[len] == '='))
			return true;
	return false;
}

/* At a terminal on each start: a variable that is missing changes what a
 * program does. */
static void report_dropped_variables(struct notice_log *t,
				     const struct run *run,
				     const struct names *dropped)
{
	AUTO(buf) struct buf names = {0};
	size_t i, count = 0;

	for (i = 0; i < dropped->count; i++) {
		if (is_passed_on(run, dropped->items[i]))
			continue;
		if (!isatty(STDERR_FILENO)) {
			add_notice(t, NOTICE_VARIABLE, dropped->items[i]);
		} else if (count++ < VARIABLES_MAX) {
			buf_add_text(&names, names.len ? ", " : "");
			text_escape_name(&names, dropped->items[i]);
		}
	}
	if (count > VARIABLES_MAX)
		buf_printf(&names, " and %zu more", count - VARIABLES_MAX);
	if (names.len)
		report_note("not passed on: %s (--env NAME)", buf_text(&names));
}

/* An agent without a login, whose key is in the caller's environment. */
static void report_missing_login(struct run *run)
{
	struct agent *a = run->agent;
	const struct profile_item *item = NULL;
	AUTO(home_versions) struct home_versions h = {0};
	const char *missing = NULL;
	struct err ignored;

	if (!a->name || a->shared ||
	    home_versions_open(&run->context.state, a->name, &a->profile, &h,
			       &ignored) < 0)
		return;
	a->had_login = home_versions_has_login(&h);
	if (a->had_login || run->options->quiet)
		return;
	while ((item = profile_next(&a->profile, PROFILE_KEY, item))) {
		const char *value = getenv(item->value);

		if (value && *value && is_passed_on(run, item->value))
			return;
		if (value && *value && !missing)
			missing = item->value;
	}
	if (missing)
		report_note("%s is not logged in, and %s is not passed on: use "
			    "--env %s, or log in inside",
			    a->name, missing, missing);
}

/* A profile with keys is that of an agent with a model elsewhere. */
static void report_missing_network(const struct run *run)
{
	const struct agent *a = run->agent;

	if (a->name && !run->options->quiet &&
	    run->options->net == SANDBOX_NET_NONE &&
	    profile_next(&a->profile, PROFILE_KEY, NULL))
		report_note("no network: %s cannot reach its model", a->name);
}

static void add_sockets(struct notice_log *t, const struct run *run,
			const struct sandbox *sb)
{
	const struct grants *grants = &run->agent->grants;
	char *const *socket;
	size_t i;

	for (socket = sandbox_unreachable_sockets(sb); *socket; socket++)
		if (!grants_name(grants, *socket))
			add_notice(t, NOTICE_SOCKET, *socket);
	for (i = 0; i < grants->count; i++) {
		const struct grant *g = &grants->items[i];
		size_t count =
			S_ISDIR(g->mode) ? sandbox_count_sockets(sb, g) : 0;

		if (count)
			report_note("%s: %s hidden; name %s to grant %s",
				    g->label, text_count(count, "socket"),
				    count == 1 ? "it" : "them",
				    count == 1 ? "it" : "them");
	}
}

/* The store has plain copies that stay readable when the directory is closed.
 */
static void report_encryption(struct notice_log *t, const struct run *run)
{
	auto_free char *note =
		encryption_note(run->project, run->context.state.path);

	if (note && is_new_notice(t, "limit", "encrypted"))
		report_note("%s; shown once per project", note);
}

void run_notices_print(struct run *run, const struct sandbox *sb,
		       const struct redactions *redactions, char *const *hide,
		       const struct names *dropped)
{
	AUTO(notice_log) struct notice_log t = {0};
	struct err ignored;
	auto_close int fd = -1;
	size_t i;

	report_missing_login(run);
	report_missing_network(run);
	/* The notice stays unrecorded, so that a later run without --quiet
	 * shows it. */
	if (run->options->quiet)
		return;
	fd = workspace_open(run->context.state.workspaces_fd, run->project,
			    true, &ignored);
	if (fd >= 0)
		(void)record_load(fd, NOTICES_SHOWN, NOTICES_SHOWN, VERSION,
				  &t.record, &ignored);
	for (i = 0; i < redactions->count; i++) {
		const struct redaction *r = &redactions->items[i];
		auto_free char *path = name_home_path(run, r->path);

		if (r->any || r->closed)
			add_notice(&t,
				   r->tracked  ? NOTICE_TRACKED
				   : r->closed ? NOTICE_CLOSED
					       : NOTICE_SECRET,
				   path);
		if (!r->tracked && has_hard_link_names(AT_FDCWD, r->path))
			add_notice(&t, NOTICE_LINK, path);
	}
	add_hidden_paths(&t, run, redactions, hide);
	report_dropped_variables(&t, run, dropped);
	add_sockets(&t, run, sb);
	for (i = 0; i < run->places.notes.count; i++)
		if (is_new_notice(&t, "place", run->places.notes.items[i]))
			report_note("%s", run->places.notes.items[i]);
	report_encryption(&t, run);
	print_notices(&t);
	if (t.any && fd >= 0)
		(void)record_save(fd, NOTICES_SHOWN, NOTICES_SHOWN, VERSION,
				  &t.record, ATOMIC_NO_SYNC, &ignored);
}

void run_notices_print_refused(const struct sandbox_result *result)
{
	enum sandbox_refused_rename how = result->refused_how;
	const char *name = result->refused_rename;

	if (!name)
		return;
	if (how == SANDBOX_RENAME_UNREADABLE) {
		if (result->end == SANDBOX_EXITED && result->code)
			report_warning(
				"%s, whose memory guard cannot read, renamed "
				"something in a run that failed: a directory "
				"that is older than the run cannot be renamed "
				"by it (EXDEV); rename it with mv first",
				text_quote(name));
	} else if (how == SANDBOX_EXCHANGE_REFUSED)
		report_warning(
			"the directory %s could not be exchanged with another "
			"in the run (EXDEV): one of them is older than the "
			"run, and the layer has no atomic exchange; use three "
			"renames with a temporary name",
			text_quote(name));
	else
		report_warning("the directory %s could not be renamed in the "
			       "run (EXDEV): it is older than the run, and the "
			       "layer cannot rename it; mv copies it (for git "
			       "mv: mv, then git add -A)",
			       text_quote(name));
}
