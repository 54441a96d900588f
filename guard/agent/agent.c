#include "guard/agent/agent.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/sandbox/places.h"
#include "guard/state/report.h"

enum { ENV, HIDE, LISTS };

void agent_free(struct agent **a)
{
	struct agent *freed = *a;
	size_t i;

	if (!freed)
		return;
	*a = NULL;
	for (i = 0; i < freed->places.count; i++)
		free(freed->places.items[i].path);
	VEC_FREE(&freed->places);
	for (i = 0; i < freed->rules.count; i++)
		free(freed->rules.items[i].path);
	VEC_FREE(&freed->rules);
	grants_free(&freed->grants);
	for (i = 0; i < LISTS; i++)
		mem_list_free(&freed->lists[i]);
	persistent_mount_free(&freed->persistent_mount);
	names_free(&freed->commands);
	names_free(&freed->written);
	profile_free(&freed->profile);
	free(freed->name);
	free(freed);
}

/* ---- profile files ---- */

char *agent_config_dir(const struct state *state)
{
	const char *config = getenv("XDG_CONFIG_HOME");

	if (config && config[0] == '/')
		return path_join(config, "guard/agents");
	return state->home ? path_join(state->home, ".config/guard/agents")
			   : NULL;
}

/* A user's own file that others may write would let them decide. */
static int read_profile_text(int fd, bool own, struct buf *to, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail_errno(err, "stat it");
	if (own && st.st_uid != geteuid() && st.st_uid != 0)
		return fail(err, EPERM, "it belongs to uid %u, not to you",
			    (unsigned int)st.st_uid);
	if (own && st.st_mode & 022)
		return fail(err, EPERM,
			    "other users may write to it: run chmod go-w");
	if (!S_ISREG(st.st_mode))
		return fail(err, EINVAL, "it is not a regular file");
	return fd_slurp(fd, PROFILE_BYTES_MAX, to, err);
}

int agent_read(const struct state *state, const char *name, struct profile *to,
	       struct err *err)
{
	const char *shipped = profile_shipped(name);
	auto_free char *file = mem_printf("guard's own %s", name);
	auto_free char *dir = agent_config_dir(state);
	auto_free char *path = dir ? path_join(dir, name) : NULL;
	AUTO(buf) struct buf text = {0};
	auto_close int fd = -1;

	if (shipped &&
	    profile_parse(to, file, false, shipped, strlen(shipped), err) < 0)
		return -err->num;
	if (!path)
		return shipped != NULL;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return shipped != NULL;
	if (fd < 0)
		return fail_errno(err, "profile %s", text_quote(path));
	if (read_profile_text(fd, true, &text, err) < 0)
		return err_context(err, "profile %s", text_quote(path));
	return profile_parse(to, path, false, text.data, text.len, err) < 0
		       ? -err->num
		       : 1;
}

/* The path of a line without "#KEY". */
static void add_settings_place(const struct profile_item *item)
{
	auto_free char *path =
		mem_strndup(item->value, strcspn(item->value, "#"));
	const bool file =
		strlen(path) < strlen(item->value) ||
		((item->word == PROFILE_INITIAL || item->word == PROFILE_RO) &&
		 strchr(path_name(path) + 1, '.'));

	/* Directories of initial lines are those of packages. */
	if (!file && item->word != PROFILE_SEED && item->word != PROFILE_LOGIN)
		return;
	if (item->in_home && !strpbrk(path, "*?["))
		places_add(path, item->word == PROFILE_LOGIN ? PLACE_MASKED
							     : PLACE_AGENT);
}

static void add_agent_name(char ***names, const char *name)
{
	if (profile_name_ok(name))
		mem_list_add_once(names, name);
}

static void add_names_in(char ***names, int fd)
{
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	size_t i;

	if (fd < 0 || dirlist_read(fd, &list, &ignored) < 0)
		return;
	for (i = 0; i < list.count; i++)
		add_agent_name(names, list.items[i].name);
}

char **agent_names(const struct state *state, bool homes)
{
	auto_free char *config = agent_config_dir(state);
	auto_close int profiles =
		open(config ?: "", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int dir = -1;
	char **names = NULL;
	const char *shipped;
	struct err ignored;
	size_t i;

	for (i = 0; (shipped = profile_shipped_name(i)); i++)
		add_agent_name(&names, shipped);
	add_names_in(&names, profiles);
	if (homes)
		dir = agent_open_state(state, NULL, false, &ignored);
	add_names_in(&names, dir);
	return names;
}

/* The profiles of all agents, as far as they can be read. */
static void read_profiles(const struct state *state, struct profile *to)
{
	char **names = agent_names(state, false), **name;
	struct err ignored;

	for (name = names; *name; name++)
		(void)agent_read(state, *name, to, &ignored);
	mem_list_free(&names);
}

void agent_find_settings(const struct state *state)
{
	AUTO(profile) struct profile all = {0};
	size_t i;

	read_profiles(state, &all);
	for (i = 0; i < all.count; i++)
		add_settings_place(&all.items[i]);
}

static int read_project_profile(const char *project, struct profile *to,
				struct err *err)
{
	auto_close int root = fd_open_dir_path(AT_FDCWD, project);
	auto_free char *path = path_join(project, AGENT_PROJECT_FILE);
	AUTO(buf) struct buf text = {0};
	auto_close int fd = -1;

	if (root < 0)
		return fail_errno(err, "open %s", text_quote(project));
	fd = beneath_open(root, AGENT_PROJECT_FILE, O_RDONLY | O_NONBLOCK, 0,
			  err);
	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0;
	if (fd < 0 || read_profile_text(fd, false, &text, err) < 0)
		return err_context(err, "profile %s", text_quote(path));
	return profile_parse(to, path, true, text.data, text.len, err);
}

/* ---- the program of a command ---- */

/* Options whose value is the next argument. */
#define NODE_VALUES " -p --package -w --workspace --registry --cache "
#define PYTHON_VALUES " --from --with --spec --python -p --index-url -i "

/* Launchers that fetch and start a program, and their options with a value. */
static const struct launcher {
	const char *words[3];
	const char *values;
} launchers[] = {
	{{"npx"}, NODE_VALUES},
	{{"bunx"}, NODE_VALUES},
	{{"pnpx"}, NODE_VALUES},
	{{"npm", "exec"}, NODE_VALUES},
	{{"npm", "x"}, NODE_VALUES},
	{{"pnpm", "dlx"}, NODE_VALUES},
	{{"pnpm", "exec"}, NODE_VALUES},
	{{"yarn", "dlx"}, NODE_VALUES},
	{{"bun", "x"}, NODE_VALUES},
	{{"uvx"}, PYTHON_VALUES},
	{{"uv", "tool", "run"}, PYTHON_VALUES},
	{{"pipx", "run"}, PYTHON_VALUES},
};

/* Agents whose package has another name. */
static const struct {
	const char *package, *agent;
} packages[] = {
	{"@anthropic-ai/claude-code", "claude"},
	{"@openai/codex", "codex"},
	{"@google/gemini-cli", "gemini"},
	{"opencode-ai", "opencode"},
	{"aider-chat", "aider"},
};

/* The first argument that is no option; NULL: none, or the program is in the
 * text of an option. */
static char *const *find_operand(const struct launcher *l, char *const *argv)
{
	for (; *argv && (*argv)[0] == '-'; argv++) {
		auto_free char *word = mem_printf(" %s ", *argv);

		if (strcmp(*argv, "--") == 0)
			return argv[1] ? argv + 1 : NULL;
		if (strcmp(*argv, "-c") == 0 || strcmp(*argv, "--call") == 0)
			return NULL;
		if (argv[1] && strstr(l->values, word))
			argv++;
	}
	return *argv ? argv : NULL;
}

/* "name@1.2", "name==1.2", "name[extra]" without the suffix. */
static char *package_name(const char *package)
{
	size_t at = *package == '@';

	return mem_strndup(package, at + strcspn(package + at, "@=<>~[ "));
}

/* The word of argv that names the program: argv[0], or the package that a
 * launcher fetches and starts (`npx NAME`, `uvx NAME`...). Returns NULL if
 * there is none. *ret_name is the name, without directory or version, for the
 * caller to free. */
static char *const *find_program(char *const *argv, char **ret_name)
{
	size_t i, n;

	if (!argv || !argv[0])
		return NULL;
	for (i = 0; i < ARRAY_SIZE(launchers); i++) {
		const struct launcher *l = &launchers[i];
		char *const *operand;

		for (n = 0; n < 3 && l->words[n]; n++)
			if (!argv[n] || strcmp(n ? argv[n] : path_name(argv[0]),
					       l->words[n]) != 0)
				break;
		if (n < 3 && l->words[n])
			continue;
		operand = find_operand(l, argv + n);
		if (operand)
			*ret_name = package_name(*operand);
		return operand;
	}
	*ret_name = mem_strdup(path_name(argv[0]));
	return argv;
}

/* The agent of a command: the name of its program, or the shipped profile that
 * knows it as an adapter; "" if it is unknown. A package of an unknown scope is
 * no known agent, whatever its name. For the caller to free. Pure. */
static char *agent_program(char *const *argv)
{
	auto_free char *name = NULL, *line = NULL;
	const char *agent;
	size_t i;

	if (!find_program(argv, &name))
		return mem_strdup("");
	for (i = 0; i < ARRAY_SIZE(packages); i++)
		if (strcmp(packages[i].package, name) == 0)
			return mem_strdup(packages[i].agent);
	line = mem_printf("\nacp %s", name);
	for (i = 0; (agent = profile_shipped_name(i)); i++) {
		const char *at = strstr(profile_shipped(agent), line);

		if (at && isspace(at[strlen(line)]) &&
		    strcmp(agent, "default") != 0)
			return mem_strdup(agent);
	}
	return mem_strdup(*name == '@' ? "" : path_name(name));
}

/* ---- commands of editors ---- */

/* Programs that start the one behind their options. */
#define STARTERS                                                               \
	" env exec nice ionice nohup timeout setsid stdbuf sh bash dash zsh "  \
	"node npx bunx pnpx npm pnpm yarn bun x dlx uvx uv pipx tool run "

/* sh -c TEXT, env -S TEXT, npx --call TEXT */
static bool takes_command(const char *option)
{
	return *option == '-' && (strchr("cS", option[strlen(option) - 1]) ||
				  strcmp(option, "--call") == 0);
}

/* The words of a command, with those of a text that is one. */
static char **command_words(char *const *argv)
{
	char **words = NULL, *save, *word;
	bool is_text = false;

	for (; *argv; argv++) {
		auto_free char *text = mem_strdup(*argv);

		word = is_text ? strtok_r(text, " \t\n;'\"", &save) : text;
		for (; word;
		     word = is_text ? strtok_r(NULL, " \t\n;'\"", &save) : NULL)
			mem_list_add(&words, word);
		is_text = takes_command(*argv);
	}
	return words;
}

static bool starts_another(const char *word)
{
	auto_free char *name = mem_printf(" %s ", path_name(word));

	return *word == '-' || isdigit((unsigned char)*word) ||
	       strchr(word, '=') || strstr(STARTERS, name);
}

/* A word of a command, by what it may have its name. */
struct program {
	char *own, *file; /* file: the one that it links to, or NULL */
};

static struct program word_program(const char *word)
{
	auto_free char *path =
		strchr(word, '/') ? mem_strdup(word) : path_find_program(word);

	return (struct program){package_name(path_name(word)),
				path ? realpath(path, NULL) : NULL};
}

/* The name may be its own, that of the file that it links to, or that of the
 * file's package. A package may be of any publisher. */
static bool is_program(const struct program *p, const char *name)
{
	auto_free char *linked = mem_printf("*/%s", name);
	auto_free char *package = mem_printf("*/node_modules/*%s/*", name);

	return fnmatch(name, p->own, 0) == 0 ||
	       (p->file && (fnmatch(linked, p->file, 0) == 0 ||
			    fnmatch(package, p->file, 0) == 0));
}

static bool is_adapter(const struct program *p, char *const *words,
		       const struct profile_item *item)
{
	const size_t len = strcspn(item->value, " ");
	auto_free char *program = mem_strndup(item->value, len);
	auto_free char *value = NULL;
	const char *wanted = item->value + len + (item->value[len] != '\0');

	if (!is_program(p, path_name(program)))
		return false;
	if (!*wanted)
		return true;
	/* --acp=true */
	value = mem_printf("%s=", wanted);
	while (*++words)
		if (strcmp(*words, wanted) == 0 ||
		    strncmp(*words, value, strlen(value)) == 0)
			return true;
	return false;
}

static bool is_pipe(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 &&
	       (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

bool agent_talks_acp(const struct state *state, char *const *argv,
		     bool in_acp_run)
{
	AUTO(profile) struct profile all = {0};
	const struct profile_item *item = NULL;
	char **words, **at;
	bool found = false;

	if (isatty(STDIN_FILENO) || isatty(STDOUT_FILENO))
		return false;
	if (in_acp_run && is_pipe(STDIN_FILENO) && is_pipe(STDOUT_FILENO))
		return true;
	read_profiles(state, &all);
	words = command_words(argv);
	for (at = words; at && *at && !found; at++) {
		struct program p = word_program(*at);

		while (!found && (item = profile_next(&all, PROFILE_ACP, item)))
			found = is_adapter(&p, at, item);
		free(p.own);
		free(p.file);
		/* Options may have values. */
		if (!starts_another(*at) &&
		    (at == words || *at[-1] != '-' || takes_command(at[-1])))
			break;
	}
	mem_list_free(&words);
	return found;
}

/* ---- selection ---- */

static int choose_agent(struct agent *a, const struct run_options *o,
			const struct state *state, struct err *err)
{
	auto_free char *program = agent_program(o->argv);
	const char *name = o->agent ? o->agent : program, *one;
	auto_free char *dir = agent_config_dir(state);
	auto_free char *path = dir ? path_join(dir, name) : NULL;
	AUTO(buf) struct buf known = {0};
	size_t i;

	if (strcmp(name, AGENT_NONE) == 0)
		return 0;
	if (profile_name_ok(name) && strcmp(name, "default") != 0 &&
	    (profile_shipped(name) || (path && access(path, F_OK) == 0))) {
		a->name = mem_strdup(name);
		return 0;
	}
	if (!o->agent)
		return 0;
	for (i = 0; (one = profile_shipped_name(i)); i++)
		if (strcmp(one, "default") != 0)
			buf_printf(&known, "%s, ", one);
	return fail(err, EINVAL,
		    "--agent: no such profile: %s; use %snone, or one of your "
		    "own in ~/.config/guard/agents",
		    text_quote(name), buf_text(&known));
}

/* ---- places ---- */

/* The home that holds a path below the home directory, or NULL. */
static const struct profile_item *find_home_of(const struct agent *a,
					       const char *path)
{
	const struct profile_item *home = NULL;

	while ((home = profile_next(&a->profile, PROFILE_HOME, home)))
		if (path_below(path, home->value))
			break;
	return home;
}

/* Whether a seed or a piece of code lies in one of the homes. */
static int check_in_home(const struct agent *a, struct err *err)
{
	static const enum profile_word words[] = {PROFILE_SEED, PROFILE_WRITE,
						  PROFILE_DATA, PROFILE_CODE,
						  PROFILE_INITIAL};
	const struct profile_item *item = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		while ((item = profile_next(&a->profile, words[i], item)))
			if (!find_home_of(a, item->value))
				return fail(err, EINVAL,
					    "%s: %s ~/%s is not in a directory "
					    "that `home` names",
					    item->where,
					    profile_word_name(words[i]),
					    item->value);
	return 0;
}

/* The cache of a tool that the user does not have gets no directory. */
static bool lacks_parent(const struct profile_item *item, const char *path)
{
	auto_free char *above = path_parent(path);

	return item->word == PROFILE_CACHE && access(above, F_OK) < 0;
}

/* 1: *ret is where it lies; 0: it cannot be had there, or is not wanted. */
static int resolve_place(const struct profile_item *item,
			 const struct state *state, const char *project,
			 char **ret, struct err *err)
{
	auto_free char *path = profile_path(item, state->home, project);
	auto_free char *real = NULL;
	struct stat st;

	if (!path || lacks_parent(item, path))
		return 0;
	real = path_resolve(path, err);
	if (!real)
		return err_context(err, "%s", item->where);
	if (path_below(project, real) || lacks_parent(item, real))
		return 0;
	if (path_below(state->home, real) || path_below(real, state->path) ||
	    path_below(state->path, real))
		return fail(err, EINVAL,
			    "%s: %s ~/%s leads to %s: your home directory and "
			    "guard's state cannot be replaced in a run",
			    item->where, profile_word_name(item->word),
			    item->value, text_quote(real));
	if (lstat(real, &st) == 0 && !S_ISDIR(st.st_mode))
		return item->word == PROFILE_CACHE
			       ? 0
			       : fail(err, ENOTDIR, "%s: %s is not a directory",
				      item->where, text_quote(real));
	*ret = TAKE(real);
	return 1;
}

/* Whether the place would cover the layer over a directory of --cow. */
static bool covers_cow(const struct run_options *o, const char *place)
{
	const char *const *cow;
	bool covers = false;

	for (cow = o->cow; cow && *cow && !covers; cow++) {
		struct err ignored;
		auto_free char *real = path_resolve(*cow, &ignored);

		covers = real && path_below(real, place);
	}
	return covers;
}

static int add_places(struct agent *a, enum profile_word word,
		      const struct run_options *o, const struct state *state,
		      const char *project, struct err *err)
{
	const struct profile_item *item = NULL;

	while ((item = profile_next(&a->profile, word, item))) {
		char *place = NULL;
		int got = resolve_place(item, state, project, &place, err);
		bool known = false; /* two lines may say the same */
		size_t i;

		if (got < 0)
			return got;
		if (!got)
			continue;
		for (i = 0; i < a->places.count; i++)
			known |= strcmp(a->places.items[i].path, place) == 0;
		if (known || covers_cow(o, place) ||
		    (word == PROFILE_CACHE && path_below(place, project))) {
			free(place);
			continue;
		}
		*VEC_ADD(&a->places) = (struct agent_place){place, item};
	}
	return 0;
}

const struct agent_place *agent_place_of(const struct agent *a,
					 const char *path)
{
	const struct agent_place *found = NULL;
	size_t i;

	for (i = 0; i < a->places.count; i++)
		if (path_below(path, a->places.items[i].path) &&
		    (!found ||
		     path_below(a->places.items[i].path, found->path)))
			found = &a->places.items[i];
	return found;
}

bool agent_owns_path(const struct agent *a, const char *home, const char *path)
{
	size_t i;

	for (i = 0; home && i < a->places.count; i++) {
		auto_free char *written =
			path_join(home, a->places.items[i].item->value);

		if (a->places.items[i].item->word == PROFILE_HOME &&
		    path_below(path, written))
			return true;
	}
	return false;
}

/* ---- options ---- */

/* A line that restricts the run has no effect. No error, because a profile
 * serves many machines and states of a project. */
static void report_missing(const struct profile_item *item, const char *path)
{
	report_note("%s: %s %s: no such file or directory: the line does not "
		    "hold for this run, even if the file appears",
		    item->where, profile_word_name(item->word),
		    text_quote(path));
}

/* Adds the grant of a line of a profile. A profile serves many machines:
 * missing paths are skipped. */
static int add_profile_grant(struct agent *a, const struct profile_item *item,
			     const struct state *state, const char *project,
			     struct err *err)
{
	auto_free char *path = profile_path(item, state->home, project);
	char *label =
		mem_printf("%s: ro %s", item->where, text_quote(item->value));
	int got;
	struct grant *g;

	if (!path) {
		free(label);
		return 0;
	}
	got = grants_add(&a->grants, GRANT_READ_ONLY, label, path,
			 item->project ? project : NULL, err);
	if (got == -ENOENT || got == -ENOTDIR) {
		if (item->project)
			report_missing(item, path);
		return 0;
	}
	if (got < 0 && got != -EXDEV)
		return got;
	g = got < 0 ? NULL : &a->grants.items[a->grants.count - 1];
	/* Inside the project, ro shows the real file instead of the layer;
	 * outside, it would grant a path. */
	if (item->project && (!g || strcmp(g->real, project) == 0 ||
			      !(S_ISDIR(g->mode) || S_ISREG(g->mode))))
		return fail(err, EPERM,
			    "%s: ro %s is not a file or directory in the "
			    "project, and a project's file may only restrict",
			    item->where, text_quote(item->value));
	g->project = item->project;
	*VEC_ADD(&a->rules) = (struct agent_place){mem_strdup(g->real), item};
	return 0;
}

/* Adds the paths of an option. */
static int add_option_grants(struct grants *to, enum grant_kind kind,
			     const char *option, const char *const *paths,
			     struct err *err)
{
	for (; paths && *paths; paths++)
		if (grants_add(to, kind,
			       mem_printf("%s %s", option, text_quote(*paths)),
			       *paths, NULL, err) < 0)
			return -err->num;
	return 0;
}

/* The paths of --hide. A name without a file is most likely misspelled, and the
 * file that was meant would be readable. */
static int add_option_masks(struct agent *a, const struct run_options *o,
			    struct err *err)
{
	AUTO(grants) struct grants masks = {0};
	size_t i, k;

	if (add_option_grants(&masks, GRANT_MASK, "--hide", o->hide, err) < 0)
		return -err->num;
	for (i = 0; i < masks.count; i++) {
		const struct grant *mask = &masks.items[i];

		for (k = 0; k < a->grants.count; k++)
			if (strcmp(a->grants.items[k].real, mask->real) == 0)
				return fail(err, EINVAL,
					    "%s: %s exposes the same path: "
					    "use only one of them",
					    mask->label,
					    a->grants.items[k].label);
		mem_list_add(&a->lists[HIDE], mask->real);
	}
	return 0;
}

static int add_profile_masks(struct agent *a, const struct state *state,
			     const char *project, struct err *err)
{
	const struct profile_item *item = NULL;

	while ((item = profile_next(&a->profile, PROFILE_HIDE, item))) {
		auto_free char *path = profile_path(item, state->home, project);
		char *real = path ? path_resolve(path, err) : NULL;
		struct stat st;

		if (path && !real)
			return err_context(err, "%s", item->where);
		if (!real || lstat(real, &st) < 0) {
			if (real)
				report_missing(item, path);
			free(real);
			continue;
		}
		mem_list_add(&a->lists[HIDE], real);
		*VEC_ADD(&a->rules) = (struct agent_place){real, item};
	}
	return 0;
}

/* All grants but --cow's: of the options, then of the profiles. */
static int add_grants(struct agent *a, const struct run_options *o,
		      const struct state *state, const char *project,
		      struct err *err)
{
	const struct profile_item *item = NULL;
	size_t i;

	if (add_option_grants(&a->grants, GRANT_READ_ONLY, "--ro", o->read_only,
			      err) < 0 ||
	    add_option_grants(&a->grants, GRANT_READ_WRITE, "--rw",
			      o->read_write, err) < 0)
		return -err->num;
	while ((item = profile_next(&a->profile, PROFILE_RO, item)))
		if (add_profile_grant(a, item, state, project, err) < 0)
			return -err->num;
	/* --share-login: the real directories, stored before and after the run
	 * as with --rw. */
	for (i = 0; a->shared && i < a->places.count; i++)
		if (a->places.items[i].item->word == PROFILE_HOME &&
		    access(a->places.items[i].path, F_OK) == 0 &&
		    grants_add(&a->grants, GRANT_READ_WRITE,
			       mem_strdup("--share-login"),
			       a->places.items[i].path, NULL, err) < 0)
			return -err->num;
	return 0;
}

static const char *const *owned_list_of(struct agent *a, size_t list)
{
	static const char *const none[] = {NULL};

	return a->lists[list] ? (const char *const *)a->lists[list] : none;
}

/* The file in guard's home of the agent, else the user's own. */
static char *find_settings(const struct agent *a, const struct state *state,
			   const char *project, const struct profile_item *item,
			   const char *rest)
{
	auto_free char *file =
		mem_strndup(item->value, (size_t)(rest - item->value));
	auto_free char *own = NULL;

	if (!item->in_home)
		return *file == '/' ? mem_strdup(file)
				    : path_join(project, file);
	own = mem_printf("%s/agents/%s/home/%s", state->path, a->name, file);
	if (!a->shared && access(own, F_OK) == 0)
		return TAKE(own);
	return state->home ? path_join(state->home, file) : mem_strdup("");
}

/* A program of the project itself gets no more than any other command. */
static bool wants_nested(const struct agent *a, const struct run_options *o,
			 const struct state *state, const char *project)
{
	const struct profile_item *item = NULL;
	struct err ignored;
	auto_free char *program = o->argv && *o->argv && strchr(*o->argv, '/')
					  ? path_resolve(*o->argv, &ignored)
					  : NULL;

	if (!a->name || (program && path_below(program, project)))
		return false;
	while ((item = profile_next(&a->profile, PROFILE_NESTED, item))) {
		const char *key = strchr(item->value, '#'), *value;
		auto_free char *path = NULL, *name = NULL;

		if (!key)
			return true;
		path = find_settings(a, state, project, item, key);
		value = strchr(key, '=');
		name = mem_strndup(key + 1, (size_t)(value - key) - 1);
		if (agent_json_is(path, name, value + 1))
			return true;
	}
	return false;
}

static int merge_profile_options(struct agent *a, const struct run_options *o,
				 const struct state *state, const char *project,
				 struct err *err)
{
	struct run_options *to = &a->options;
	const struct profile_item *size, *item = NULL;
	const char *const *env;

	*to = *o;
	/* A variable for the agent's home in guard's state is set only in runs
	 * that use this home. */
	while ((item = profile_next(&a->profile, PROFILE_ENV, item))) {
		const char *value = strchr(item->value, '=');
		auto_free char *variable = NULL;

		if (!value || strncmp(value, "=~/", 3) != 0) {
			mem_list_add(&a->lists[ENV], item->value);
			continue;
		}
		if (!state->home || (a->shared && find_home_of(a, value + 3)))
			continue;
		variable = mem_printf("%.*s=%s/%s", (int)(value - item->value),
				      item->value, state->home, value + 3);
		mem_list_add(&a->lists[ENV], variable);
	}
	for (env = o->env; env && *env; env++)
		mem_list_add(&a->lists[ENV], *env);
	if (add_grants(a, o, state, project, err) < 0 ||
	    add_option_masks(a, o, err) < 0)
		return o->exec_project
			       ? err_context(err,
					     "the options of run %s do not "
					     "work any more (guard run "
					     "--continue=%s takes new ones)",
					     o->resume_id, o->resume_id)
			       : -err->num;
	if (add_profile_masks(a, state, project, err) < 0)
		return -err->num;
	to->env = owned_list_of(a, ENV);
	to->hide = owned_list_of(a, HIDE);
	size = profile_next(&a->profile, PROFILE_TMP_SIZE, NULL);
	if (size && !o->tmp_size)
		to->tmp_size = parse_size(size->value);
	to->acp = (o->acp && !o->exec_project) ||
		  agent_talks_acp(state, o->argv, o->acp);
	a->nested =
		!o->nested && !o->strict && wants_nested(a, o, state, project);
	to->nested = o->nested || a->nested;
	return 0;
}

int agent_load(const struct run_options *o, const struct state *state,
	       const char *project, struct agent **ret, struct err *err)
{
	AUTO(agent) struct agent *a = mem_zalloc(sizeof(*a));
	size_t i, k;

	if (choose_agent(a, o, state, err) < 0 ||
	    agent_read(state, "default", &a->profile, err) < 0 ||
	    (a->name && agent_read(state, a->name, &a->profile, err) < 0) ||
	    read_project_profile(project, &a->profile, err) < 0 ||
	    check_in_home(a, err) < 0)
		return -err->num;
	if (o->share_login && !a->name)
		return fail(err, EINVAL,
			    "--share-login needs an agent: add --agent NAME");
	a->shared = o->share_login;
	/* An empty home directory keeps nothing. */
	if (!o->strict && !o->has_user &&
	    (add_places(a, PROFILE_HOME, o, state, project, err) < 0 ||
	     add_places(a, PROFILE_CACHE, o, state, project, err) < 0))
		return -err->num;
	/* One in another's would be the run's to put something else in its
	 * way. */
	for (i = 0; i < a->places.count; i++)
		for (k = 0; k < a->places.count; k++) {
			const struct agent_place *home = &a->places.items[i];
			const struct agent_place *in = &a->places.items[k];

			if (i != k && home->item->word == PROFILE_HOME &&
			    path_below(in->path, home->path))
				return fail(err, EINVAL,
					    "%s: %s ~/%s is in the home of %s",
					    in->item->where,
					    profile_word_name(in->item->word),
					    in->item->value, home->item->where);
		}
	if (merge_profile_options(a, o, state, project, err) < 0)
		return -err->num;
	*ret = TAKE(a);
	return 0;
}

const char *agent_rule(const struct agent *a, enum profile_word word,
		       const char *path)
{
	size_t i;

	for (i = 0; i < a->rules.count; i++)
		if (a->rules.items[i].item->word == word &&
		    strcmp(a->rules.items[i].path, path) == 0)
			return a->rules.items[i].item->where;
	return NULL;
}
