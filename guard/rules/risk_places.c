/* Directories that tools fill. */
#include <fnmatch.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/rules/risk.h"
#include "guard/rules/risk_private.h"

static const struct place {
	const char *name;
	bool packages; /* holds installed ones */
} generated[] = {
	{"node_modules", true}, {"bower_components", true},
	{"__pycache__", false}, {".venv", true},
	{"venv", true},		{".tox", true},
	{".mypy_cache", false}, {".pytest_cache", false},
	{".ruff_cache", false}, {".gradle", false},
	{".next", false},	{".nuxt", false},
	{".svelte-kit", false}, {".parcel-cache", false},
	{".turbo", false},	{".cache", false},
	{".eggs", true},	{".terraform", true},
	{".dart_tool", false},	{".stack-work", false},
	{"DerivedData", false}, {".ccache", false},
	{"CMakeFiles", false},	{".zig-cache", false},
};

static const struct place *find_generated(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(generated); i++)
		if (strlen(generated[i].name) == len &&
		    memcmp(name, generated[i].name, len) == 0)
			return &generated[i];
	return NULL;
}

bool risk_is_generated(const char *name)
{
	return find_generated(name, strlen(name)) != NULL;
}

bool risk_in_generated(const char *path)
{
	for (;;) {
		size_t len = strcspn(path, "/");

		if (!path[len])
			return false;
		if (find_generated(path, len))
			return true;
		path += len + 1;
	}
}

bool risk_is_venv_part(const char *path)
{
	static const char *const dirs[] = {"bin",     "lib", "lib64", "include",
					   "Scripts", "Lib", "share", NULL};
	auto_free char *first = mem_strndup(path, strcspn(path, "/"));

	return mem_list_has(dirs, first);
}

/* Where a Python is that a run cannot have made. */
static bool is_machine_path(const char *path)
{
	return !strstr(path, "..") && risk_is_defined("machine-pythons", path);
}

/* A pyvenv.cfg whose Python is the machine's. Python ends a line at a lone CR,
 * too, and ignores the case of a key. */
static bool has_machine_home(const struct risk_file *f)
{
	static const char *const keys[] = {"home",
					   "executable",
					   "base-prefix",
					   "base-exec-prefix",
					   "base-executable",
					   NULL};
	AUTO(buf) struct buf text = {0};
	bool any = false;
	char *line, *next;

	if (!f->read(f->arg, true, &text) || risk_has_nul(&text))
		return false;
	(void)buf_text(&text);
	for (line = strtok_r((char *)text.data, "\r\n", &next); line;
	     line = strtok_r(NULL, "\r\n", &next)) {
		const char *key = line + strspn(line, " \t\f\v");
		size_t len = strcspn(key, " \t\f\v=");
		const char *value = key + len + strspn(key + len, " \t\f\v=");
		const char *const *k;

		for (k = keys; *k; k++) {
			if (strlen(*k) != len || strncasecmp(key, *k, len) != 0)
				continue;
			if (!is_machine_path(value) &&
			    strcmp(value, "/usr") != 0)
				return false;
			any = true;
		}
	}
	return any;
}

/* The files of an environment in bin: its Python, and programs that it runs. */
static bool is_venv_program(const struct risk_file *f, const char *name)
{
	const bool is_python = strncmp(name, "python", 6) == 0;
	AUTO(buf) struct buf text = {0};
	const char *at;

	if (strncasecmp(name, "activate", 8) == 0)
		return true;
	if (!f->read(f->arg, true, &text))
		return false;
	at = buf_text(&text);
	if (S_ISLNK(f->now_mode))
		return is_python &&
		       (is_machine_path(at) ||
			(!strchr(at, '/') && strncmp(at, "python", 6) == 0));
	if (strncmp(at, "\177ELF", 4) == 0)
		return is_python;
	if (strncmp(at, "#!/bin/sh\n'''exec' ", 19) == 0)
		at += 10;
	else if (strncmp(at, "#!/", 3) != 0)
		return false;
	at = memmem(at, strcspn(at, "\n"), "/bin/python", 11);
	return at != NULL;
}

/* --- programs that people type --- */

const char *risk_typed_name(const char *path, bool system)
{
	static const char *const dirs[] = {"bin",   ".bin",    "sbin",
					   "shims", "Scripts", NULL};
	static const char *const machine[] = {
		"/usr/bin/", "/bin/", "/usr/sbin/", "/usr/local/bin/", NULL};
	const char *name = path_name(path);
	auto_free char *dir = path_parent(path);
	auto_free char *typed = NULL;
	const struct risk_rule *rule;
	const char *const *at;
	enum risk_as ignored;

	if (!mem_list_has(dirs, path_name(dir)))
		return NULL;
	typed = path_join("@bin", name);
	rule = risk_name_rule(typed, &ignored);
	if (rule && strcmp(rule->id, "typed-program") == 0)
		return name;
	for (at = machine; system && !rule && *at; at++) {
		auto_free char *program = mem_printf("%s%s", *at, name);

		if (access(program, X_OK) == 0)
			return name;
	}
	return NULL;
}

/* A link of npm's to a package that has such a program, by its rule. */
static bool is_package_link(const struct risk_file *f, const char *name)
{
	AUTO(buf) struct buf target = {0};
	auto_free char *link = NULL;
	const struct risk_rule *rule;
	enum risk_as ignored;

	if (!S_ISLNK(f->now_mode) || !f->read(f->arg, true, &target))
		return false;
	link = mem_printf("@link/%s/%s", name, buf_text(&target));
	rule = risk_name_rule(link, &ignored);
	return rule && rule->level == RISK_NOTE;
}

void risk_judge_typed(const struct risk_file *f, struct risks *ret)
{
	const char *name = risk_typed_name(f->path, true);
	const bool filled =
		name && (risk_in_generated(f->path) || risk_in_new_venv(f));
	auto_free char *text = NULL;
	struct risk_rule rule;

	/* A file that was there, and has another mode or time only. */
	if (!name || (filled && !risk_typed_name(f->path, false)) ||
	    S_ISDIR(f->now_mode) ||
	    (S_ISREG(f->now_mode) && !(f->now_mode & 0111)) ||
	    (f->old_mode == f->now_mode && !risk_has_other_bytes(f)) ||
	    (filled && (is_package_link(f, name) ||
			(!f->old_mode && strncmp(name, "python", 6) == 0 &&
			 is_venv_program(f, name)))))
		return;
	/* Each by its name: no number stands for them. */
	text = mem_printf("runs when %s is typed, where PATH has its directory "
			  "first",
			  text_quote(name));
	rule = *risk_rule("typed-program");
	rule.text = text;
	risk_add(ret, &rule, RISK_NONE);
}

bool risk_is_setuptools(const struct risk_file *f)
{
	/* By version. */
	static const char *const defaults[] = {"local", "stdlib"};
	AUTO(buf) struct buf text = {0};
	size_t i;

	if (strcmp(path_name(f->path), "distutils-precedence.pth") != 0 ||
	    !f->read(f->arg, true, &text) || risk_has_nul(&text))
		return false;
	while (text.len && strchr(" \n", text.data[text.len - 1]))
		text.len--;
	(void)buf_text(&text);
	for (i = 0; i < ARRAY_SIZE(defaults); i++) {
		auto_free char *known = mem_printf(
			"import os; var = 'SETUPTOOLS_USE_DISTUTILS'; "
			"enabled = os.environ.get(var, '%s') == 'local'; "
			"enabled and "
			"__import__('_distutils_hack').add_shim();",
			defaults[i]);

		if (strcmp(known, buf_text(&text)) == 0)
			return true;
	}
	return false;
}

/* A .pth file of paths, or of setuptools, virtualenv or pip. */
static bool is_venv_pth(const struct risk_file *f, const char *name)
{
	AUTO(buf) struct buf text = {0};

	return strcmp(name, "distutils-precedence.pth") == 0 ||
	       strcmp(name, "_virtualenv.pth") == 0 ||
	       strncmp(name, "__editable__", 12) == 0 ||
	       path_ends(name, "-nspkg.pth") ||
	       (f->read(f->arg, true, &text) &&
		!strstr(buf_text(&text), "import"));
}

/* rest: the path in the environment */
static bool is_venv_file(const struct risk_file *f, const char *rest)
{
	const char *name = path_name(rest);

	if (strcmp(rest, "pyvenv.cfg") == 0)
		return has_machine_home(f);
	if (*rest == '.' || strstr(rest, "/."))
		return false;
	if (fnmatch("bin/*", rest, FNM_PATHNAME) == 0 ||
	    fnmatch("Scripts/*", rest, FNM_PATHNAME) == 0)
		return is_venv_program(f, name);
	if (fnmatch("lib*/python*/site-packages/*", rest, 0) != 0 &&
	    fnmatch("Lib/site-packages/*", rest, 0) != 0)
		return false;
	return !risk_always_runs(rest) ||
	       (path_ends(name, ".pth") && is_venv_pth(f, name));
}

bool risk_in_new_venv(const struct risk_file *f)
{
	const char *slash = f->path;

	while (f->exists && !f->old_mode && (slash = strchr(slash, '/'))) {
		auto_free char *dir =
			mem_strndup(f->path, (size_t)(slash - f->path));
		auto_free char *config = path_join(dir, "pyvenv.cfg");
		auto_free char *activate = path_join(dir, "bin/activate");

		slash++;
		if (f->exists(f->arg, config) && f->exists(f->arg, activate))
			return !S_ISDIR(f->now_mode) && is_venv_file(f, slash);
	}
	return false;
}

char *risk_generated_dir(const char *path, const char *dir)
{
	const char *at = path_rest(path, dir);

	while (*at) {
		size_t len = strcspn(at, "/");

		if (find_generated(at, len))
			return mem_strndup(path, (size_t)(at - path) + len);
		at += len;
		at += *at == '/';
	}
	return NULL;
}

bool risk_is_installed(const char *path)
{
	bool in = false, own = false;

	while (*path) {
		size_t len = strcspn(path, "/");
		const struct place *place = find_generated(path, len);

		if (place && place->packages) {
			in = path[len] == '/';
			own = false;
		} else if (place ||
			   (*path == '.' &&
			    !(len == 4 && memcmp(path, ".bin", 4) == 0))) {
			own = true;
		}
		path += len;
		path += *path == '/';
	}
	return in && !own;
}

bool risk_always_runs(const char *path)
{
	const char *name = path_name(path);

	return fnmatch("*.pth", name, 0) == 0 ||
	       fnmatch("*.gradle/init*", path, 0) == 0 ||
	       path_ends(path, ".gradle/gradle.properties") ||
	       strcmp(name, "sitecustomize.py") == 0 ||
	       strcmp(name, "usercustomize.py") == 0;
}

static bool is_hex(const char *text, size_t len)
{
	return strspn(text, "0123456789abcdef") >= len;
}

bool risk_is_git_object(const char *path)
{
	static const char dir[] = ".git/objects/";
	const char *at = strstr(path, dir);

	if (!at || (at != path && at[-1] != '/'))
		return false;
	at += strlen(dir);
	return strncmp(at, "pack/", 5) == 0 ||
	       (is_hex(at, 2) && at[2] == '/' && is_hex(at + 3, 38));
}

bool risk_has_other_bytes(const struct risk_file *f)
{
	AUTO(buf) struct buf old = {0}, now = {0};

	if (f->old_size != f->now_size || f->now_size > RISK_READ_MAX ||
	    !f->read(f->arg, false, &old) || !f->read(f->arg, true, &now))
		return true;
	return !buf_same(&old, &now);
}
