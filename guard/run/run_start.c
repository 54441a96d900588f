#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"
#include "guard/acp/acp_filter.h"
#include "guard/agent/agent.h"
#include "guard/agent/redact.h"
#include "guard/agent/redactions.h"
#include "guard/change/importer.h"
#include "guard/change/live.h"
#include "guard/state/private_paths.h"
#include "guard/state/report.h"
#include "guard/run/run.h"
#include "guard/timeline/marks.h"
#include "overlay/lower_copy.h"
#include "overlay/layers.h"
#include "restore/git/gitrun.h"
#include "restore/parse/parse.h"

char **run_hidden_paths(const struct run *run)
{
	const char *home = run->context.state.home;
	AUTO(mem_list)
	char **private_paths =
		private_paths_list(&run->context.state, run->project);
	const char *const *more;
	struct names paths = {0};
	size_t i;

	/* The agent's own paths are not masked: they hold no credential of the
	 * user, or are granted. */
	for (i = 0; i < run->places.count; i++) {
		const struct place *place = &run->places.items[i];

		if ((place->how & PLACE_MASKED) &&
		    !agent_owns_path(run->agent, home, place->path))
			names_add(&paths, place->path);
	}
	for (more = run->options->hide; *more; more++) {
		struct err ignored;
		char *path = path_resolve(*more, &ignored);

		*VEC_ADD(&paths) = path ? path : mem_strdup(*more);
	}
	for (i = 0; private_paths[i]; i++)
		names_add(&paths, private_paths[i]);
	*VEC_ADD(&paths) = NULL;
	return paths.items;
}

/* The mounts over the machine's directories, in this order. */
struct covers {
	struct layers *layers;
	struct persistent_mount *persistent_mount;
	struct names paths; /* ended by NULL */
	size_t layer_count;
};

static struct covers find_covers(struct layers *layers,
				 struct persistent_mount *persistent_mount)
{
	struct covers c = {layers, persistent_mount};
	const char *path;
	size_t i;

	while ((path = layers_path(layers, c.layer_count))) {
		names_add(&c.paths, path);
		c.layer_count++;
	}
	for (i = 0; (path = persistent_mount_place(persistent_mount, i)); i++)
		names_add(&c.paths, path);
	*VEC_ADD(&c.paths) = NULL;
	return c;
}

static int open_layers(void *arg, struct err *err)
{
	const struct covers *c = arg;
	int got = layers_open(c->layers, err);

	return got < 0 ? got : persistent_mount_open(c->persistent_mount, err);
}

static int mount_layer(void *arg, size_t number, int root_fd, struct err *err)
{
	const struct covers *c = arg;

	return number < c->layer_count
		       ? layers_mount(c->layers, number, root_fd, err)
		       : persistent_mount_attach(c->persistent_mount,
						 number - c->layer_count,
						 root_fd, err);
}

/* A text that names something real which the run cannot see. */
static void warn_of_hidden(const struct run *run, const char *text)
{
	static const char *const private[] = {"/tmp", "/var/tmp", "/run",
					      "/dev/shm", NULL};
	auto_free char *path = NULL;
	struct err ignored;
	size_t i;

	if (text[0] != '/' || access(text, F_OK) < 0)
		return;
	path = path_resolve(text, &ignored);
	if (!path ||
	    session_root_of(&run->session, path) < run->session.root_count ||
	    (*run->session.home && path_below(path, run->session.home)) ||
	    grants_cover(&run->agent->grants, path))
		return;
	for (i = 0; private[i]; i++)
		if (path_below(path, private[i]))
			report_note("%s is not visible in the run: %s is "
				    "private there; --ro %s exposes it",
				    text_quote(text), private[i],
				    text_quote(text));
}

static void add_header_notes(const struct run *run, struct buf *notes)
{
	static const char *const networks[] = {"host", "none", "private"};
	const struct run_options *o = run->options;
	AUTO(buf) struct buf agent = {0}, extras = {0};
	const char *const *list;
	char *const *arg;
	const char *note;
	size_t i, len;

	agent_describe(run->agent, &agent);
	report_note("run %s in %s (network: %s%s)%s",
		    session_label(&run->session), text_quote(run->project),
		    networks[o->net], buf_text(&agent),
		    o->resume ? ", continued in its layer" : "");
	for (i = 1; i < run->session.root_count; i++)
		buf_printf(&extras, "%s%s", i > 1 ? ", " : "",
			   text_quote(run->session.roots[i].path));
	if (extras.len)
		report_note("each with its own layer, reviewed and applied "
			    "together: %s",
			    buf_text(&extras));
	for (note = buf_text(notes); *note; note += len + (note[len] == '\n')) {
		len = strcspn(note, "\n");
		report_note("%.*s", (int)len, note);
	}
	for (i = 0; i < run->agent->grants.count; i++) {
		auto_free char *link = grant_describe_link(
			&run->agent->grants.items[i], run->project,
			run->context.state.home);

		if (link)
			report_note("%s", link);
	}
	/* The command's arguments, and variables that the user passes on
	 * himself. */
	for (arg = o->argv; *arg; arg++)
		warn_of_hidden(run, *arg);
	for (list = o->env; *list; list++) {
		const char *equals = strchr(*list, '=');
		const char *value = equals ? equals + 1 : getenv(*list);

		if (value)
			warn_of_hidden(run, value);
	}
	run_hints_print(o);
}

/* The paths that no link may expose: masked ones, and files of which the run
 * sees a copy. */
static char **find_unreadable(const struct run *run)
{
	char **paths = run_hidden_paths(run);
	size_t i;

	for (i = 0; i < run->places.count; i++)
		if (!(run->places.items[i].how & PLACE_MASKED))
			mem_list_add(&paths, run->places.items[i].path);
	return paths;
}

static int check_link(const struct run *run, const struct grant *g,
		      struct err *err)
{
	const char *home = run->context.state.home;
	char **hide = find_unreadable(run);
	bool named = true;
	bool hidden = grant_find_hidden(g, hide, &named) != NULL;
	auto_free char *shown =
		home && path_below(g->real, home)
			? mem_printf("~/%s", path_rest(g->real, home))
			: mem_strdup(g->real);

	mem_list_free(&hide);
	if (hidden && g->project)
		return fail(err, EPERM,
			    "%s would expose a masked path, and a project's "
			    "file may only restrict",
			    g->label);
	if (hidden && !named)
		return fail(err, EPERM,
			    "%s leads to %s, which is hidden; name %s to grant "
			    "it",
			    g->label, text_quote(shown), shown);
	/* A socket's server acts outside. */
	if (S_ISSOCK(g->mode) && g->links.count)
		return fail(err, EPERM,
			    "%s leads to %s, a socket; name %s to grant it",
			    g->label, text_quote(shown), shown);
	return 0;
}

static int check_private(const struct run *run, const char *path,
			 struct err *err)
{
	AUTO(mem_list)
	char **list = private_paths_list(&run->context.state, run->project);
	size_t i;

	for (i = 0; list[i]; i++)
		if (path_below(path, list[i]))
			return fail(err, EPERM, "%s is %s: no run may see it",
				    text_quote(path),
				    i > 1 ? "a destination of backups"
					  : "guard's own state");
	return 0;
}

/*
 * A grant wins over a mask and is mounted on top of the layers. No grant may
 * expose the state itself, or a directory that holds the project, whose layer
 * it would cover. A directory above the state may be granted: the mask of the
 * state stays.
 */
static int check_grant(const struct run *run, const struct grant *g,
		       struct err *err)
{
	const char *home = run->context.state.home;
	const char *name = text_quote(g->written);
	size_t i;

	if (path_below(run->project, g->real))
		return fail(err, EPERM,
			    "%s contains the project: exposing it would "
			    "replace the run's layer by the real files; "
			    "name a directory next to the project",
			    name);
	if (home && path_below(home, g->real))
		return fail(err, EPERM,
			    "%s contains your home directory: exposing it "
			    "would replace the run's layer by the real one; "
			    "name a directory in it",
			    name);
	for (i = 1; i < run->session.root_count; i++)
		if (path_below(run->session.roots[i].path, g->real))
			return fail(err, EPERM,
				    "%s is or contains a directory of --cow: "
				    "exposing it would replace its layer by "
				    "the real files",
				    name);
	if (check_private(run, g->real, err) < 0)
		return -err->num;
	if (g->kind == GRANT_READ_WRITE && !S_ISDIR(g->mode))
		return fail(err, ENOTDIR,
			    "--rw %s is not a directory: programs cannot "
			    "replace a single exposed file; name its directory",
			    name);
	if (g->kind == GRANT_READ_WRITE && access(g->real, W_OK) < 0)
		return fail_errno(err,
				  "%s is not writable for you, so it cannot be "
				  "for the run; --ro exposes it for reading",
				  name);
	return g->project || g->links.count ? check_link(run, g, err) : 0;
}

int run_check_grants(const struct run *run, struct err *err)
{
	const struct grants *grants = &run->agent->grants;
	size_t i;
	int got = 0;

	for (i = 0; got == 0 && i < grants->count; i++)
		got = check_grant(run, &grants->items[i], err);
	return got;
}

/* --share-login: a file that the agent shares beside its home, ~/.claude.json
 */
static bool is_shared_file(const struct run *run, const char *path)
{
	const struct profile_item *item = NULL;
	const struct agent *a = run->agent;
	const char *home = run->context.state.home;

	while (a->shared && home &&
	       (item = profile_next(&a->profile, PROFILE_KEYS, item))) {
		auto_free char *file =
			mem_printf("%s/%.*s", home,
				   (int)strcspn(item->value, "#"), item->value);

		if (strcmp(file, path) == 0)
			return true;
	}
	return false;
}

static bool hides_path(const struct run *run, const char *path)
{
	const char *const *hide;
	struct err ignored;

	for (hide = run->options->hide; *hide; hide++) {
		auto_free char *hidden = path_resolve(*hide, &ignored);

		if (hidden && path_below(path, hidden))
			return true;
	}
	return false;
}

static bool enter_repository(const char *dir)
{
	static const char *const variables[] = {
		"GIT_DIR",	  "GIT_WORK_TREE",	   "GIT_COMMON_DIR",
		"GIT_INDEX_FILE", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(variables); i++)
		(void)unsetenv(variables[i]);
	return chdir(dir) == 0 && setenv("GIT_NO_LAZY_FETCH", "1", 1) == 0;
}

static bool is_in_root(const struct run *run, const char *real)
{
	bool inside = path_below(real, run->project);
	size_t i;

	for (i = 1; i < run->session.root_count; i++)
		inside |= path_below(real, run->session.roots[i].path);
	return inside;
}

/* Whether the file is in a repository of the run's directories: there `git
 * commit -a` would commit a copy without secrets, and the objects have the
 * secrets anyway. Without core.fsmonitor, ls-files executes nothing that the
 * repository's configuration names. */
static bool is_tracked(const struct run *run, const char *path)
{
	struct err ignored;
	auto_free char *real = path_resolve(path, &ignored);
	auto_free char *dir = real ? path_parent(real) : NULL;
	const char *git = gitrun_program();
	auto_free char *name = mem_strdup(real ? path_name(real) : "");
	char *const argv[] = {"git",	  "--literal-pathspecs",
			      "-c",	  "core.fsmonitor=false",
			      "ls-files", "-v",
			      "--",	  name,
			      NULL};
	AUTO(buf) struct buf line = {0};

	/* Entries that git takes for unchanged have a small letter or an S. */
	return real && is_in_root(run, real) && git &&
	       child_output(git, argv, enter_repository, dir, PATH_MAX,
			    &line) == 0 &&
	       line.len && line.data[0] >= 'A' && line.data[0] < 'S';
}

/* Without those of the agent's own files and of paths that the user hides,
 * which are masked completely. */
void run_find_redactions(const struct run *run, struct redactions *redactions)
{
	struct stat st;
	size_t i;

	for (i = 0; i < run->places.count; i++) {
		const struct place *place = &run->places.items[i];

		if (agent_owns_path(run->agent, run->context.state.home,
				    place->path) ||
		    is_shared_file(run, place->path) ||
		    hides_path(run, place->path))
			continue;
		if (place->how != PLACE_MASKED)
			redactions_add(redactions, &run->context.state, place);
		else if (stat(place->path, &st) == 0 && S_ISREG(st.st_mode) &&
			 is_tracked(run, place->path))
			*VEC_ADD(redactions) = (struct redaction){
				.path = mem_strdup(place->path), .any = true};
	}
	for (i = 0; i < redactions->count; i++) {
		struct redaction *r = &redactions->items[i];

		r->tracked = (r->any || r->closed) && is_tracked(run, r->path);
	}
}

/* A commit of the run must not replace the file by its mask or copy. */
static void record_mask(struct run *run, const struct redactions *redactions,
			const char *path)
{
	struct record *more = &run->session.more;
	struct err ignored;
	auto_free char *real = path_resolve(path, &ignored);
	size_t i;

	for (i = 0; i < redactions->count; i++)
		if (redactions->items[i].tracked &&
		    strcmp(redactions->items[i].path, path) == 0)
			return;
	if (real && access(real, F_OK) == 0 && is_in_root(run, real) &&
	    !record_has(more, IMPORTER_MASKED, real))
		record_add(more, IMPORTER_MASKED, real);
}

static bool value_has_secret(const char *value, size_t len)
{
	AUTO(buf) struct buf ignored = {0};

	return redact_has_secret(value, len) ||
	       redact_prose(value, len, &ignored);
}

static char **make_environ(const struct run *run, const struct layers *layers,
			   struct names *dropped)
{
	const char *const *variables = run->options->env;
	size_t own = 0, count = 0, i;
	const char *start_dir =
		run->options->dir ? run->options->dir : getenv("PWD");
	auto_free char *real = NULL, *pwd = NULL, *name = NULL;
	auto_free const char **extra = NULL;
	struct err ignored;

	while (variables[count])
		count++;
	extra = mem_zalloc((count + 4) * sizeof(*extra));
	/* git does not search for its .git across file systems. */
	if (layers_are_split(layers))
		extra[own++] = "GIT_DISCOVERY_ACROSS_FILESYSTEM=1";
	/* The path, with symbolic links, by which the user entered the start
	 * directory: some tools know the directory by that name, such as
	 * cmake(1). */
	if (start_dir && start_dir[0] == '/')
		real = path_resolve(start_dir, &ignored);
	if (real && strcmp(real, run->cwd) == 0)
		extra[own++] = pwd = mem_printf("PWD=%s", start_dir);
	/* For names of containers and databases that no other run uses. */
	if (session_name(&run->session))
		extra[own++] = name = mem_printf("GUARD_NAME=%s",
						 session_name(&run->session));
	for (i = 0; i < count; i++)
		extra[own + i] = variables[i];
	return sandbox_environ(
		&(struct environ_request){
			.extra = extra,
			.home = run->context.state.home,
			.run_id = run->session.id,
			.clean = run->options->env_clean,
			.has_secret = value_has_secret,
		},
		dropped);
}

void run_set_start_time(struct run *run, struct timestamp time)
{
	run->session.started = time;
	if (run->options->resume && run->session.times)
		return;
	run->session.began = time;
	session_note_clock(&run->session);
}

int run_record_running(struct run *run, const struct sandbox *sb,
		       struct err *err)
{
	live_record_init(&run->session, sb);
	run->session.times++;
	return session_set_state(&run->session, RUN_RUNNING, err);
}

struct start_report {
	struct run *run;
	const struct redactions *redactions;
	char *const *hide;
	const struct names *dropped;
};

static int report_while_starting(void *arg, const struct sandbox *sb,
				 struct err *err)
{
	const struct start_report *b = arg;

	run_notices_print(b->run, sb, b->redactions, b->hide, b->dropped);
	if (b->run->options->resume)
		return 0;
	run_set_start_time(b->run, b->run->begun);
	return run_record_running(b->run, sb, err);
}

static int copy_frozen_dirs(const struct run *run, struct buf *notes,
			    struct err *err)
{
	const struct run_options *o = run->options;

	if (o->home)
		return fail(err, EINVAL,
			    "--frozen would copy all of your home directory "
			    "with guard's own state: use only one of --frozen "
			    "and --home");
	if (o->resume)
		return fail(err, EINVAL,
			    "--frozen is for a new run: a continued run keeps "
			    "its files");
	return lower_copy_make(&run->session, run->project_fd, notes, err);
}

struct sandbox_policy run_policy(const struct run *run)
{
	const struct run_options *o = run->options;

	return (struct sandbox_policy){
		.argv = o->argv,
		.cwd = run->cwd,
		.home = run->context.state.home,
		.never_granted = run->context.state.path,
		.grants = &run->agent->grants,
		.net = o->net,
		.ports = o->ports,
		.port_count = o->port_count,
		.nested = o->nested,
		.continued = o->resume,
		.strict = o->strict,
		.allow_perf = o->allow_perf,
		.allow_io_uring = o->allow_io_uring,
		.allow_userfaultfd = o->allow_userfaultfd,
		.allow_32bit = o->allow_32bit,
		.timeout_ms = o->timeout_ms,
		.pids_limit = o->pids_limit,
		.memory = o->memory,
		.cpus_milli = o->cpus_milli,
		.tmp_size = o->tmp_size,
		.has_user = o->has_user,
		.user = o->user,
		.group = o->group,
		.groups = o->groups,
		.group_count = o->group_count,
		.open_layers = open_layers,
		.mount_layer = mount_layer,
		.during_setup = report_while_starting,
	};
}

int run_start(struct run *run, struct layers **layers, struct err *err)
{
	const struct run_options *o = run->options;
	AUTO(names) struct names dropped = {0};
	AUTO(buf) struct buf notes = {0};
	AUTO(buf) struct buf limits = {0};
	auto_close int copy = -1;
	auto_close int tmp = -1;
	auto_close int var_tmp = -1;
	auto_close int exec_socket = -1;
	struct redactions redactions = {0};
	struct err ignored;
	struct covers covers;
	char **argv = NULL;
	struct start_report start_report;
	auto_free char *session_path = NULL, *fifo = NULL, *program = NULL;
	struct sandbox_file files[] = {{MARKS_RUN_PROGRAM}, {NULL}, {NULL}};
	struct sandbox_policy policy = run_policy(run);
	char **hide, **envp;
	size_t i;
	int got;

	if (check_private(run, run->cwd, err) < 0 ||
	    run_check_grants(run, err) < 0 ||
	    budget_begin(&run->budget, run->session.fd, o->layer_bytes,
			 o->layer_files, o->resume, err) < 0)
		return -err->num;
	if (o->frozen && copy_frozen_dirs(run, &notes, err) < 0)
		return -err->num;
	if (!o->resume)
		gid_cache_recall(&run->session,
				 run->context.state.workspaces_fd);
	if (layers_plan(&run->session,
			o->strict ? NULL : run->context.state.home, layers,
			&notes, err) < 0 ||
	    (o->copy_dir && layers_copy(*layers, o->copy_dir, err) < 0) ||
	    agent_open(run->agent, &run->context.state, &run->session, &notes,
		       err) < 0)
		return -err->num;
	if (o->durable)
		layers_make_durable(*layers);
	if (o->copy_dir)
		copy = open(o->copy_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	tmp = fd_open_dir_path(o->copy_dir ? copy : run->session.fd, "tmp");
	var_tmp = fd_open_dir_path(o->copy_dir ? copy : run->session.fd,
				   "var-tmp");
	if (tmp < 0 || var_tmp < 0)
		return fail_errno(err, "open the run's /tmp");
	/* A copy of a run, and one without versions, has no marks. */
	if (!o->copy_dir && o->versions_ms)
		run->mark_fd = marks_open(run->session.fd);
	session_path = fd_path(run->session.fd);
	fifo = path_join(session_path, TIMELINE_FIFO);
	program = path_resolve("/proc/self/exe", &ignored);
	files[0].source = program;
	if (run->mark_fd >= 0)
		files[1] = (struct sandbox_file){MARKS_RUN_FIFO, fifo};
	/* Without the socket the run works as well, but `guard exec` cannot
	 * enter it. */
	if (!o->copy_dir)
		exec_socket = exec_socket_create(run->session.fd, &ignored);
	covers = find_covers(*layers, run->agent->persistent_mount);
	hide = run_hidden_paths(run);
	run_find_redactions(run, &redactions);
	for (i = 0; i < redactions.count; i++)
		record_mask(run, &redactions, redactions.items[i].path);
	for (i = 0; hide[i]; i++)
		record_mask(run, &redactions, hide[i]);
	/* guard's own directory for the agent is there. */
	for (i = 0; i < run->agent->places.count && !run->agent->shared; i++)
		record_mask(run, &redactions, run->agent->places.items[i].path);
	envp = make_environ(run, *layers, &dropped);
	add_header_notes(run, &notes);
	start_report = (struct start_report){run, &redactions, hide, &dropped};
	if (o->acp) {
		argv = acp_filter_argv(acp_filter_name, o->argv);
		policy.argv = argv;
		policy.own_program = true;
	}
	policy.envp = envp;
	policy.tmp_fd = tmp;
	policy.var_tmp_fd = var_tmp;
	policy.exec_socket_fd = exec_socket;
	policy.hide = (const char *const *)hide;
	policy.redactions = &redactions;
	policy.files = files + !program;
	policy.layers = (const char *const *)covers.paths.items;
	policy.layers_arg = &covers;
	policy.during_setup_arg = &start_report;
	/* The settings are read; nothing is parsed while the command runs. */
	parse_end();
	got = sandbox_start(&policy, &run->sandbox, err);
	if (got == 0)
		sandbox_describe_limits(run->sandbox, &limits);
	if (limits.len)
		report_note("%s", buf_text(&limits));
	mem_list_free(&covers.paths.items);
	mem_list_free(&hide);
	mem_list_free(&argv);
	redactions_free(&redactions);
	sandbox_environ_free(envp);
	return got;
}
